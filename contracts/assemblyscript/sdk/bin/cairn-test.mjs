#!/usr/bin/env node
// cairn-test [FILE.ts]: compiles a contract (assembly/index.ts) to build/contract.wasm and runs its tests (test/*.test.mjs).
import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { compile } from "../transform/compile.mjs";

try {
  const code = await compile(process.argv[2] ?? "assembly/index.ts");
  await mkdir("build", { recursive: true });
  await writeFile("build/contract.wasm", code);
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.mjs")).map((name) => `test/${name}`);
  if (tests.length === 0) throw new Error("there is no test/*.test.mjs");
  process.exitCode = spawnSync(process.execPath, ["--test", ...tests], { stdio: "inherit" }).status ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
