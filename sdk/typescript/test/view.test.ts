import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { CodecError, contractId, fromHex, toHex, type Account, type Client, type Hex, type rpc } from "@cairn-chain/sdk";
import { createSender } from "@cairn-chain/sdk/sender";
import { IncompleteError, UnansweredError, VerifyError, execute, readView, verified, verifyView, type Question, type Trust } from "@cairn-chain/sdk/view";
import { workerRunner, type WorkerLike } from "@cairn-chain/sdk/view/worker";
import { hashBytes, leaf, node as nodeDigest, permute, roundConstants } from "../dist/poseidon.js";
import { witnessRoot } from "../dist/view/witness.js";
import { devKey, startNode } from "./node.js";
import { random, vectors } from "./vectors.js";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const repository = new URL("../../../", import.meta.url);
const tokenCode = new Uint8Array(readFileSync(new URL("contracts/wasm/nep20.wasm", repository)));

/** start runs a worker of Node.js with the interface of a page's worker. */
function start(): WorkerLike {
  const worker = new Worker(new URL("viewworker.js", import.meta.url));
  const like: WorkerLike = { postMessage: (m) => worker.postMessage(m), terminate: () => void worker.terminate(), onmessage: null, onerror: null };
  worker.on("message", (data) => like.onmessage?.({ data }));
  worker.on("error", (error) => like.onerror?.(error));
  return like;
}

const vector = (digest: Uint32Array): string => toHex(new Uint8Array([...digest].flatMap((e) => [e >>> 24, e >>> 16, e >>> 8, e])));

test("Poseidon is that of the vectors", () => {
  const constants = Buffer.alloc(4 * 448);
  roundConstants().forEach((c, i) => constants.writeUInt32LE(c, 4 * i));
  assert.equal(constants.toString("hex"), vectors.poseidon.constants_as_little_endian_u32);
  const state = Uint32Array.from({ length: 16 }, (_, i) => i);
  const [left, right] = [state.slice(0, 8), state.slice(8)];
  assert.equal(vector(nodeDigest(left, right)), "0x245d3e7537bfd94370da00fe2f7e158a153e4ff420ea7ab203494962486d04d3");
  assert.equal(vector(leaf(left, right)), "0x233f26f877397ef52ac81ce33baa22b85c7e12d23b0ece05427b62825aa91d20");
  permute(state);
  assert.deepEqual([...state.subarray(0, 4)], [610090613, 935319874, 1893335292, 796792199]);
  assert.equal(vector(hashBytes(2, new Uint8Array())), "0x106e155643318e2f0dd4149d7ef724d6692030fc33c7dff366d1699c6840d31f");
  assert.equal(vector(hashBytes(2, Uint8Array.from({ length: 256 }, (_, i) => i))), "0x3894b9ca7cde9129017146a040cc52fd453643f80a5b6c03456164205f55f2ca");
  assert.equal(vector(hashBytes(1, Uint8Array.of(1, ...new Uint8Array(32).fill(17)))), "0x0843b49b52a7d2dd3944c4595513f99223c57e937cbc9fe46f8ff2973b7a202c");
});

test("witnesses of the vectors hold, and the changed ones do not", () => {
  const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");
  for (const v of vectors.state_witnesses) {
    const values = v.values.map((r: { key: string; value: string }) => ({ key: bytes(r.key), value: r.value === "" ? undefined : bytes(r.value) }));
    let root: Uint8Array | undefined;
    try {
      root = witnessRoot(bytes(v.witness), values);
    } catch (error) {
      assert.ok(error instanceof CodecError, v.about);
    }
    assert.equal(root !== undefined && Buffer.from(root).toString("hex") === v.root, v.holds, v.about);
  }
  assert.ok(vectors.state_witnesses.length > 20);
});

async function withToken(client: Client): Promise<{ token: Account; trust: Trust }> {
  const key = devKey(0);
  const sender = await createSender(client, key, { poll: 20 });
  const initArgs = text('{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}');
  const deployed = await sender.send({ type: "deploy", value: 0n, name: "Gold", code: tokenCode, initArgs }).receipt;
  const token = contractId(key.account, 0n);
  const args = text(`{"to":"${devKey(1).account}","amount":150}`);
  const sent = await sender.send({ type: "call", value: 0n, contract: token, function: "transfer", args }).receipt;
  assert.deepEqual([deployed.status, sent.status], [1n, 1n]);
  await sender.close();
  const parameters = await client.call("svc_getParameters");
  return { token, trust: { chainId: 31337n, network: "regtest", producer: parameters.producer } };
}

test("a view call is made here on what a real node proves, and lies are refused one by one", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  const { token, trust } = await withToken(client);
  const asked = (name: string, args = ""): Question => ({ contract: token, function: name, args: text(args) });
  const balanceOf = (account: string): Question => asked("balanceOf", `{"address":"${account}"}`);
  const runner = workerRunner(start, 20_000);
  for (const question of [
    balanceOf(devKey(0).account), balanceOf(devKey(1).account), balanceOf(`0x${"09".repeat(32)}`),
    asked("symbol"), asked("name"), asked("decimals"), asked("totalSupply"),
  ]) {
    const view = await readView(client, trust, question, runner);
    const node = await client.call("svc_viewCall", token, question.function, toHex(question.args), Number(view.header.height));
    assert.deepEqual([view.outcome, toHex(view.data)], ["success", node]);
  }
  const gold = verified({
    functions: [
      { name: "balanceOf", mode: "read", args: [{ name: "address", type: "account" }], returns: "u64" },
      { name: "symbol", mode: "read", args: [], returns: "string" },
    ],
    events: [],
  } as const, token, client, trust, runner);
  const balance: bigint = (await gold.balanceOf({ address: devKey(1).account })).value;
  assert.deepEqual([balance, (await gold.symbol()).value], [150n, "GLD"]);
  const outcome = async (question: Question): Promise<string> => (await readView(client, trust, question, runner)).outcome;
  assert.equal(await outcome(asked("nothing")), "no_such_function");
  assert.equal(await outcome(asked("init")), "no_such_function");
  assert.equal(await outcome(asked("balanceOf", "{}")), "reverted");
  assert.equal(await outcome(asked("transfer", `{"to":"${devKey(1).account}","amount":0}`)), "view_wrote_state");
  assert.equal(await outcome({ ...asked("symbol"), contract: devKey(1).account }), "no_such_contract");
  assert.equal(await outcome({ ...asked("symbol"), codes: [tokenCode] }), "success");

  const question = balanceOf(devKey(1).account);
  const get = (q: Question): Promise<rpc.ViewProof> => client.call("svc_getViewProof", q.contract, q.function, toHex(q.args));
  const honest = await get(question);
  const height = verifyView(trust, question, honest).header.height;
  const early = await client.call("svc_getViewProof", token, "symbol", "0x", 1);
  const stored = honest.values.findIndex(({ key }) => key.startsWith("0x03"));
  const flip = (hex: Hex, at: number): Hex => toHex(fromHex(hex).map((b, i) => (i === at ? b ^ 1 : b)));
  const put = (change: (v: rpc.ViewValue) => rpc.ViewValue): Partial<rpc.ViewProof> => {
    return { values: honest.values.map((v, i) => (i === stored ? change(v) : v)) };
  };
  const other = await get(balanceOf(devKey(0).account));
  const lies: [string, string, Partial<rpc.ViewProof>, Partial<Question & Trust>?][] = [
    ["a key missing", "witness", { values: honest.values.filter((_, i) => i !== stored) }],
    ["a key too many", "witness", { values: [...honest.values, { key: `0x03${"ff".repeat(40)}`, value: null }] }],
    ["a value changed", "witness", put((v) => ({ ...v, value: flip(v.value!, 0) }))],
    ["a value absent", "witness", put((v) => ({ ...v, value: null }))],
    ["an empty value", "witness", put((v) => ({ ...v, value: "0x" }))],
    ["another key", "witness", put((v) => ({ ...v, key: flip(v.key, 40) }))],
    ["keys in another order", "witness", { values: [...honest.values].reverse() }],
    ["another header", "header", { header: flip(honest.header, 200) }],
    ["another signature", "header", { header: flip(honest.header, 270) }],
    ["another producer", "header", {}, { producer: devKey(5).account }],
    ["another chain", "header", {}, { chainId: 1n }],
    ["another block's header", "witness", { header: early.header }],
    ["another height", "height", {}, { height: height + 1n }],
    ["an old height", "height", {}, { atLeast: height + 1n }],
    ["a witness cut short", "witness", { witness: honest.witness.slice(0, -2) as Hex }],
    ["a witness without its last digest", "witness", { witness: honest.witness.slice(0, -64) as Hex }],
    ["a longer witness", "witness", { witness: `${honest.witness}00` }],
    ["a witness that is too long", "size", { witness: `0x${"00".repeat(2 ** 20 + 1)}` }],
    ["another witness", "witness", { witness: other.witness }],
    ["no witness", "witness", { witness: "0x" }],
    ["another code", "execute", { codes: [flip(honest.codes[0]!, 100)] }],
    ["no code", "execute", { codes: [] }],
    ["a code too many", "execute", { codes: [...honest.codes, "0x00"] }],
    ["a code twice", "code", { codes: [...honest.codes, ...honest.codes] }],
    ["a code that is too long", "size", { codes: [`0x${"00".repeat(262_145)}`] }],
    ["too many codes", "size", { codes: Array<Hex>(9).fill("0x") }],
    ["too many keys", "size", { values: Array(1025).fill(honest.values[0]) }],
    ["another contract", "execute", {}, { contract: devKey(2).account }],
    ["another call", "execute", other],
    ["no hex", "size", { witness: "0xzz" }],
  ];
  for (const [name, step, lie, change] of lies) {
    const forged = { call: async () => ({ ...honest, ...lie }) } as unknown as Client;
    const here = { run: async (verified: Parameters<typeof execute>[0]) => execute(verified) };
    const refused = readView(forged, { ...trust, ...change }, { ...question, ...change }, here);
    await assert.rejects(refused, (e) => e instanceof VerifyError && e.step === step, `${name} is to be refused by ${step}`);
  }
  const next = random(9);
  const parts = [honest.header, honest.witness, ...honest.values.flatMap((v) => (v.value === null ? [v.key] : [v.key, v.value]))];
  for (let i = 0; i < 300; i++) {
    const part = next(parts.length);
    const hex = parts[part]!;
    const bit = next(8);
    const at = next((hex.length - 2) / 2);
    const forged = toHex(fromHex(hex).map((b, k) => (k === at ? b ^ (1 << bit) : b)));
    const changed = JSON.parse(JSON.stringify(honest), (_, value) => (value === hex ? forged : value));
    // The same witness may prove a second absent key near the first, although the call does not read it.
    assert.throws(() => execute(verifyView(trust, question, changed)), (e) => e instanceof VerifyError || e instanceof IncompleteError);
  }
});

/** loops is a contract whose function spin never ends, and whose function grow takes all memory that it gets. */
function loops(): Uint8Array {
  const bytes = (...parts: (number | string)[]): number[] => parts.flatMap((p) => (typeof p === "number" ? [p] : [p.length, ...text(p)]));
  const section = (id: number, ...content: number[]): number[] => [id, content.length, ...content];
  const grow = [0x03, 0x40, 0x41, 1, 0x40, 0x00, 0x41, 0x7f, 0x47, 0x0d, 0, 0x0b, 0x41, 0, 0x3f, 0x00, 0x36, 2, 0, 0x41, 0, 0x41, 4, 0x10, 0, 0x0b];
  const bodies = [[0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b], [0, ...grow]];
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, 2, 0x60, 0, 0, 0x60, 2, 0x7f, 0x7f, 0),
    ...section(2, 1, ...bytes("cairn", "return_data"), 0, 1),
    ...section(3, 2, 0, 0),
    ...section(5, 1, 0, 1), // no maximum: the chain's limit is 16 pages
    ...section(7, 3, ...bytes("memory"), 2, 0, ...bytes("spin"), 0, 1, ...bytes("grow"), 0, 2),
    ...section(10, 2, ...bodies.flatMap((b) => [b.length, ...b])),
  ]);
}

test("a call that never ends is ended, and memory is bounded as on the chain", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  const { trust } = await withToken(client);
  const sender = await createSender(client, devKey(1), { poll: 20 });
  assert.equal((await sender.send({ type: "deploy", value: 0n, name: "loops", code: loops(), initArgs: new Uint8Array() }).receipt).status, 1n);
  await sender.close();
  const contract = contractId(devKey(1).account, 0n);
  const grown = await readView(client, trust, { contract, function: "grow", args: new Uint8Array() }, workerRunner(start, 20_000));
  assert.deepEqual([...grown.data], [16, 0, 0, 0]);
  assert.equal(await client.call("svc_viewCall", contract, "grow"), toHex(grown.data));
  // The node cannot prove an endless call, so the proof of another function is used.
  const honest = await client.call("svc_getViewProof", contract, "grow");
  const forged = { call: async () => honest } as unknown as Client;
  const spinning = readView(forged, trust, { contract, function: "spin", args: new Uint8Array() }, workerRunner(start, 300));
  await assert.rejects(spinning, (e) => e instanceof UnansweredError && e.reason === "resource");
});
