// The README's programs run as they are printed, one after the other.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { transformSync } from "esbuild";
import { directory, startNode } from "./node.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const said = [/^paid in block \d+; they have 10001\.5 coins\n$/, /^(100[12] paid 0x[0-9a-f]{64}\n){3}$/, /^true true\nthere is no such block yet\n$/, /^call\n$/, /^block 1\nblock 2\n$/];

test("the README's programs run", async (t) => {
  const { url } = await startNode(t, "--block-time", "100ms");
  const programs = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => match[1]!);
  assert.equal(programs.length, said.length);
  for (const [i, program] of programs.entries()) {
    const file = new URL(`readme-${i}.mjs`, import.meta.url); // within the package, which it imports by its name
    writeFileSync(file, transformSync(program, { loader: "ts", format: "esm", target: "es2022" }).code);
    const ran = spawnSync(process.execPath, [file.pathname, url, join(directory(t), "journal")], { encoding: "utf8" });
    assert.equal(ran.stderr, "");
    assert.match(ran.stdout, said[i]!);
  }
});
