// SPDX-License-Identifier: BSD-3-Clause
//
// The table of a section: sorted by any column, filtered by text, with bars behind sums and shares.

const FIRST_ROWS = 12;
const TEXTS = new Set(['text', 'path', 'command', 'sentence', 'remark', 'label']);
const isKnown = (value) => value !== null && value !== undefined;

// What each column of a section shows, by the rules of the text report.
class Cells {
  constructor(section) {
    this.section = section;
    this.columns = section.shown.filter((index) => !this.isOmitted(index))
      .map((index) => ({ ...section.columns[index], index }));
    for (const column of this.columns) {
      column.isText = TEXTS.has(column.meaning);
      column.most = this.largest(column);
    }
  }

  isOmitted(index) {
    const { omit, meaning } = this.section.columns[index];
    if (meaning === 'spans') return true; // a picture has them
    if (omit === 'never') return false;
    const holds = (value) => (omit === 'if_unknown' ? isKnown(value)
      : Number(value) < 0 || Number(value) > (omit === 'if_zero' ? 0 : 1));
    return !this.section.rows.some((row) => holds(row[index]));
  }

  // The length of a whole bar; 0: the column has none. A column of sums compares rows.
  largest(column) {
    if (column.meaning === 'share') return 1;
    if (!column.is_sum || !NUMBERS.has(column.meaning)) return 0;
    return Math.max(0, ...this.section.rows.map((row, at) => Number(row[column.index]) * this.factor(column, at)));
  }

  factor(column, at) { return column.is_sum ? this.section.scale_factors[at] ?? 1 : 1; }

  instead(column, at) {
    const other = this.section.columns.findIndex((each) => each.name === column.instead);
    return column.instead === '' || other < 0 ? null : this.section.rows[at][other];
  }

  // `above`: the row before it in the order of the report, or -1.
  text(column, at, above = -1) {
    const instead = this.instead(column, at);
    if (instead) return String(instead);
    const value = this.section.rows[at][column.index];
    if (!isKnown(value)) return column.isText || !NUMBERS.has(column.meaning) ? '' : '-';
    if (column.suppress_repeats && above >= 0 && this.section.rows[above][column.index] === value) return '';
    if (column.zero_is_dash && Number(value) === 0) return '-';
    return NUMBERS.has(column.meaning) ? numberText(column.meaning, value, this.factor(column, at)) : String(value);
  }

  bar(column, at) {
    const value = Number(this.section.rows[at][column.index]) * this.factor(column, at);
    return column.most > 0 && value > 0 && !this.instead(column, at) ? Math.min(1, value / column.most) : 0;
  }

  matches(at, wanted) {
    return this.columns.some((column) => this.text(column, at).toLowerCase().includes(wanted));
  }

  // Unknown values come last in either direction.
  compare(column, a, b, isDescending) {
    const [x, y] = [a, b].map((at) => this.section.rows[at][column.index]);
    if (!isKnown(x) || !isKnown(y)) return Number(isKnown(y)) - Number(isKnown(x));
    const order = NUMBERS.has(column.meaning) || column.meaning === 'id' ? Number(x) - Number(y)
      : String(x) < String(y) ? -1 : Number(x !== y);
    return isDescending ? -order : order;
  }
}

class Table {
  constructor(section, name) {
    this.cells = new Cells(section);
    this.section = section;
    this.sorted = null; // the column; null: the order of the report
    this.isDescending = true;
    this.showsAll = false;
    this.wanted = '';
    this.body = element('tbody');
    this.headings = this.cells.columns.map((column) => this.heading(column));
    this.count = element('span', { class: 'count', role: 'status' });
    this.more = element('button', { type: 'button', onclick: () => { this.showsAll = !this.showsAll; this.draw(); } });
    const filter = element('input', { type: 'search', placeholder: 'filter', 'aria-label': `Filter ${name}`,
      oninput: (event) => { this.wanted = event.target.value.toLowerCase(); this.draw(); } });
    const isLong = section.rows.length > 4;
    this.root = element('div', { class: 'table' },
      isLong ? element('div', { class: 'tools' }, filter, this.count, this.more) : null,
      element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Table: ${name}` },
        element('table', {}, element('thead', {}, element('tr', {}, this.headings)), this.body)));
    this.draw();
  }

  // Other rows of the same columns.
  replace(section) {
    const sorted = this.cells.columns.indexOf(this.sorted);
    [this.section, this.cells] = [section, new Cells(section)];
    this.sorted = this.cells.columns[sorted] ?? null;
    this.draw();
  }

  heading(column) {
    const sort = element('button', { type: 'button', 'aria-label': column.title === '' ? column.name : null, onclick: () => this.sortBy(this.cells.columns.find((each) => each.index === column.index)) }, column.title || ' ');
    return element('th', { scope: 'col', class: column.isText ? null : 'number' }, sort);
  }

  // Largest numbers first, then smallest, then the order of the report.
  sortBy(column) {
    const begins = !column.isText;
    if (this.sorted !== column) [this.sorted, this.isDescending] = [column, begins];
    else if (this.isDescending === begins) this.isDescending = !begins;
    else this.sorted = null;
    this.draw();
  }

  rows() {
    const found = [...this.section.rows.keys()].filter((at) => this.wanted === '' || this.cells.matches(at, this.wanted));
    if (this.sorted) found.sort((a, b) => this.cells.compare(this.sorted, a, b, this.isDescending));
    return found;
  }

  draw() {
    const found = this.rows();
    const shown = this.showsAll ? found : found.slice(0, FIRST_ROWS);
    const isAsReported = this.sorted === null && this.wanted === '';
    this.body.replaceChildren(...shown.map((at, i) => this.row(at, isAsReported && i > 0 ? shown[i - 1] : -1)));
    this.headings.forEach((heading, i) => {
      if (this.cells.columns[i] !== this.sorted) heading.removeAttribute('aria-sort');
      else heading.setAttribute('aria-sort', this.isDescending ? 'descending' : 'ascending');
    });
    this.more.hidden = found.length <= FIRST_ROWS;
    this.more.textContent = this.showsAll ? `first ${FIRST_ROWS}` : `all ${countText(found.length)}`;
    const all = this.section.all_rows;
    this.count.textContent = `${countText(shown.length)} of ${countText(found.length)} rows`
      + (all > this.section.rows.length ? `; the trace has ${countText(all)}` : '');
  }

  row(at, above) {
    return element('tr', {}, this.cells.columns.map((column) => {
      const text = this.cells.text(column, at, above);
      const share = this.cells.bar(column, at);
      if (share === 0) return element('td', { class: column.isText ? column.meaning : 'number' }, cellText(column, text));
      const bar = element('i', { class: `bar ${colourOf(column.name)}` });
      bar.style.width = `${fixed(100 * share, 1)}%`;
      return element('td', { class: 'number' }, bar, element('span', {}, text));
    }));
  }
}

// The end of a long path says more than its middle: it is what stays visible.
function cellText(column, text) {
  const slash = text.lastIndexOf('/') + 1;
  if (column.meaning !== 'path' || slash < 2 || text.length < 24) return text === '' ? [] : [element('span', {}, text)];
  return [element('span', { class: 'long', title: text }, element('span', { class: 'directory' }, text.slice(0, slash)),
    element('span', { class: 'name' }, text.slice(slash)))];
}

const COLOURS = [[/read/, 'read'], [/writ/, 'write'], [/sync|flush/, 'sync'], [/error|failed|lost/, 'alarm']];
const colourOf = (name) => COLOURS.find(([pattern]) => pattern.test(name))?.[1] ?? 'time';
