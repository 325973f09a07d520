import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FileStore } from "cairn-sdk/node";
import { SenderError, type Entry } from "cairn-sdk/sender";
import { directory } from "./node.js";

const scope = { genesis: `0x${"11".repeat(32)}`, account: `0x${"22".repeat(32)}` } as const;
const refused = (id: string): Entry => ({ type: "refused", id, reason: "x" });
const isError = (reason: string) => (e: unknown): boolean => e instanceof SenderError && e.reason === reason;

async function written(path: string, batches: Entry[][]): Promise<void> {
  const store = new FileStore(path);
  await store.open(scope);
  for (const batch of batches) await store.append(batch);
  await store.close();
}

async function read(path: string): Promise<string[]> {
  const store = new FileStore(path);
  try {
    return (await store.open(scope)).map((e) => e.id);
  } finally {
    await store.close();
  }
}

test("a journal is read as it was written, and its lock goes", async (t) => {
  const path = join(directory(t), "journal");
  await written(path, [[refused("a"), refused("b")], [refused("é\n")]]);
  assert.deepEqual(await read(path), ["a", "b", "é\n"]);
  await written(path, [[refused("c")]]);
  assert.deepEqual(await read(path), ["a", "b", "é\n", "c"]);
  assert.deepEqual(readdirSync(join(path, "..")), ["journal"]);
});

test("wherever the last append is torn, the others stand and the next follows them", async (t) => {
  const path = join(directory(t), "journal");
  await written(path, [[refused("a")]]);
  const whole = readFileSync(path).length;
  await written(path, [[refused("b"), refused("c")]]);
  const bytes = readFileSync(path);
  for (let length = whole; length < bytes.length; length++) {
    writeFileSync(path, bytes.subarray(0, length));
    assert.deepEqual(await read(path), ["a"], `cut at ${length}`);
    await written(path, [[refused("d")]]);
    assert.deepEqual(await read(path), ["a", "d"]);
  }
  writeFileSync(path, bytes);
  truncateSync(path, bytes.length - 8);
  appendFileSync(path, "garbage\n");
  assert.deepEqual(await read(path), ["a"]);
});

test("damage before the last line, another account and another format are refused", async (t) => {
  const path = join(directory(t), "journal");
  await written(path, [[refused("a")], [refused("b")]]);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace('"a"', '"x"'));
  await assert.rejects(read(path), isError("bad_journal"));
  writeFileSync(path, text);
  await assert.rejects(new FileStore(path).open({ ...scope, account: scope.genesis }), isError("other_scope"));
  assert.equal(existsSync(`${path}.lock`), false);
  assert.deepEqual(await read(path), ["a", "b"]);
});

test("a journal is one process's, until that is gone", async (t) => {
  const path = join(directory(t), "journal");
  const store = new FileStore(path);
  await store.open(scope);
  await assert.rejects(new FileStore(path).open(scope), isError("locked"));
  await assert.rejects(store.open(scope), isError("locked"));
  await store.close();
  await assert.rejects(store.append([refused("a")]), isError("closed"));
  const gone = spawnSync("true").pid;
  for (const holder of [`${gone} 1\n`, `${process.pid} 1\n`, "\n"]) {
    writeFileSync(`${path}.lock`, holder);
    assert.deepEqual(await read(path), []);
  }
  assert.deepEqual(readdirSync(join(path, "..")), ["journal"]);
});
