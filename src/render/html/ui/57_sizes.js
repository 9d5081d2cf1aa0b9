// SPDX-License-Identifier: BSD-3-Clause
//
// Histograms of sizes and of delays, and the curve of a cache's misses.

const HISTOGRAM_PIXELS = 96;
const HISTOGRAMS = 9;
const sizeClass = (bytes) => (bytes < 1 ? 0 : 1 + Math.round(Math.log2(bytes)));

function axisLabels(context, labels, left, width, top) {
  context.fillStyle = colour('dim');
  context.textBaseline = 'top';
  let end = -1;
  for (const [share, text] of labels) {
    const wide = context.measureText(text).width;
    const x = Math.max(left, Math.min(left + width - wide, left + share * width - wide / 2));
    if (x <= end + 6) continue;
    context.fillRect(left + share * width, top, 1, 3);
    context.fillText(text, x, top + 4);
    end = x + wide;
  }
}

// Number and bytes of operations side by side, each in relation to its own largest.
function sizeHistogram([[layer, operation], numbers], last) {
  const classes = [];
  for (let at = 0; at < numbers.length; at += 3) classes.push([sizeClass(numbers[at]), numbers[at + 1], numbers[at + 2]]);
  const [count, bytes] = [1, 2].map((i) => classes.reduce((sum, each) => sum + each[i], 0));
  const [mostCount, mostBytes] = [1, 2].map((i) => Math.max(1, ...classes.map((each) => each[i])));
  const name = COLOURS_OF_KINDS[kindOf(operation)];
  const canvas = canvasOf(() => HISTOGRAM_PIXELS, `Sizes of ${layer} ${operation}`, (context, width, height) => {
    const wide = width / (last + 1);
    const base = height - 20;
    context.fillStyle = colour('line');
    context.fillRect(0, base, width, 1);
    for (const [at, some, moved] of classes) {
      const tall = [some / mostCount, moved / mostBytes].map((share) => (share > 0 ? Math.max(1, share * (base - 2)) : 0));
      context.fillStyle = colour(name);
      context.fillRect(at * wide + wide * 0.1, base - tall[0], wide * 0.42, tall[0]);
      context.globalAlpha = 0.4;
      context.fillRect(at * wide + wide * 0.52, base - tall[1], wide * 0.38, tall[1]);
      context.globalAlpha = 1;
    }
    const labels = [[0.5 / (last + 1), '0']];
    for (const power of [0, 9, 12, 16, 20, 24, 30]) if (power + 1 <= last) labels.push([(power + 1.5) / (last + 1), short(bytesText(2 ** power))]);
    axisLabels(context, labels, 0, width, base + 1);
  });
  return element('div', { class: 'map' }, element('h3', {}, `${layer} ${operation}: ${countText(count)}, ${bytesText(bytes)}`), canvas);
}

function drawSizes() {
  const picture = pictureOf('sizes');
  if (!picture || picture.series.length === 0) return [];
  const bytesOf = ([, numbers]) => numbers.reduce((sum, value, at) => sum + (at % 3 === 2 ? value : 0), 0);
  const largest = [...picture.series].sort((a, b) => bytesOf(b) - bytesOf(a)).filter((series) => bytesOf(series) > 0).slice(0, HISTOGRAMS);
  const last = Math.max(13, ...largest.map(([, numbers]) => sizeClass(numbers[numbers.length - 3])));
  return [element('div', { class: 'maps' }, largest.map((series) => sizeHistogram(series, last))),
    element('p', { class: 'note' }, 'Left bars: number of operations; right, paler bars: their bytes; each in relation to its largest. From each size on, up to its double.')];
}

const DELAY_COLOURS = ['write', 'sync', 'kernel', 'queue', 'handed', 'outside', 'wait', 'lock'];

// Bytes by the time for which they were dirty, stacked by what set off the write-back.
function drawDelays(section) {
  const picture = pictureOf('dirty_delays');
  if (!picture || picture.series.length === 0) return [];
  const series = picture.series.map(([[name], numbers], i) => {
    const cells = [];
    for (let at = 0; at < numbers.length; at += 3) cells.push([numbers[at], numbers[at + 1]]);
    return { name, cells, colour: DELAY_COLOURS[i % DELAY_COLOURS.length], bytes: cells.reduce((sum, cell) => sum + cell[1], 0) };
  });
  const classes = series.flatMap(({ cells }) => cells.map((cell) => cell[0]));
  const low = Math.min(...classes);
  const rows = Math.max(8, Math.max(...classes) - low + 1);
  const canvas = canvasOf(() => HISTOGRAM_PIXELS + 30, 'Bytes by how long they had been dirty', (context, width, height) => {
    const base = height - 20;
    const sums = new Float64Array(rows);
    series.forEach(({ cells }) => cells.forEach(([at, bytes]) => { sums[at - low] += bytes; }));
    const most = Math.max(1, ...sums);
    const tops = new Float64Array(rows);
    for (const { cells, colour: name } of series) {
      context.fillStyle = colour(name);
      for (const [at, bytes] of cells) {
        const tall = Math.max(1, bytes / most * (base - 16));
        context.fillRect((at - low) / rows * width, base - tops[at - low] - tall, Math.max(1, width / rows - 1), tall);
        tops[at - low] += tall;
      }
    }
    context.fillStyle = colour('dim');
    context.textBaseline = 'top';
    context.fillText(bytesText(Math.round(most)), 0, 0);
    axisLabels(context, decades(low, rows), 0, width, base + 1);
  });
  const known = series.reduce((sum, each) => sum + each.bytes, 0);
  const all = rowsOf(section).reduce((sum, row) => sum + Number(row.bytes), 0);
  return [element('h3', {}, 'From dirty to disk: bytes by how long they had been dirty'),
    partsLegend(series.map((each) => ({ colour: each.colour, title: `${each.name === 'call' ? 'set off by a call' : each.name}: ${bytesText(each.bytes)}` }))), canvas,
    element('p', { class: 'note' }, `${bytesText(known)} of ${bytesText(all)} written back have a known write. The scale of times is logarithmic.`)];
}

function drawCurve(section) {
  const rows = rowsOf(section);
  if (rows.length < 2) return [];
  const canvas = canvasOf(() => 180, 'Share of missed accesses by the size of the cache', (context, width, height) => {
    const [left, base] = [44, height - 20];
    const x = (i) => left + i / (rows.length - 1) * (width - left - 8);
    const y = (share) => 6 + (1 - share) * (base - 6);
    context.textBaseline = 'middle';
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      context.fillStyle = colour('line');
      context.fillRect(left, y(share), width - left, 1);
      context.fillStyle = colour('dim');
      context.fillText(`${100 * share} %`, 0, y(share));
    }
    context.strokeStyle = colour('read');
    context.lineWidth = 2;
    context.beginPath();
    rows.forEach((row, i) => context.lineTo(x(i), y(row.miss_share)));
    context.stroke();
    context.fillStyle = colour('read');
    rows.forEach((row, i) => context.fillRect(x(i) - 2.5, y(row.miss_share) - 2.5, 5, 5));
    axisLabels(context, rows.map((row, i) => [(x(i) - left) / (width - left), short(bytesText(Number(row.size_bytes)))]), left, width - left, base + 1);
  });
  return [canvas];
}

function addCache(cache) {
  const [curve] = cache.sections;
  link('cache', 'Cache size');
  main.append(element('section', { id: 'cache' }, element('h2', {}, 'Misses by the size of a page cache'), wholeRun(),
    element('p', { class: 'intro' }, cache.title), drawCurve(curve), sectionBody({ ...curve, facts: cache.facts }, curve.title)));
}
