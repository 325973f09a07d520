import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FileStore } from "@cairn-chain/sdk/node";
import { SenderError, type Entry } from "@cairn-chain/sdk/sender";
import { directory } from "./node.js";
import { random } from "./vectors.js";

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
  appendFileSync(path, "\0\0\0\0\0\0\0\n"); // a line after a loss of power
  assert.deepEqual(await read(path), ["a"]);
});

test("a journal is written anew in one step, and the next append follows", async (t) => {
  const path = join(directory(t), "journal");
  await written(path, [[refused("a"), refused("b")], [refused("c")]]);
  const old = readFileSync(path);
  const store = new FileStore(path);
  await store.open(scope);
  await store.replace([refused("c"), refused("é\n")]);
  await store.append([refused("d")]);
  await store.close();
  await assert.rejects(store.replace([]), isError("closed"));
  const anew = readFileSync(path);
  assert.deepEqual(await read(path), ["c", "é\n", "d"]);
  assert.deepEqual(readdirSync(join(path, "..")), ["journal"]);
  for (let length = 0; length <= anew.length; length++) { // cut at every position
    writeFileSync(path, old);
    writeFileSync(`${path}.new`, anew.subarray(0, length));
    assert.deepEqual(await read(path), ["a", "b", "c"], `cut at ${length}`);
  }
  const next = new FileStore(path);
  await next.open(scope);
  await next.replace([refused("e")]);
  await next.close();
  assert.deepEqual(await read(path), ["e"]);
  assert.deepEqual(readdirSync(join(path, "..")), ["journal"]);
});

test("who is killed while a journal is written anew loses nothing", async (t) => {
  const path = join(directory(t), "journal");
  const program = new URL("rewriter.js", import.meta.url).pathname;
  const next = random(5);
  let [last, rewritten] = [0, 0];
  for (let kill = 0; kill < Number(process.env["KILLS"] ?? 10); kill++) {
    const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
    let [text, steps] = ["", 1 + next(8)];
    child.stdout.on("data", (data: Buffer) => {
      text += data.toString();
      if (text.split("\n").length > steps) child.kill("SIGKILL");
    });
    await new Promise((resolve) => child.once("close", resolve));
    assert.equal(child.signalCode, "SIGKILL");
    const told = [...text.matchAll(/^(\d+)$/gm)].map(([number]) => Number(number));
    rewritten += text.match(/^anew$/gm)?.length ?? 0;
    last = Math.max(last, ...told);
    const numbers = (await read(path)).map(Number);
    const newest = numbers[numbers.length - 1] ?? 0;
    assert.deepEqual(numbers, Array.from(numbers, (_, i) => numbers[0]! + i), "nothing is missing within");
    assert.ok(newest >= last, `${last} was told as written, and the journal ends with ${newest}`);
    assert.ok(newest < 5000 || numbers.length >= 5000, `${numbers.length} are there, and 5000 are always kept`);
    last = newest;
  }
  assert.ok(rewritten > 0);
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

test("a flipped bit of any byte is told, and costs the line that it is in and no other", async (t) => {
  const path = join(directory(t), "journal");
  const ids = ["a", "b", "c"];
  await written(path, ids.map((id) => [refused(id)]));
  const text = readFileSync(path);
  for (let at = 0; at < text.length; at++) {
    if (text[at] === 10 || (text[at]! ^ 4) === 10) continue; // joins two lines, or splits one
    const changed = Buffer.from(text);
    changed[at]! ^= 4;
    writeFileSync(path, changed);
    const hit = text.subarray(0, at).filter((byte) => byte === 10).length; // 0: the first line, which has the scope
    await assert.rejects(read(path), isError("bad_journal"), `byte ${at}`);
    const damage = await new FileStore(path).salvage(scope);
    assert.deepEqual(damage?.lines, [hit + 1], `byte ${at}`);
    assert.deepEqual(await read(path), ids.filter((_, i) => i !== hit - 1), `byte ${at}`);
    assert.equal(await new FileStore(path).salvage(scope), undefined);
  }
  assert.ok(readFileSync(`${path}.damaged`).length > text.length);
});

test("a salvaged journal names the jobs that it lost, and the versions go with their beginning", async (t) => {
  const path = join(directory(t), "journal");
  const [raw, hash, digest] = ["0x00", `0x${"00".repeat(32)}`, `0x${"00".repeat(32)}`] as const;
  await written(path, [
    [{ type: "signed", id: "lost", digest, nonce: "0", raw, hash }],
    [refused("kept")],
    [{ type: "version", id: "lost", nonce: "0", raw, hash }],
    [{ type: "signed", id: 'also "lost"', digest, nonce: "1", raw, hash }],
  ]);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll('"type":"signed"', '"type":"Signed"'));
  const damage = await new FileStore(path).salvage(scope);
  assert.deepEqual(damage, { lines: [2, 5], ids: ["lost", 'also "lost"'] });
  assert.deepEqual(await read(path), ["kept"]);
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
