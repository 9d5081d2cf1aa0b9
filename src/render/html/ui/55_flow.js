// SPDX-License-Identifier: BSD-3-Clause
//
// The flow of bytes between programs and devices, in four columns. What flows at the devices is what
// they completed, to the byte, or the page says so.

const FLOW_BAR = 10;
const FLOW_GAP = 9;
const FLOW_LINE = 17;
const FLOW_LEAST_WIDTH = 600; // a narrower one has no room for its names
const SINKS = /^(overwritten|dropped|still in the cache|under way|saved|in metadata|not followed)$/;

const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

function flowGraph(picture, direction) {
  const nodes = new Map();
  const node = (kind, name) => {
    const id = `${kind}:${name}`;
    if (!nodes.has(id)) nodes.set(id, { id, kind, name, come: 0, go: 0, outs: [] });
    return nodes.get(id);
  };
  const links = picture.series.filter(([key]) => key[0] === direction).map(([[, sourceKind, source, targetKind, target], [bytes]]) => {
    const link = { from: node(sourceKind, source), to: node(targetKind, target), bytes };
    link.from.go += bytes;
    link.to.come += bytes;
    link.from.outs.push(link);
    return link;
  });
  return { nodes: [...nodes.values()], links };
}

// Columns count from the right: a node is left of all that it flows to, and devices are at an end.
function flowColumn(node) {
  if (node.kind === 'devices' && node.outs.length > 0) return 3;
  return node.outs.length === 0 ? 0 : 1 + Math.max(...node.outs.map((link) => flowColumn(link.to)));
}

function flowColour(node, direction) {
  if (node.kind !== 'part') return node.kind === 'devices' ? 'device' : direction;
  if (/^(data of files|asked for)/.test(node.name)) return direction;
  if (/^read ahead$/.test(node.name)) return 'queue';
  if (/not used$/.test(node.name)) return 'lock';
  if (/^found in the cache$|ahead for them/.test(node.name)) return 'kernel';
  return SINKS.test(node.name) ? 'outside' : 'handed';
}

const nodeBytes = (node) => Math.max(node.come, node.go);
const nodeName = (node, direction) => (node.kind === 'devices' ? `devices ${direction === 'read' ? 'read' : 'wrote'}` : node.name);

// Gives each node its place, in a picture of `width`; returns the height.
function placeNodes(nodes, width, columns) {
  const most = Math.max(...columns.map((column) => column.length));
  const height = Math.max(120, most * (FLOW_LINE + 6) + 20);
  const scale = Math.min(...columns.map((column) => (height - column.length * FLOW_GAP)
    / Math.max(1, column.reduce((sum, node) => sum + nodeBytes(node), 0))));
  const step = (width - 190 - FLOW_BAR) / Math.max(1, columns.length - 1);
  columns.forEach((column, i) => {
    let y = 4;
    for (const node of column.sort((a, b) => nodeBytes(b) - nodeBytes(a))) {
      Object.assign(node, { x: i * step, y, tall: Math.max(1.5, nodeBytes(node) * scale), scale, outAt: y, inAt: y });
      y += Math.max(node.tall + 7, FLOW_LINE);
    }
  });
  return Math.max(...nodes.map((node) => node.y + Math.max(node.tall, 14))) + 8;
}

function flowPath(link, direction) {
  const { from, to, bytes } = link;
  const tall = Math.max(1, bytes * from.scale);
  const [x1, x2] = [from.x + FLOW_BAR, to.x];
  const [y1, y2] = [from.outAt + tall / 2, to.inAt + tall / 2];
  from.outAt += bytes * from.scale;
  to.inAt += bytes * from.scale;
  const middle = (x1 + x2) / 2;
  const name = flowColour(from.kind === 'part' && from.name !== 'data of files' ? from : to.kind === 'part' ? to : from, direction);
  return svg('path', { d: `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}`, class: `flow ${name}`, 'stroke-width': tall },
    svg('title', {}, `${nodeName(from, direction)} → ${nodeName(to, direction)}: ${bytesText(bytes)} (${countText(bytes)} B)`));
}

function flowPicture({ nodes, links }, direction, width) {
  const depth = Math.max(...nodes.map(flowColumn));
  const columns = Array.from({ length: depth + 1 }, (_, i) => nodes.filter((node) => flowColumn(node) === depth - i));
  const height = placeNodes(nodes, width, columns);
  const label = nodes.map((node) => `${nodeName(node, direction)} ${bytesText(nodeBytes(node))}`).join(', ');
  const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  links.sort((a, b) => a.from.y - b.from.y || a.to.y - b.to.y); // few cross
  picture.append(...links.map((link) => flowPath(link, direction)));
  for (const node of nodes) {
    const y = node.y + Math.max(11, Math.min(node.tall / 2 + 4, node.tall));
    picture.append(svg('rect', { x: node.x, y: node.y, width: FLOW_BAR, height: node.tall, class: flowColour(node, direction) },
      svg('title', {}, `${nodeName(node, direction)}: ${countText(nodeBytes(node))} B`)),
    svg('text', { x: node.x + FLOW_BAR + 5, y }, nodeName(node, direction), svg('tspan', { class: 'dim' }, ` ${bytesText(nodeBytes(node))}`)));
  }
  return picture;
}

// The parts of the balance as bars, where there is no room for a flow.
function balanceBars(section, direction) {
  const rows = rowsOf(section).filter((row) => row.direction === direction);
  const most = Math.max(...rows.map((row) => Number(row.bytes)));
  return plainBars(rows.map((row) => [`${row.sign} ${row.part}`.trim(), Number(row.bytes), bytesText(Number(row.bytes)),
    row.sign === '-' ? 'outside' : row.part === 'completed' ? 'device' : direction, most]));
}

// Whether as much flows at each node as it should.
function flowAddsUp({ nodes }, completed) {
  const devices = nodes.find((node) => node.kind === 'devices');
  return nodes.every((node) => node.come === 0 || node.go === 0 || node.come === node.go)
    && (devices ? nodeBytes(devices) : 0) === completed;
}

function flowOf(picture, section, direction) {
  const completed = Number(rowsOf(section).find((row) => row.direction === direction && row.part === 'completed')?.bytes ?? 0);
  const graph = flowGraph(picture, direction);
  if (graph.nodes.length === 0) return [];
  const isWhole = flowAddsUp(graph, completed);
  const box = element('div');
  new ResizeObserver(() => {
    const width = box.clientWidth;
    if (width === 0 || box.dataset.width === String(width)) return;
    box.dataset.width = String(width);
    box.replaceChildren(width < FLOW_LEAST_WIDTH || !isWhole ? balanceBars(section, direction) : flowPicture(flowGraph(picture, direction), direction, width));
  }).observe(box);
  return [element('h3', {}, direction === 'write' ? 'Written: from programs to devices' : 'Read: from devices to programs'),
    element('p', { class: isWhole ? 'note' : 'warning' }, isWhole ? `adds up: ${countText(completed)} B completed by devices`
      : `The flows do not add up to the ${countText(completed)} B that devices completed: the table has the parts.`), box];
}

function drawFlows(section) {
  const picture = pictureOf('byte_flows');
  if (!picture) return [];
  return ['write', 'read'].map((direction) => flowOf(picture, section, direction)).flat();
}
