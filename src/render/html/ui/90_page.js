// SPDX-License-Identifier: BSD-3-Clause
//
// The page from top to bottom: the answer, the findings, pictures, and each section of the report.

function facts(list) {
  return list.length === 0 ? null : element('dl', {}, list.map((fact) => [
    element('dt', {}, fact.name), element('dd', {}, fact.value)]).flat());
}

const hasTable = (section) => section.rows.length > 0 && section.shown.length > 0;

function sectionBody(section, name) {
  const table = hasTable(section) ? new Table(section, name).root
    : section.if_empty === '' ? null : element('p', {}, section.if_empty);
  return [facts(section.facts), paragraphs(section.intro, 'intro'),
    section.failure === '' ? table : element('p', { class: 'warning' }, `not shown: ${section.failure}`),
    paragraphs(section.notes, 'note')].flat().filter((part) => part !== null);
}

// Pictures above the tables of sections, from the same rows or views.
const DRAWINGS = new Map([['call_times', drawCallTimes], ['byte_balance', drawFlows], ['read_ahead', drawReadAhead], ['sizes', drawSizes],
  ['write_backs', drawDelays]]);

// A heading of the report has its order and layer behind a comma: the list of sections has no room.
function addSection(section, prefix = 'section') {
  const body = sectionBody(section, section.title);
  if (body.length === 0) return; // as in the text: nothing to show
  const id = `${prefix}-${section.id}`;
  const drawing = DRAWINGS.get(section.id);
  link(id, section.title.split(/[,:]/)[0] || section.id, hasTable(section) ? section.all_rows : null);
  main.append(element('section', { id, 'aria-label': section.title }, element('h2', {}, section.title), wholeRun(),
    drawing && hasTable(section) ? drawing(section) : [], body));
}

// The first screen: what it says first is the verdict.
function addAnswer(answer, report) {
  const [verdict, ...others] = answer.sections;
  link('answer', 'Answer');
  document.title = answer.title;
  main.append(element('header', { id: 'answer' }, element('h1', {}, answer.title),
    paragraphs(answer.warnings, 'warning'),
    element('p', { class: 'verdict' }, verdict.title), paragraphs(verdict.intro, 'intro'),
    inShort(), others.filter((section) => section.id !== 'next').map((section) => element('div', { class: 'part' },
      section.title === '' ? [] : element('h2', { class: 'sub' }, section.title), sectionBody(section, section.id))),
    facts(report.facts)));
}

function addFindings(findings) {
  const found = findings.sections.filter((section) => section.title !== '' && section.shown.length === 0);
  link('findings', 'Findings', found.length);
  const parts = found.map((section) => {
    const [sentence, advice, ...commands] = section.intro.concat(section.notes);
    return element('li', { class: /, critical:/.test(section.title) ? 'critical' : /, warning:/.test(section.title) ? 'middle' : null },
      element('h3', {}, section.title), paragraphs([sentence], 'intro'), advice ? paragraphs([advice], 'advice') : [],
      element('p', { class: 'place', 'data-section': data.places[section.id] ?? '' }),
      commands.length === 0 ? [] : element('details', {}, element('summary', {}, 'Evidence'),
        commands.map((text) => (text.startsWith('iotrail ') ? element('pre', {}, text) : element('p', {}, text)))));
  });
  main.append(element('section', { id: 'findings' }, element('h2', {}, findings.title),
    element('ol', { class: 'findings' }, parts), paragraphs(findings.closing, 'note')));
}

// Links from findings to the sections that show them, if the page has those.
function linkFindings() {
  for (const place of document.querySelectorAll('.place')) {
    const section = document.getElementById(`section-${place.dataset.section}`);
    if (section) place.append('Shown in: ', element('a', { href: `#${section.id}` }, section.querySelector('h2').textContent.split(/[,:]/)[0]));
    else place.remove();
  }
}

// What comes first, by section of the report or by what adds a picture; the other sections follow.
const ORDER = ['time', 'call_times', addLatency, 'byte_balance', 'bytes', 'device_causes', 'write_backs', 'read_ahead', 'sizes',
  () => data.cache && addCache(data.cache), 'files', addFilePlaces, 'processes', 'ranks', 'devices', addDevicePlaces,
  () => data.slowest && addTrails(data.slowest), 'waits', 'lock_waits', 'failed_calls'];

function addAllSections() {
  for (const next of ORDER) {
    if (typeof next === 'function') next();
    else data.report.sections.filter((section) => section.id === next).forEach((section) => addSection(section));
  }
  data.report.sections.filter((section) => !ORDER.includes(section.id)).forEach((section) => addSection(section));
  if (data.snapshots) data.snapshots.sections.filter((section) => section.id !== 'next').forEach((section) => addSection(section, 'snapshot'));
}

function build() {
  if (data.answer) addAnswer(data.answer, data.report);
  else main.append(element('header', {}, element('h1', {}, data.report.title), facts(data.report.facts)));
  if (data.findings) addFindings(data.findings);
  addTimeLine();
  addAllSections();
  linkFindings();
  main.append(...paragraphs(data.answer ? data.report.closing : data.report.warnings.concat(data.report.closing), 'note'));
}

build();
