import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * The size that each entry may add to a page, minified and compressed with gzip, in bytes. The README has the same
 * table.
 */
const budgets = { ".": 31_000, "./keys": 40_000, "./signers": 36_000, "./verify": 30_000, "./sender": 8_000, "./view": 36_000, "./proofs": 2_000 };

/** size returns the size of a program bundled for browsers. It fails if the bundle needs a module of Node.js. */
async function size(program: string): Promise<number> {
  const stdin = { contents: program, resolveDir: new URL("..", import.meta.url).pathname };
  const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", platform: "browser", write: false, logLevel: "silent" });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

for (const [entry, budget] of Object.entries(budgets)) {
  test(`${entry} is within its size, and needs nothing of Node.js`, async (t) => {
    const core = 'export * from "@cairn-chain/sdk";';
    const added = entry === "./sender" // the code that it shares with the client counts there
      ? (await size(`${core} export * from "@cairn-chain/sdk/sender"`)) - (await size(core))
      : await size(`export * from "@cairn-chain/sdk${entry.slice(1)}"`);
    t.diagnostic(`${entry}: ${(added / 1000).toFixed(1)} KB of ${budget / 1000}`);
    assert.ok(added <= budget, `${added} bytes are over ${budget}`);
  });
}

test("one function of an entry brings not all of it", async () => {
  const one = await size('export { parseCoins } from "@cairn-chain/sdk"');
  assert.ok(one < 1_500, `${one} bytes`);
});
