// SPDX-License-Identifier: BSD-3-Clause
//
// The time line: one lane a layer with the mean number of operations in progress, by kind; and the
// operations of the selected part.

const LANE_PIXELS = 52;
const LEFT_PIXELS = 84;
const KINDS = [['read', /read|receive|^add$/, 'reads'], ['write', /^write|send|dirty|^copy/, 'writes'], ['sync', /sync|flush|commit/, 'syncs'],
  ['time', /./, 'others']];
const kindOf = (operation) => KINDS.findIndex(([, pattern]) => pattern.test(operation));
const layersOfCalls = new Set(['app', 'syscall', 'async', 'vfs']);
const OP_COLUMNS = 5; // bin, operations, bytes, errors, time in progress

// By layer and kind: what fills each bin of the lane. A layer without spans shows its bytes.
function laneSeries(picture, showsOthers) {
  const bins = Math.ceil(RUN_NS / picture.bin_ns);
  const lanes = new Map();
  for (const [[layer, operation, isOnFiles], numbers] of picture.series) {
    if (!isOnFiles && !showsOthers) continue;
    if (!lanes.has(layer)) lanes.set(layer, { time: KINDS.map(() => new Float64Array(bins)), bytes: KINDS.map(() => new Float64Array(bins)) });
    const lane = lanes.get(layer);
    const kind = kindOf(operation);
    for (let at = 0; at < numbers.length; at += OP_COLUMNS) {
      lane.time[kind][numbers[at]] += numbers[at + 4];
      lane.bytes[kind][numbers[at]] += numbers[at + 2];
    }
  }
  return [...lanes].map(([layer, { time, bytes }]) => {
    const hasTime = time.some((kind) => kind.some((ns) => ns > 0));
    return { layer, kinds: hasTime ? time : bytes, hasTime, scale: hasTime ? 1 / picture.bin_ns : 1e9 / picture.bin_ns };
  }).filter(({ kinds }) => kinds.some((kind) => kind.some((value) => value > 0)));
}

// What fills each column of pixels: whole bins, so that no column has parts of two.
function laneColumns(lane, width) {
  const bins = lane.kinds[0].length;
  const each = Math.max(1, Math.ceil(bins / width));
  return Array.from({ length: Math.ceil(bins / each) }, (_, i) => lane.kinds.map((kind) => {
    const part = kind.subarray(i * each, (i + 1) * each);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  }));
}

// The height of the lane: a few spikes do not flatten the rest.
function laneTop(sums) {
  const used = sums.filter((sum) => sum > 0).sort((a, b) => a - b);
  const most = used[used.length - 1];
  const usual = used[Math.floor((used.length - 1) * 0.97)] * 1.6;
  return usual < most ? usual : most;
}

function drawLane(context, lane, left, top, width, height) {
  const columns = laneColumns(lane, width);
  const sums = columns.map((kinds) => kinds.reduce((sum, value) => sum + value, 0));
  const [most, shown] = [Math.max(...sums), laneTop(sums)];
  const x = (at) => left + Math.round(at / columns.length * width);
  columns.forEach((kinds, at) => {
    let y = top + height;
    kinds.forEach((value, i) => {
      const tall = Math.min(value / shown * height, y - top);
      context.fillStyle = colours[i];
      context.fillRect(x(at), y - tall, Math.max(1, x(at + 1) - x(at)), tall);
      y -= tall;
    });
    context.fillStyle = colour('ink');
    if (sums[at] > shown) context.fillRect(x(at), top, Math.max(2, x(at + 1) - x(at)), 2);
  });
  context.fillStyle = colour('dim');
  const text = (value) => (lane.hasTime ? `${threeDigits(value * lane.scale)} at once` : `${bytesText(Math.round(value * lane.scale))}/s`);
  context.fillText(text(shown), 0, top + height / 2 + 6);
  if (shown < most) context.fillText(`\u25b4 ${lane.hasTime ? threeDigits(most * lane.scale) : text(most)}`, 0, top + height / 2 + 18);
}
let colours = [];

function drawLanes(context, lanes, width) {
  const wide = width - LEFT_PIXELS;
  colours = KINDS.map(([name]) => colour(name));
  lanes.forEach((lane, i) => {
    const top = i * LANE_PIXELS;
    context.fillStyle = colour('line');
    context.fillRect(0, top + LANE_PIXELS - 2, width, 1);
    context.fillStyle = colour('ink');
    context.textBaseline = 'middle';
    context.fillText(lane.layer, 0, top + LANE_PIXELS / 2 - 12);
    drawLane(context, lane, LEFT_PIXELS, top, wide, LANE_PIXELS - 2);
  });
  drawTimeAxis(context, 0, RUN_NS, LEFT_PIXELS, wide, lanes.length * LANE_PIXELS);
  if (selection.range === null) return;
  context.fillStyle = colour('page');
  context.globalAlpha = 0.7;
  context.fillRect(LEFT_PIXELS, 0, selection.from / RUN_NS * wide, lanes.length * LANE_PIXELS);
  const x = selection.to / RUN_NS * wide;
  context.fillRect(LEFT_PIXELS + x, 0, wide - x, lanes.length * LANE_PIXELS);
  context.globalAlpha = 1;
}

const legend = (kinds) => element('p', { class: 'legend' }, kinds.map(([name, , text]) => [
  element('i', { class: `bar ${name}` }), element('span', {}, text)]).flat());

// The bins that the selection touches: a part of a bin counts whole.
function selectedBins(picture) {
  const [from, to] = [Math.floor(selection.from / picture.bin_ns), Math.ceil(selection.to / picture.bin_ns)];
  return (bin) => bin >= from && bin < to;
}

const column = (name, title, meaning, more) => ({ name, title, meaning, omit: 'never', suppress_repeats: false, zero_is_dash: true,
  is_sum: true, instead: '', ...more });

// A section, as the report has them, for the operations that began in the selected time.
function operationsSection(picture) {
  const isSelected = selectedBins(picture);
  const rows = [];
  for (const [[layer, operation, isOnFiles], numbers] of picture.series) {
    const sums = [0, 0, 0, 0];
    for (let at = 0; at < numbers.length; at += OP_COLUMNS)
      if (isSelected(numbers[at])) sums.forEach((_, i) => { sums[i] += numbers[at + 1 + i]; });
    const name = isOnFiles || !layersOfCalls.has(layer) ? operation : `${operation} (no file)`;
    if (sums.some((sum) => sum > 0)) rows.push([layer, name, ...sums, sums[3] / Math.max(1, selection.to - selection.from)]);
  }
  return { shown: [0, 1, 2, 3, 4, 5, 6], rows: rows.sort((a, b) => b[5] - a[5]), all_rows: rows.length, scale_factors: [], columns: [
    column('layer', 'layer', 'text'), column('operation', 'operation', 'text'), column('operations', 'count', 'count'),
    column('bytes', 'bytes', 'bytes'), column('errors', 'errors', 'count'), column('in_progress', 'in progress', 'ns'),
    column('mean', 'mean number', 'ratio', { is_sum: false })] };
}

// The same table for files or processes. Their bins are wider: a part of one counts whole.
function callsSection(picture, nameOf, title, meaning) {
  const isSelected = selectedBins(picture);
  const rows = [];
  for (const [key, numbers] of picture.series) {
    const sums = [0, 0, 0, 0];
    for (let at = 0; at < numbers.length; at += 5)
      if (isSelected(numbers[at])) sums.forEach((_, i) => { sums[i] += numbers[at + 1 + i]; });
    if (sums[0] > 0) rows.push([nameOf(key), ...sums]);
  }
  return { shown: [0, 1, 2, 3, 4], rows: rows.sort((a, b) => b[4] - a[4]), all_rows: rows.length, scale_factors: [], columns: [
    column('name', title, meaning), column('calls', 'calls', 'count'), column('bytes_read', 'read', 'bytes'),
    column('bytes_written', 'written', 'bytes'), column('total_ns', 'time in calls', 'ns')] };
}

// Tables for a selected part of the run, with the sections below for the whole.
function selectedTables() {
  const kinds = [['file_bins', ([path]) => path, 'file', 'path', 'Files'], ['process_bins', ([program, pid]) => `${program}[${pid}]`, 'process', 'text', 'Processes']];
  return kinds.map(([view, nameOf, title, meaning, heading]) => {
    const picture = pictureOf(view);
    if (!picture || picture.series.length === 0) return [];
    const table = new Table(callsSection(picture, nameOf, title, meaning), `${heading.toLowerCase()} in the selected time`);
    selection.onChange(() => table.replace(callsSection(picture, nameOf, title, meaning)));
    return element('div', { class: 'selected' }, element('h3', {}, `${heading}: calls on files that began in the selected time`), table.root);
  }).flat();
}

function addTimeLine() {
  const bins = pictureOf('op_bins');
  if (!bins || bins.series.length === 0 || RUN_NS === 0) return;
  const others = element('input', { type: 'checkbox', onchange: () => selection.draw() });
  const lanes = () => laneSeries(bins, others.checked);
  const canvas = canvasOf(() => lanes().length * LANE_PIXELS + 20, 'Operations in progress on each layer, over time',
    (context, width) => drawLanes(context, lanes(), width));
  brush(canvas, LEFT_PIXELS);
  const table = new Table(operationsSection(bins), 'operations in the selected time');
  selection.onChange(() => table.replace(operationsSection(bins)));
  link('time', 'Time line');
  main.append(element('section', { id: 'time' }, element('h2', {}, 'Time line: what each layer did when'),
    element('p', { class: 'note' }, 'Drag over it to select a part; Escape selects the whole run.'), legend(KINDS),
    element('label', {}, others, ' also pipes, sockets and waits for others'), canvas, selectionBar(),
    element('h3', {}, 'Operations that began in the selected time'), table.root, selectedTables()));
}
