// SPDX-License-Identifier: BSD-3-Clause
//
// node trace_processor.mjs DIRECTORY TRACE SQL...: loads a trace into Perfetto's trace_processor, which
// DIRECTORY has as WebAssembly, and prints the rows of each query as a line of JSON.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";
import { pathToFileURL } from "node:url";

const [directory, trace, ...queries] = process.argv.slice(2);
const print = console.log;
console.log = console.warn = console.error;
const { EngineBase } = await import(pathToFileURL(path.resolve(directory, "engine.mjs")));

// The bundle is the worker of a browser. It takes the module from here instead of the network.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: "file:///" };
globalThis.wasmModule = fs.readFileSync(path.join(directory, "trace_processor.wasm"));
const ready = new Promise((resolve) => { globalThis.bridgeReady = resolve; });
const patches = [
  ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"], // the module is of 32 bits
  ["this.connection = initModule({", "this.connection = initModule({ wasmBinary: globalThis.wasmModule,"],
  ["[fn, REQ_BUF_SIZE]));", "[fn, REQ_BUF_SIZE])); globalThis.bridgeReady();"],
];
let bundle = fs.readFileSync(path.join(directory, "engine_bundle.node.js"), "utf8");
for (const [from, to] of patches) {
  if (!bundle.includes(from)) throw new Error(`the bundle has no ${from}`);
  bundle = bundle.replace(from, to);
}
vm.runInThisContext(bundle);

let port;
class NodeEngine extends EngineBase {
  id = "node";
  mode = "WASM";
  rpcSendRequestBytes(data) { port.onmessage({ data: data.slice() }); }
}
const engine = new NodeEngine();
port = { postMessage: (data) => queueMicrotask(() => engine.onRpcResponseBytes(data)) };
globalThis.onmessage({ data: port });
await ready;

const bytes = fs.readFileSync(trace);
for (let at = 0; at < bytes.length; at += 1 << 20) await engine.parse(bytes.subarray(at, at + (1 << 20)));
await engine.notifyEof();
for (const sql of queries) {
  const result = await engine.query(sql);
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(Object.fromEntries(result.columns().map((name) => [name, row.get(name)])));
  print(JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
}
process.exit(0);
