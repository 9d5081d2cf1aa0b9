// SPDX-License-Identifier: BSD-3-Clause
//
// Maps over time: how long operations took (a logarithmic axis), and where in files and on devices.

const MAP_LEFT = 62;
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
  context.fillStyle = colour('soft');
  context.fillRect(box.left, box.top, box.width, box.height);
  context.fillStyle = colour(name);
  for (const [bin, row, value] of cells) {
    context.globalAlpha = 0.25 + 0.75 * Math.log1p(value) / Math.log1p(most);
    context.fillRect(box.left + (bin - first) / bins * box.width, box.top + (1 - (row + 1) / rows) * box.height,
      Math.max(1.5, box.width / bins), Math.max(1.5, box.height / rows));
  }
  context.globalAlpha = 1;
  const end = (first + bins) * map.bin_ns;
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

// About the time that the operations took in all.
function timeOf([, numbers]) {
  let sum = 0;
  for (let at = 0; at < numbers.length; at += 3) sum += classNs(numbers[at + 1]) * numbers[at + 2];
  return sum;
}

function latencyMap(map, [[layer, operation], numbers]) {
  const title = element('h3');
  let cells = [];
  const count = () => {
    const counts = new Array(1 + Math.max(...numbers.filter((_, at) => at % 3 === 1))).fill(0);
    cells = [];
    visitSelected(map, numbers, (at) => { cells.push(numbers.slice(at, at + 3)); counts[numbers[at + 1]] += numbers[at + 2]; });
    const all = counts.reduce((sum, each) => sum + each, 0);
    const [half, most] = [0.5, 0.99].map((share) => durationText(Math.round(classNs(quantile(counts, share)))));
    title.textContent = all === 0 ? `${layer} ${operation}: none in this time`
      : `${layer} ${operation}: ${countText(all)}, half from ${half} on, 1 % from ${most} on`;
  };
  selection.onChange(count);
  const canvas = mapCanvas(`Durations of ${operation} over time`, (context, box) => {
    const classes = numbers.filter((_, at) => at % 3 === 1);
    const [low, high] = [Math.min(...classes), Math.max(...classes) + 1];
    const rows = Math.max(12, high - low);
    drawCells(context, map, cells.map(([bin, index, value]) => [bin, index - low, value]), rows, COLOURS_OF_KINDS[kindOf(operation)], box);
    drawLabels(context, [0, 0.5, 1].map((share) => [share, durationText(Math.round(classNs(low + share * rows)))]), box);
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
  if (!map || (map.series.length === 0 && map.failure === '')) return;
  link(id, title.split(':')[0]);
  main.append(element('section', { id }, element('h2', {}, title), element('p', { class: 'note' }, note),
    map.failure === '' ? element('div', { class: 'maps' }, mapsOf(map)) : element('p', { class: 'warning' }, `not shown: ${map.failure}`)));
}

function addAllMaps() {
  addMaps('latency_bins', 'latency', 'How long, when: durations of operations over time', 'Darker is more operations. The scale of durations is logarithmic.',
    (map) => [...map.series].sort((a, b) => timeOf(b) - timeOf(a)).map((series) => latencyMap(map, series)));
  addMaps('file_places', 'file-places', 'Where in files: offset over time', 'Darker is more bytes.', (map) => map.series.map((series) => fileMaps(map, series)).flat());
  addMaps('device_places', 'device-places', 'Where on devices: address over time',
    'Darker is more bytes. The axis has only places that were used, in their order.', deviceMaps);
}
