#!/usr/bin/env node
// cairn-asc FILE.ts [-o FILE.wasm]: compiles a contract.
import { parseArgs } from "node:util";
import { writeFile } from "node:fs/promises";
import { compile } from "../transform/compile.mjs";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { output: { type: "string", short: "o" } } });
if (positionals.length !== 1) {
  console.error("usage: cairn-asc FILE.ts [-o FILE.wasm]");
  process.exit(2);
}
try {
  const code = await compile(positionals[0]);
  const output = values.output ?? positionals[0].replace(/\.ts$/, "") + ".wasm";
  await writeFile(output, code);
  console.log(`${output}: ${code.length} bytes`);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
