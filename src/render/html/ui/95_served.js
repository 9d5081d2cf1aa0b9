// SPDX-License-Identifier: BSD-3-Clause
//
// What only a page of `iotrail serve` has: the way back to the list, a closer look at a selected
// time, SQL, and the state of a recording that runs. It asks nothing but its own server.

const RENEW_MS = 5000;

// Times of this page count from `since_ns` of the recording.
const address = new URL(location.href);
const since = () => Number(address.searchParams.get('since_ns') ?? 0);

function addressOf(from, to) {
  const next = new URL(address);
  if (from > 0) next.searchParams.set('since_ns', String(Math.floor(from)));
  else next.searchParams.delete('since_ns');
  if (to !== null) next.searchParams.set('until_ns', String(Math.ceil(to)));
  else next.searchParams.delete('until_ns');
  return next.href;
}

function closerLook() {
  const button = element('button', { type: 'button',
    onclick: () => { location.href = addressOf(since() + selection.from, since() + selection.to); } }, 'look closer at the selected time');
  selection.onChange(() => { button.disabled = selection.range === null; });
  const isPart = address.searchParams.has('since_ns') || address.searchParams.has('until_ns');
  const whole = element('a', { href: addressOf(0, null), hidden: !isPart }, 'back to the whole run');
  return [button, whole];
}

// The page is made again: all its numbers are then of one moment.
function runningBar() {
  if (main.dataset.served !== 'running') return [];
  const renews = address.searchParams.has('renew');
  const box = element('input', { type: 'checkbox', checked: renews, onchange: () => {
    const next = new URL(address);
    if (box.checked) next.searchParams.set('renew', '1');
    else next.searchParams.delete('renew');
    location.replace(next.href);
  } });
  if (renews) setTimeout(() => { if (box.checked) location.reload(); }, RENEW_MS);
  return [element('span', { class: 'running' }, 'still recording'),
    element('label', {}, box, ` renew ${RENEW_MS / 1000} s after each load`)];
}

function rowsTable(answer) {
  const cell = (value) => element('td', { class: typeof value === 'number' ? 'number' : 'text' },
    element('span', {}, value === null ? '' : String(value)));
  return element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Answer' },
    element('table', {}, element('thead', {}, element('tr', {}, answer.columns.map((name) => element('th', { scope: 'col' }, name)))),
      element('tbody', {}, answer.rows.map((row) => element('tr', {}, row.map(cell))))));
}

async function ask(sql, output) {
  output.replaceChildren(element('p', { class: 'note', role: 'status' }, 'asking ...'));
  try {
    const response = await fetch('query', { method: 'POST', body: sql });
    const answer = await response.json();
    if (answer.error) output.replaceChildren(...answer.error.split('\n').map((line) => element('p', { class: 'warning' }, line)));
    else output.replaceChildren(...paragraphs(answer.warnings, 'warning'), rowsTable(answer),
      element('p', { class: 'note', role: 'status' }, `${countText(answer.rows.length)} rows`
        + (answer.truncated ? ', truncated: add LIMIT, or ask `iotrail query` in a terminal' : '')));
  } catch (error) {
    output.replaceChildren(element('p', { class: 'warning' }, `no answer: ${error.message}; is \`iotrail serve\` still running?`));
  }
}

function addSql() {
  const text = element('textarea', { class: 'sql', spellcheck: 'false', 'aria-label': 'SQL' });
  text.value = 'FROM top_files ORDER BY total_ns DESC LIMIT 20';
  const output = element('div', { id: 'sql-answer' });
  const run = () => ask(text.value, output);
  text.addEventListener('keydown', (event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run(); });
  link('sql', 'SQL');
  main.append(element('section', { id: 'sql' }, element('h2', {}, 'Ask in SQL'),
    element('p', { class: 'note' }, 'One statement that reads; FROM tables lists the tables. Ctrl+Enter asks. The whole recording is asked, not the selected time.'),
    text, element('div', { class: 'tools' }, element('button', { type: 'button', onclick: run }, 'ask')), output));
}

if (main.dataset.served) {
  main.prepend(element('div', { class: 'served' }, element('a', { href: '../../' }, 'all traces'), runningBar(),
    RUN_NS > 0 ? closerLook() : []));
  addSql();
}
