#!/usr/bin/env node
// cairn-test [FILE.ts]: compiles a contract (assembly/index.ts) and runs its tests (test/*.test.mjs), which find the module
// by built() of @cairn-chain/contract/testing.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../transform/compile.mjs";

try {
  const code = await compile(process.argv[2] ?? "assembly/index.ts");
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.mjs")).map((name) => join("test", name));
  if (tests.length === 0) throw new Error("there is no test/*.test.mjs");
  const directory = await mkdtemp(join(tmpdir(), "cairn-test-"));
  try {
    const module = join(directory, "contract.wasm");
    await writeFile(module, code);
    const env = { ...process.env, CAIRN_TEST_MODULE: module };
    process.exitCode = spawnSync(process.execPath, ["--test", ...tests], { stdio: "inherit", env }).status ?? 1;
  } finally {
    await rm(directory, { recursive: true });
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
