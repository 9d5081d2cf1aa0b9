// SPDX-License-Identifier: BSD-3-Clause
//
// Values as text, exactly as the text report has them (src/text/units.cpp), and elements of the page.

const data = JSON.parse(document.getElementById('iotrail-data').textContent);

// Rounds a tie to the even digit, as C++ does; toFixed() rounds it up. In binary, a tie at `digits`
// decimals is an odd number of 1/2^(digits + 1).
function fixed(value, digits) {
  const scaled = value * 2 ** (digits + 1);
  if (!Number.isInteger(scaled) || scaled % 2 === 0) return value.toFixed(digits);
  const below = Math.floor(value * 10 ** digits);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}

const threeDigits = (value) => fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);

function bytesText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.5 && unit + 1 < units.length; ++unit) value /= 1024;
  return `${threeDigits(value)} ${units[unit]}`;
}

function durationText(ns) {
  if (ns < 1000) return `${ns} ns`;
  if (ns < 999.5e3) return `${threeDigits(ns / 1e3)} us`;
  if (ns < 999.5e6) return `${threeDigits(ns / 1e6)} ms`;
  if (ns < 99.95e9) return `${threeDigits(ns / 1e9)} s`;
  const seconds = Math.floor(ns / 1e9) + (ns % 1e9 >= 5e8 ? 1 : 0);
  const two = (number) => String(number).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

// `count` has digits in a text if a number cannot hold them all.
const countText = (count) => String(typeof count === 'string' ? count : Math.round(count))
  .replace(/\B(?=(\d{3})+$)/g, ',');

function shareText(share) {
  if (share > 0 && share < 0.0005) return '< 0.1 %';
  if (share < 1 && share >= 0.9995) return '> 99.9 %';
  return `${fixed(100 * share, 1)} %`;
}

const NUMBERS = new Map([
  ['bytes', (value) => bytesText(Number(value))],
  ['ns', (value) => durationText(Number(value))],
  ['count', countText],
  ['share', (value) => shareText(Number(value))],
  ['ratio', (value) => (Number(value) < 1000 ? `x ${fixed(Number(value), 2)}` : `x ${countText(Math.round(Number(value)))}`)],
  ['second', (value) => fixed(Number(value), 6)],
]);

function numberText(meaning, value, factor) {
  const text = NUMBERS.get(meaning);
  if (Number(value) < 0 && (meaning === 'bytes' || meaning === 'ns')) return `-${text(-Number(value))}`;
  return factor > 1 && Number(value) !== 0 ? `~${text(Number(value) * factor)}` : text(value);
}

// An element with attributes and children. Texts of a trace only ever become text nodes.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

const main = document.getElementById('content');
const navigation = document.querySelector('nav');
const paragraphs = (texts, name) => texts.map((text) => element('p', { class: name }, text));

// An entry of the list of sections.
function link(id, title, count = null) {
  navigation.append(element('a', { href: `#${id}` }, element('span', {}, title),
    count !== null ? element('span', { class: 'count' }, countText(count)) : null));
}
