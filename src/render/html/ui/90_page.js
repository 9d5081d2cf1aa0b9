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

// A heading of the report has its order and layer behind a comma: the list of sections has no room.
function addSection(section) {
  const body = sectionBody(section, section.title);
  if (body.length === 0) return; // as in the text: nothing to show
  const id = `section-${section.id}`;
  link(id, section.title.split(/[,:]/)[0] || section.id, hasTable(section) ? section.all_rows : null);
  main.append(element('section', { id, 'aria-label': section.title }, element('h2', {}, section.title), body));
}

// The first screen: what it says first is the verdict.
function addAnswer(answer, report) {
  const [verdict, ...others] = answer.sections;
  link('answer', 'Answer');
  document.title = answer.title;
  main.append(element('header', { id: 'answer' }, element('h1', {}, answer.title),
    paragraphs(answer.warnings, 'warning'),
    element('p', { class: 'verdict' }, verdict.title), paragraphs(verdict.intro, 'intro'),
    others.filter((section) => section.id !== 'next').map((section) => element('div', { class: 'part' },
      section.title === '' ? [] : element('h3', {}, section.title), sectionBody(section, section.id))),
    facts(report.facts)));
}

function addFindings(findings) {
  const found = findings.sections.filter((section) => section.title !== '' && section.shown.length === 0);
  link('findings', 'Findings', found.length);
  const parts = found.map((section) => {
    const [sentence, advice, ...commands] = section.intro.concat(section.notes);
    return element('li', { class: /, critical:/.test(section.title) ? 'critical' : /, warning:/.test(section.title) ? 'middle' : null },
      element('h3', {}, section.title), paragraphs([sentence], 'intro'), advice ? paragraphs([advice], 'advice') : [],
      commands.length === 0 ? [] : element('details', {}, element('summary', {}, 'Evidence'),
        commands.map((text) => (text.startsWith('iotrail ') ? element('pre', {}, text) : element('p', {}, text)))));
  });
  main.append(element('section', { id: 'findings' }, element('h2', {}, findings.title),
    element('ol', { class: 'findings' }, parts), paragraphs(findings.closing, 'note')));
}

function build() {
  if (data.answer) addAnswer(data.answer, data.report);
  else main.append(element('header', {}, element('h1', {}, data.report.title), facts(data.report.facts)));
  if (data.findings) addFindings(data.findings);
  addTimeLine();
  addAllMaps();
  if (data.slowest) addTrails(data.slowest);
  data.report.sections.forEach(addSection);
  main.append(...paragraphs(data.answer ? data.report.closing : data.report.warnings.concat(data.report.closing), 'note'));
}

build();
