// SPDX-License-Identifier: BSD-3-Clause
//
// The slowest operations, each with what it did on every layer as bars over its time.

const PART_COLOURS = [[/^wait/, 'write'], [/^(app|syscall|async|vfs)$/, 'time'], [/^(fs|cache|fault|memory|net)$/, 'sync']];
const partColour = (layer) => PART_COLOURS.find(([pattern]) => pattern.test(layer))?.[1] ?? 'read';

// `spans`: [[0, length of the whole], [begin, end], ...]. The bar has a least width, else it is not seen.
function spansBar([[, length], ...spans], name) {
  const bar = element('div', { class: 'spans' });
  for (const [begin, end] of spans) {
    const part = element('i', { class: name });
    part.style.left = `${100 * begin / Math.max(1, length)}%`;
    part.style.width = `${100 * (end - begin) / Math.max(1, length)}%`;
    bar.append(part);
  }
  return bar;
}

function trail(child, isOpen) {
  const at = (row, name) => row[child.columns.findIndex((column) => column.name === name)];
  const parts = child.rows.map((row) => element('div', { class: 'part-of-trail' },
    element('span', {}, `${at(row, 'layer')} ${at(row, '_words')}`), spansBar(at(row, 'spans'), partColour(at(row, 'layer'))),
    element('span', { class: 'number' }, numberText('ns', at(row, 'covered_ns'), 1)), element('span', {}, at(row, '_remark') ?? '')));
  return element('details', { open: isOpen }, element('summary', {}, child.title), parts, paragraphs(child.notes, 'note'));
}

function addTrails(slowest) {
  const children = slowest.sections.flatMap((section) => section.children);
  if (children.length === 0) return;
  link('slowest-trails', 'The slowest, drawn', children.length);
  main.append(element('section', { id: 'slowest-trails' }, element('h2', {}, 'The slowest operations, layer by layer'),
    children.map((child, i) => trail(child, i === 0)),
    slowest.sections.flatMap((section) => paragraphs(section.intro.concat(section.notes), 'note')), paragraphs(slowest.closing, 'note')));
}
