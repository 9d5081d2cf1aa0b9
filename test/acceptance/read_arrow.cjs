// SPDX-License-Identifier: BSD-3-Clause
// node read_arrow.cjs LIBRARY FILE...: the rows of files of Arrow as apache-arrow reads them, a file
// a line: {"types": {column: type}, "batches": n, "rows": [...]}. Integers of 64 bits are texts.
const fs = require("fs");
const [library, ...files] = process.argv.slice(2);
const arrow = require(library);

// A decimal is four words of 32 bits, from the lowest on.
function decimalText(words, scale) {
  const number = BigInt.asIntN(128, words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n));
  const digits = (number < 0n ? -number : number).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  return (number < 0n ? "-" : "") + digits.slice(0, point) + (scale ? "." + digits.slice(point) : "");
}

function plain(value, type) {
  if (value === null || value === undefined) return null;
  if (arrow.DataType.isDecimal(type)) return decimalText(value, type.scale);
  if (arrow.DataType.isList(type)) return [...value].map((each) => plain(each, type.children[0].type));
  if (arrow.DataType.isStruct(type)) {
    return Object.fromEntries(type.children.map((child) => [child.name, plain(value[child.name], child.type)]));
  }
  if (arrow.DataType.isBinary(type)) return Buffer.from(value).toString("hex");
  return value;
}

for (const file of files) {
  const table = arrow.tableFromIPC(fs.readFileSync(file));
  const fields = table.schema.fields;
  const rows = [];
  for (let i = 0; i < table.numRows; ++i) {
    rows.push(Object.fromEntries(fields.map((field, place) => [field.name, plain(table.getChildAt(place).get(i), field.type)])));
  }
  const types = Object.fromEntries(fields.map((field) => [field.name, String(field.type)]));
  console.log(JSON.stringify({ types, batches: table.batches.length, rows }, (key, value) => (typeof value === "bigint" ? String(value) : value)));
}
