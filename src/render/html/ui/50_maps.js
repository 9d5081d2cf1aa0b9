// SPDX-License-Identifier: BSD-3-Clause
//
// Maps over time: how long operations took (a logarithmic axis), and where in files and on devices.

const MAP_LEFT = 62;
const MAP_RIGHT = 58; // of a map with a histogram
const MAP_PIXELS = 110;
const CLASSES_AN_OCTAVE = 3;
const classNs = (index) => 64 * 2 ** (index / CLASSES_AN_OCTAVE);

// Calls `visit(row, at)` for the numbers of each row that the selection touches.
function visitSelected(map, numbers, visit) {
  const isSelected = selectedBins(map);
  for (let at = 0; at < numbers.length; at += map.columns.length) if (isSelected(numbers[at])) visit(at);
}

// Fills cells of [bin, row, value]; darker is more, on a logarithmic scale.
function drawCells(context, map, cells, rows, name, box) {
  const most = Math.max(1, ...cells.map((cell) => cell[2]));
  const first = Math.floor(selection.from / map.bin_ns);
  const bins = Math.max(1, Math.ceil(selection.to / map.bin_ns) - first);
  const end = Math.min(RUN_NS, (first + bins) * map.bin_ns);
  const span = Math.max(1, end - first * map.bin_ns) / map.bin_ns; // in bins; the last one may be short
  context.fillStyle = colour('soft');
  context.fillRect(box.left, box.top, box.width, box.height);
  context.fillStyle = colour(name);
  for (const [bin, row, value] of cells) {
    context.globalAlpha = 0.25 + 0.75 * Math.log1p(value) / Math.log1p(most);
    const x = box.left + (bin - first) / span * box.width;
    context.fillRect(x, box.top + (1 - (row + 1) / rows) * box.height,
      Math.min(Math.max(1.5, box.width / span), box.left + box.width - x), Math.max(1.5, box.height / rows));
  }
  context.globalAlpha = 1;
  drawTimeAxis(context, first * map.bin_ns, end, box.left, box.width, box.top + box.height + 1);
}

function drawLabels(context, labels, box) {
  context.fillStyle = colour('dim');
  context.textBaseline = 'middle';
  for (const [share, text] of labels)
    context.fillText(text, 0, Math.max(box.top + 6, Math.min(box.top + box.height - 6, box.top + (1 - share) * box.height)));
}

function mapCanvas(label, draw) {
  return canvasOf(() => MAP_PIXELS + 20, label, (context, width) => draw(context,
    { left: MAP_LEFT, top: 0, width: Math.max(1, width - MAP_LEFT), height: MAP_PIXELS }));
}

// The class that holds the given share of the operations.
function quantile(counts, share) {
  let left = counts.reduce((sum, count) => sum + count, 0) * share;
  return counts.findIndex((count) => { left -= count; return left <= 0; });
}

// Powers of ten within `rows` classes of durations: [share of the axis, text].
function decades(low, rows) {
  const labels = [];
  for (let ns = 100; ns < 1e13; ns *= 10) {
    const share = (CLASSES_AN_OCTAVE * Math.log2(ns / 64) - low) / rows;
    if (share >= 0 && share < 1) labels.push([share, short(durationText(ns))]);
  }
  return labels;
}

// How the operations of a map spread over the classes, and their median and 99th percentile.
function drawSpread(context, counts, low, rows, name, box) {
  const left = box.left + box.width + 4;
  const most = Math.max(1, ...counts);
  context.fillStyle = colour(name);
  context.globalAlpha = 0.6;
  counts.forEach((count, at) => {
    if (count > 0) context.fillRect(left, box.top + (1 - (at - low + 1) / rows) * box.height, Math.max(1, count / most * 26), Math.max(1, box.height / rows - 0.5));
  });
  context.globalAlpha = 1;
  context.textBaseline = 'middle';
  const [half, most99] = [0.5, 0.99].map((share) => box.top + (1 - (quantile(counts, share) - low + 0.5) / rows) * box.height);
  const textHalf = Math.max(box.top + 17, Math.min(box.top + box.height - 5, half));
  const text99 = Math.max(box.top + 6, Math.min(textHalf - 11, most99));
  for (const [y, text, textAt] of [[half, 'p50', textHalf], [most99, 'p99', text99]]) {
    context.fillStyle = colour('ink');
    context.fillRect(box.left, y, box.width + 30, 0.75);
    context.fillText(text, left + 30, textAt);
  }
}

// Exact percentiles of the report, if it counts the same operations; else those of the classes.
function percentileText(layer, operation, counts) {
  const all = counts.reduce((sum, each) => sum + each, 0);
  const layers = sectionOf('layers');
  const row = layers ? rowsOf(layers).find((each) => each.layer === layer && each.operation === operation) : null;
  if (row && selection.range === null && Number(row.operations) === all) return `p50 ${numberText('ns', row.p50_ns, 1)}, p99 ${numberText('ns', row.p99_ns, 1)}`;
  return [[0.5, 'p50'], [0.99, 'p99']].map(([share, text]) => `${text} ≈ ${durationText(Math.round(classNs(quantile(counts, share) + 0.5)))}`).join(', ');
}

// About the time that the operations took in all.
function timeOf([, numbers]) {
  let sum = 0;
  for (let at = 0; at < numbers.length; at += 3) sum += classNs(numbers[at + 1]) * numbers[at + 2];
  return sum;
}

function latencyMap(map, [[layer, operation], numbers]) {
  const title = element('h3');
  const classes = numbers.filter((_, at) => at % 3 === 1);
  const [low, high] = [Math.min(...classes), Math.max(...classes) + 1];
  const rows = Math.max(12, high - low);
  let [cells, counts] = [[], []];
  const count = () => {
    [cells, counts] = [[], new Array(high).fill(0)];
    visitSelected(map, numbers, (at) => { cells.push([numbers[at], numbers[at + 1] - low, numbers[at + 2]]); counts[numbers[at + 1]] += numbers[at + 2]; });
    const all = counts.reduce((sum, each) => sum + each, 0);
    title.textContent = all === 0 ? `${layer} ${operation}: none in this time`
      : `${layer} ${operation}: ${countText(all)}, ${percentileText(layer, operation, counts)}`;
    title.title = title.textContent;
  };
  selection.onChange(count);
  const name = COLOURS_OF_KINDS[kindOf(operation)];
  const canvas = mapCanvas(`Durations of ${operation} over time`, (context, whole) => {
    const box = { ...whole, width: Math.max(1, whole.width - MAP_RIGHT) };
    drawCells(context, map, cells, rows, name, box);
    drawLabels(context, decades(low, rows), box);
    if (cells.length > 0) drawSpread(context, counts, low, rows, name, box);
  });
  return element('div', { class: 'map' }, title, canvas);
}
const COLOURS_OF_KINDS = KINDS.map(([name]) => name);

// Reads and writes are apart: two hues in one cell are mud.
function placeMaps(map, name, rows, labels, cellsOf) {
  const kinds = map.columns.filter((column) => column.startsWith('bytes_'));
  return kinds.map((kind) => {
    const cells = cellsOf(kind).filter((cell) => cell[2] > 0);
    if (cells.length === 0) return [];
    const canvas = mapCanvas(`${kind.replace('_', ' ')}, by place, over time: ${name}`, (context, box) => {
      const isSelected = selectedBins(map);
      drawCells(context, map, cells.filter(([bin]) => isSelected(bin)), rows, colourOf(kind), box);
      drawLabels(context, labels, box);
    });
    const total = cells.reduce((sum, cell) => sum + cell[2], 0);
    return [element('div', { class: 'map' }, element('h3', {}, `${name}: ${kind.slice(6)} ${bytesText(total)}`), canvas)];
  }).flat();
}

function fileMaps(map, [[path, size], numbers]) {
  const wide = map.columns.length;
  return placeMaps(map, path, 64, [0, 0.5, 1].map((share) => [share, bytesText(Math.round(share * Number(size)))]), (kind) => {
    const column = map.columns.indexOf(kind);
    const cells = [];
    for (let at = 0; at < numbers.length; at += wide) cells.push([numbers[at], numbers[at + 1], numbers[at + column]]);
    return cells;
  });
}

function deviceMaps(map) {
  const devices = new Map();
  for (const series of map.series) {
    const name = series[0][0];
    if (!devices.has(name)) devices.set(name, []);
    devices.get(name).push(series);
  }
  return [...devices].map(([name, places]) => {
    const rows = 1 + Math.max(...places.map(([key]) => key[1]));
    const begin = (place) => bytesText(Number(places[Math.min(places.length - 1, place)][0][2]));
    const labels = [[0, begin(0)], [0.5, begin(Math.floor(rows / 2))], [1, bytesText(Number(places[places.length - 1][0][3]))]];
    return placeMaps(map, name, rows, rows < 3 ? labels.slice(0, 1) : labels, (kind) => {
      const column = map.columns.indexOf(kind);
      return places.map(([key, numbers]) => {
        const cells = [];
        for (let at = 0; at < numbers.length; at += map.columns.length) cells.push([numbers[at], key[1], numbers[at + column]]);
        return cells;
      }).flat();
    });
  }).flat();
}

function addMaps(view, id, title, note, mapsOf) {
  const map = pictureOf(view);
  if (!map) return;
  const maps = map.failure === '' ? mapsOf(map) : [];
  if (maps.length === 0 && map.failure === '') return;
  link(id, title.split(':')[0]);
  main.append(element('section', { id }, element('h2', {}, title), element('p', { class: 'note' }, note),
    map.failure === '' ? element('div', { class: 'maps' }, maps) : element('p', { class: 'warning' }, `not shown: ${map.failure}`),
    map.dropped_series === 0 ? [] : element('p', { class: 'note' }, `not shown, for lack of room: ${countText(map.dropped_series)} smaller ones`)));
}

// Few operations are no picture: the tables have them.
const LEAST_IN_MAP = 8;
const countOf = ([, numbers]) => numbers.reduce((sum, value, at) => sum + (at % 3 === 2 ? value : 0), 0);

function addLatency() {
  addMaps('latency_bins', 'latency', 'How long, when: durations of operations over time',
    'Darker is more operations. The scale of durations is logarithmic; at the right, all of the selected time. ≈: within 13 %. '
    + `Operations with fewer than ${LEAST_IN_MAP} are not drawn.`,
    (map) => map.series.filter((series) => countOf(series) >= LEAST_IN_MAP).sort((a, b) => timeOf(b) - timeOf(a)).map((series) => latencyMap(map, series)));
}

function addFilePlaces() {
  addMaps('file_places', 'file-places', 'Where in files: offset over time', 'Darker is more bytes.', (map) => map.series.map((series) => fileMaps(map, series)).flat());
}

function addDevicePlaces() {
  addMaps('device_places', 'device-places', 'Where on devices: address over time',
    'Darker is more bytes. The axis has only places that were used, in their order.', deviceMaps);
}
