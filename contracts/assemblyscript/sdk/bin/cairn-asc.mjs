#!/usr/bin/env node
// cairn-asc FILE.ts [-o FILE.wasm] [--names] [--invariants] [--sourceMap]: compiles a contract; with --names the module has the names
// of its functions, with --invariants its invariants as functions. --sourceMap writes FILE.wasm.map beside it.
import { parseArgs } from "node:util";
import { writeFile } from "node:fs/promises";
import { compile } from "../transform/compile.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: "string", short: "o" },
    names: { type: "boolean" },
    invariants: { type: "boolean" },
    sourceMap: { type: "boolean" },
  },
});
if (positionals.length !== 1) {
  console.error("usage: cairn-asc FILE.ts [-o FILE.wasm] [--names] [--invariants] [--sourceMap]");
  process.exit(2);
}
try {
  let map;
  const code = await compile(positionals[0], { ...values, sourceMap: values.sourceMap && ((text) => (map = text)) });
  const output = values.output ?? positionals[0].replace(/\.ts$/, "") + ".wasm";
  await writeFile(output, code);
  if (map !== undefined) await writeFile(`${output}.map`, map);
  console.log(`${output}: ${code.length} bytes`);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
