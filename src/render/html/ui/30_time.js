// SPDX-License-Identifier: BSD-3-Clause
//
// Time: what part of the run is selected, and canvases over it.

const RUN_NS = data.pictures.run_ns;
const pictureOf = (view) => data.pictures.list.find((picture) => picture.view === view);

// Seconds since the begin of the run, as `--since` takes them.
const secondsText = (ns) => `${fixed(ns / 1e9, 6)}s`;

const selection = {
  range: null, // [from, to] in nanoseconds; null: the whole run
  drawers: [],
  get from() { return this.range ? this.range[0] : 0; },
  get to() { return this.range ? this.range[1] : RUN_NS; },
  set(from, to) {
    const [begin, end] = [Math.max(0, Math.min(from, to)), Math.min(RUN_NS, Math.max(from, to))];
    this.range = end > begin && (begin > 0 || end < RUN_NS) ? [begin, end] : null;
    this.draw();
  },
  clear() { this.set(0, RUN_NS); },
  onChange(draw) { this.drawers.push(draw); draw(); },
  draw() {
    document.body.classList.toggle('part-of-run', this.range !== null);
    this.drawers.forEach((draw) => draw());
  },
};

// Shown while a part of the run is selected, in sections that do not follow it.
const wholeRun = () => element('p', { class: 'whole' }, 'of the whole run');

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Labels of round sizes or durations without needless zeros: "1 MiB", "10 ms".
const short = (text) => text.replace(/\.0+(?= )/, '');

// A canvas of `heightOf()` pixels that `draw(context, width, height)` fills; again when its size,
// the selection or the colours change.
function canvasOf(heightOf, label, draw) {
  const canvas = element('canvas', { role: 'img', 'aria-label': label });
  const paint = () => {
    const height = heightOf();
    canvas.style.height = `${height}px`;
    const width = canvas.clientWidth;
    if (width === 0) return;
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    draw(context, width, height);
  };
  new ResizeObserver(paint).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
  selection.onChange(paint);
  return canvas;
}

// Ticks at round times between two times, at most one each 70 pixels.
function timeTicks(from, to, width) {
  const least = (to - from) * 70 / width;
  let step = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  step *= [1, 2, 5, 10].find((factor) => step * factor >= least) ?? 10;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

function drawTimeAxis(context, from, to, left, width, top) {
  context.fillStyle = colour('dim');
  context.textBaseline = 'top';
  for (const at of timeTicks(from, to, width)) {
    const x = left + (at - from) / (to - from) * width;
    context.fillRect(x, top, 1, 4);
    const text = at === 0 ? '0 s' : short(durationText(Math.round(at)));
    const wide = context.measureText(text).width;
    context.fillText(text, Math.max(left, Math.min(left + width - wide, x - wide / 2)), top + 5);
  }
}

// Dragging over a canvas of the whole run selects a part of it.
function brush(canvas, left) {
  let begin = null;
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return (event.clientX - box.left - left) / (box.width - left) * RUN_NS;
  };
  canvas.classList.add('brush');
  canvas.addEventListener('pointerdown', (event) => { begin = timeAt(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener('pointermove', (event) => { if (begin !== null) selection.set(begin, timeAt(event)); });
  canvas.addEventListener('pointerup', (event) => {
    if (begin !== null && Math.abs(timeAt(event) - begin) < RUN_NS / 200) selection.clear();
    begin = null;
  });
}

function timeField(label, get, set) {
  const field = element('input', { type: 'number', step: 'any', min: 0, 'aria-label': label,
    onchange: () => set(Number(field.value) * 1e9) });
  selection.onChange(() => { field.value = fixed(get() / 1e9, 6); });
  return field;
}

// The same by keyboard, and the commands for the selected part.
function selectionBar() {
  const whole = element('button', { type: 'button', onclick: () => selection.clear() }, 'whole run');
  const command = element('code');
  selection.onChange(() => {
    whole.disabled = selection.range === null;
    command.textContent = selection.range === null ? ''
      : `iotrail report TRACE --since ${secondsText(selection.from)} --until ${secondsText(selection.to)}`;
  });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') selection.clear(); });
  return element('div', { class: 'tools' }, 'from second ', timeField('From second', () => selection.from, (ns) => selection.set(ns, selection.to)),
    ' to ', timeField('To second', () => selection.to, (ns) => selection.set(selection.from, ns)), whole, command);
}
