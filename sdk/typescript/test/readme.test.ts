// The programs of the README and of the tutorial run exactly as printed, one after the other.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { transformSync } from "esbuild";
import { directory, startNode } from "./node.js";

const readme = read("../README.md");
const tutorial = read("../../../docs/tutorials/typescript.md");
const printed = /^It prints:\n\n```text\n(.*?)^```/ms.exec(tutorial)![1]!;
const said = [/^paid in block \d+; they have 10001\.5 coins\n$/, /^true\n$/, /^(100[12] paid 0x[0-9a-f]{64}\n){3}$/, /^true true\nthere is no such block yet\n$/, /^call\n$/, /^block 1\nblock 2\n$/];

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), "utf8");
}

const programsOf = (page: string): string[] => [...page.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => match[1]!);

test("the tutorial's program prints what the page says", async (t) => {
  const { url } = await startNode(t, "--block-time", "100ms");
  const programs = programsOf(tutorial);
  assert.equal(programs.length, 1);
  const file = new URL("tutorial.mjs", import.meta.url);
  writeFileSync(file, transformSync(programs[0]!, { loader: "ts", format: "esm", target: "es2022" }).code);
  for (const time of ["first", "second"]) { // at the second run the chain is not new
    const ran = spawnSync(process.execPath, [file.pathname, url], { encoding: "utf8" });
    assert.equal(ran.stderr, "", time);
    assert.equal(ran.stdout, printed, time);
  }
});

test("the README's programs run", async (t) => {
  const { url } = await startNode(t, "--block-time", "100ms");
  const programs = programsOf(readme);
  assert.equal(programs.length, said.length);
  for (const [i, program] of programs.entries()) {
    const file = new URL(`readme-${i}.mjs`, import.meta.url); // inside the package, which the program imports by name
    writeFileSync(file, transformSync(program, { loader: "ts", format: "esm", target: "es2022" }).code);
    const ran = spawnSync(process.execPath, [file.pathname, url, join(directory(t), "journal")], { encoding: "utf8" });
    assert.equal(ran.stderr, "");
    assert.match(ran.stdout, said[i]!);
  }
});
