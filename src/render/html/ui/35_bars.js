// SPDX-License-Identifier: BSD-3-Clause
//
// Bars above the table of a section, made of the numbers in that table.

const BARS = 12;
const LEAST_LABELLED = 0.09; // of the widest bar: a narrower part has no room for its name

// The rows of a section as objects by column name.
function rowsOf(section) {
  return section.rows.map((row) => Object.fromEntries(section.columns.map((column, i) => [column.name, row[i]])));
}
const sectionOf = (id) => data.report.sections.find((section) => section.id === id);

const partsLegend = (parts) => element('p', { class: 'legend' }, parts.map(({ colour: name, title }) => [
  element('i', { class: `bar ${name}` }), element('span', {}, title)]).flat());

// `bars`: [{name, text, parts: [{colour, title, value, text}]}], widths in relation to `most`.
function stackedBar(bar, most) {
  const parts = bar.parts.filter((part) => part.value > 0);
  const sum = parts.reduce((all, part) => all + part.value, 0);
  const drawn = element('div', { class: 'stack', role: 'img', 'aria-label': parts.map((part) => `${part.title} ${part.text}`).join(', ') });
  for (const part of parts) {
    const segment = element('i', { class: part.colour, title: `${part.title}: ${part.text}` },
      part.value / most > LEAST_LABELLED ? part.title : '');
    segment.style.width = `${100 * part.value / most}%`;
    drawn.append(segment);
  }
  return [element('span', { class: 'of', title: bar.name }, cellText({ meaning: 'path' }, bar.name)), drawn,
    element('span', { class: 'number' }, bar.text(sum))];
}

function stackedBars(bars) {
  const most = Math.max(1, ...bars.map((bar) => bar.parts.reduce((all, part) => all + part.value, 0)));
  return element('div', { class: 'bars' }, bars.slice(0, BARS).map((bar) => stackedBar(bar, most)).flat());
}

// Two views of the same bars; a button for each.
function switched(choices) {
  const box = element('div');
  const buttons = choices.map(([name, make]) => element('button', { type: 'button', 'aria-pressed': 'false',
    onclick: (event) => {
      buttons.forEach((button) => button.setAttribute('aria-pressed', String(button === event.currentTarget)));
      box.replaceChildren(make());
    } }, name));
  buttons[0].click();
  return [element('div', { class: 'tools' }, buttons), box];
}

const TIME_PARTS = [['outside_kernel', 'outside', 'outside the kernel'], ['kernel', 'kernel', 'kernel'], ['file_system', 'fs', 'file system'],
  ['waits', 'wait', 'waits'], ['held_back', 'lock', 'held back'], ['handed', 'handed', 'handed over'], ['queued', 'queue', 'queue'], ['device', 'device', 'device']];

// The parts of each call are shares of its time: they are all of it, or the page says so.
function drawCallTimes(section) {
  const rows = rowsOf(section);
  const bars = (scaled) => rows.map((row) => ({ name: row.call,
    text: () => `${numberText('count', row.calls, 1)} calls, ${numberText('ns', row.all_ns, 1)}`,
    parts: TIME_PARTS.map(([column, name, title]) => ({ colour: name, title, text: shareText(row[column] ?? 0),
      value: (row[column] ?? 0) * (scaled ? Number(row.all_ns) : 1) })) }));
  const wrong = rows.filter((row) => Math.abs(TIME_PARTS.reduce((sum, [column]) => sum + (row[column] ?? 0), 0) - 1) > 1e-6);
  const used = TIME_PARTS.filter(([column]) => rows.some((row) => row[column] > 0)).map(([, name, title]) => ({ colour: name, title }));
  return [partsLegend(used), switched([['time', () => stackedBars(bars(true))], ['100 %', () => stackedBars(bars(false))]]),
    element('p', { class: wrong.length === 0 ? 'note' : 'warning' }, wrong.length === 0
      ? `adds up: the parts of each of the ${countText(rows.length)} calls are 100.0 % of its time`
      : `does not add up: the parts of ${wrong[0].call} are not all of its time`)].flat();
}

function drawReadAhead(section) {
  const kinds = [['asked', 'read', 'asked for by a call'], ['in_time', 'kernel', 'read ahead, used in time'], ['late', 'handed', 'read ahead, used but late'],
    ['unused', 'lock', 'read ahead, not used'], ['mapped', 'queue', 'read for page faults']];
  const rows = rowsOf(section).map((row) => ({ ...row, in_time: Math.max(0, Number(row.ahead) - Number(row.unused) - Number(row.late)) }));
  const bars = rows.map((row) => ({ name: row._name, text: (sum) => bytesText(sum),
    parts: kinds.map(([column, name, title]) => ({ colour: name, title, value: Number(row[column] ?? 0), text: bytesText(Number(row[column] ?? 0)) })) }));
  const used = kinds.filter(([column]) => rows.some((row) => Number(row[column]) > 0)).map(([, name, title]) => ({ colour: name, title }));
  return [partsLegend(used), stackedBars(bars)];
}

// A list of single bars: [[name, value, text, colour, most]].
function plainBars(rows) {
  return element('div', { class: 'bars' }, rows.map(([name, value, text, colourName, most]) => {
    const bar = element('i', { class: colourName });
    bar.style.width = `${100 * Math.min(1, value / Math.max(most, 1e-9))}%`;
    return [element('span', { class: 'of' }, name), element('div', { class: 'stack' }, bar), element('span', { class: 'number' }, text)];
  }).flat());
}

// What took the time, and what moved the bytes, for a first look.
function inShort() {
  const cards = [];
  const time = sectionOf('time');
  const calls = time ? rowsOf(time).filter((row, _, all) => row.layer === all[0].layer && !/\(no file\)$/.test(row._operation)).slice(0, 5) : [];
  if (calls.length > 0)
    cards.push(element('div', {}, element('h2', { class: 'sub' }, 'What took the time'), plainBars(calls.map((row) => [row._operation, row.share,
      shareText(row.share), COLOURS_OF_KINDS[kindOf(row._operation)], 1])),
    element('p', { class: 'note' }, `Share of the run with at least one in progress at layer ${calls[0].layer}; they overlap.`)));
  const balance = sectionOf('byte_balance');
  const moved = balance ? rowsOf(balance).filter((row) => row.step === 1 || row.part === 'completed') : [];
  const most = Math.max(1, ...moved.map((row) => Number(row.bytes)));
  if (moved.length > 0)
    cards.push(element('div', {}, element('h2', { class: 'sub' }, 'What moved the bytes'), plainBars(moved.map((row) => [
      `${row.part === 'completed' ? 'devices' : 'calls'} ${row.direction === 'read' ? 'read' : 'wrote'}`, Number(row.bytes),
      bytesText(Number(row.bytes)), row.direction, most])), element('p', { class: 'note' }, 'Of files; all on one scale.')));
  return cards.length === 0 ? [] : [element('div', { class: 'short-cards' }, cards)];
}
