// Tests of the sender beyond scripts of answers: its waiting times, the size of its requests, and the journals that it
// refuses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, createClient, decodeSigned, decodeTransaction, fromHex, signTransaction, toHex, type Account, type Action } from "@cairn-chain/sdk";
import { MemoryStore, SenderError, createSender, type Entry, type Time } from "@cairn-chain/sdk/sender";
import { blankSigner } from "./signer.js";
import { digestOf } from "../dist/sender/job.js";

const account: Account = `0x${"aa".repeat(32)}`;
const signer = blankSigner(account);
const prices = { base_fee: "0xa", suggested_priority_fee: "0x1", suggested_max_fee: "0x15" };
const transfer: Action = { type: "transfer", to: `0x${"01".repeat(32)}`, value: 5n };

interface Call {
  id: number;
  method: string;
  params: any[];
}

/**
 * node answers like a healthy node without blocks, except for the calls that more answers. `sizes` has the number of
 * calls of each request.
 */
function node(more: (call: Call, calls: Call[]) => unknown = () => undefined): { client: ReturnType<typeof createClient>; sizes: number[] } {
  const sizes: number[] = [];
  const usual: Record<string, unknown> = {
    svc_chainId: "0x7", svc_getNodeInfo: { genesis_hash: `0x${"00".repeat(32)}` }, svc_getTransactionCount: "0x0",
    svc_getPendingTransactions: [], svc_blockNumber: "0x7", svc_gasPrice: prices, svc_estimateGas: "0x5208", svc_getTransactionReceipt: null,
  };
  const fetch = async (_: unknown, init: RequestInit): Promise<Response> => {
    const body = JSON.parse(init.body as string) as Call | Call[];
    const calls = Array.isArray(body) ? body : [body];
    sizes.push(calls.length);
    const answers: object[] = [];
    for (const call of calls) {
      const said = more(call, calls);
      if (said instanceof Response) return said;
      const result = said ?? (call.method === "svc_sendRawTransaction" ? decodeSigned(fromHex(call.params[0])).hash : usual[call.method]);
      answers.push({ id: call.id, ...(typeof result === "object" && result !== null && "code" in result ? { error: result } : { result }) });
    }
    return new Response(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  };
  return { client: createClient("http://node", { fetch: fetch as typeof globalThis.fetch }), sizes };
}

/** clock is a time that passes only when the sender sleeps; `slept` has the duration of each sleep. */
function clock(): Time & { slept: number[] } {
  let now = 1_000_000;
  const slept: number[] = [];
  return { slept, now: () => now, sleep: async (milliseconds, woken) => {
    await new Promise(setImmediate);
    if (milliseconds === Infinity) return woken;
    slept.push(milliseconds);
    now += Math.ceil(milliseconds);
  } };
}

test("a node is believed that asks to wait, up to an hour, and never to ask without a pause", async () => {
  for (const [after, want] of [["999999999", 3_600_000], ["7", 7000], ["0", 200]] as const) {
    let failures = 0;
    const { client } = node(({ method }) => {
      const fails = method === "svc_gasPrice" && failures++ === 0;
      return fails ? new Response("", { status: 429, headers: { "Retry-After": after } }) : undefined;
    });
    const time = clock();
    const sender = await createSender(client, signer, { time });
    await sender.send(transfer).accepted;
    assert.ok(time.slept.includes(want), `${after}: ${time.slept}`);
    await sender.close();
  }
  for (const [after, want] of [[1e300, 1000], [999999999, 3_600_000], [-5, 1000], ["9", 1000], [3, 3000]] as const) {
    const posted: number[] = [];
    const time = clock();
    const { client } = node(({ method }) => {
      if (method !== "svc_sendRawTransaction") return undefined;
      posted.push(time.now());
      return posted.length === 1 ? { code: -32000, message: "full", data: { reason: "mempool_full", retryAfterSeconds: after } } : undefined;
    });
    const sender = await createSender(client, signer, { time, poll: 10_000_000 });
    await sender.send(transfer).accepted;
    const waited = posted[1]! - posted[0]!;
    assert.ok(waited >= want && waited < want + 31_000, `${after}: ${waited}`); // it also resyncs
    await sender.close();
  }
});

test("what is sent again goes in requests that a node takes", async () => {
  const sent: number[] = [];
  let away = true;
  const { client } = node(({ method }, calls) => {
    if (method !== "svc_sendRawTransaction") return undefined;
    if (!away) return void sent.push(calls.reduce((sum, { params }) => sum + params[0].length, 0));
    away = sent.push(0) < 2; // the second request gets no answer either
    return new Response("", { status: 503 });
  });
  const sender = await createSender(client, signer, { time: clock() });
  const deploy = (n: number): Action => ({ type: "deploy", value: 0n, name: `c${n}`, code: new Uint8Array(200_000), initArgs: new Uint8Array() });
  await Promise.all(Array.from({ length: 20 }, (_, n) => sender.send(deploy(n), { gasLimit: 21000n }).accepted));
  assert.ok(Math.max(...sent) < 2 * (2 << 20), `${sent} digits in a request`);
  await sender.close();
});

/** journal returns a sender's entries for jobs at the first nonces, with the given number of versions each. */
async function journal(jobs: number, versions: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let i = 0; i < jobs; i++) {
    for (let v = 0; v < versions; v++) {
      const fee = BigInt(100 + 20 * v);
      const tx = { ...contentOf(transfer), chainId: 7n, sender: account, nonce: BigInt(i), gasLimit: 10_000n, payer: null, validUntil: null };
      const { raw, hash } = await signTransaction({ ...tx, maxFeePerGas: fee, maxPriorityFeePerGas: 1n }, signer);
      const what = { id: `job ${i}`, nonce: String(i), raw: toHex(raw), hash };
      entries.push(v === 0 ? { type: "signed", digest: digestOf({ action: transfer }), ...what } : { type: "version", ...what });
    }
  }
  return entries;
}

test("receipts of many versions are asked for in requests that a node takes", async () => {
  const store = new MemoryStore();
  store.entries = await journal(130, 8);
  const last = new Map(store.entries.map((entry) => ("hash" in entry ? [entry.id, entry.hash] : [entry.id, entry.id])));
  const { client, sizes } = node(({ method, params }) => {
    if (method === "svc_getTransactionCount") return "0x82";
    if (method !== "svc_getTransactionReceipt" || ![...last.values()].includes(params[0])) return undefined;
    return { transactionHash: params[0], blockHeight: 7, status: "0x1" };
  });
  const sender = await createSender(client, signer, { store, time: clock() });
  const receipts = await Promise.all([...last.keys()].map((id) => sender.send(transfer, { id }).receipt));
  assert.equal(receipts.length, 130);
  assert.ok(Math.max(...sizes) <= 256, `${sizes} calls`);
  await sender.close();
});

type Version = Extract<Entry, { raw: unknown }>;

test("a journal that no sender wrote is refused", async () => {
  const [signed, version] = (await journal(1, 2)) as Extract<Entry, { raw: unknown }>[] as [Version, Version];
  const elsewhere = decodeTransaction(fromHex(version.raw));
  const moved = await signTransaction({ ...elsewhere, nonce: 5n }, signer);
  const bad: Record<string, unknown[]> = {
    "another hash": [{ ...signed, hash: version.hash }], "no transaction": [{ ...signed, raw: "0x01" }], "no hex": [{ ...signed, raw: "raw" }],
    "two nonces": [signed, { ...version, raw: toHex(moved.raw), hash: moved.hash }], "a version of nothing": [version],
    "another type": [{ ...signed, type: "later" }], "done without a status": [{ type: "done", id: "a", digest: digestOf({ action: transfer }), hash: signed.hash, height: 1 }],
  };
  for (const [what, entries] of Object.entries(bad)) {
    let closed = false;
    const store = new (class extends MemoryStore {
      override close = async (): Promise<void> => void (closed = true);
    })();
    store.entries = entries as Entry[];
    await assert.rejects(createSender(node().client, signer, { store, time: clock() }), (error) => {
      return error instanceof SenderError && error.reason === "bad_journal";
    }, what);
    assert.ok(closed, `${what}: the journal is left to others`);
  }
});

test("a margin is added to what the node estimates, and to nothing else", async () => {
  const call: Action = { type: "call", value: 0n, contract: account, function: "f", args: new Uint8Array() };
  const limits: bigint[] = [];
  const { client } = node((c) => {
    if (c.method === "svc_sendRawTransaction") limits.push(decodeTransaction(fromHex(c.params[0])).gasLimit);
    return undefined;
  });
  const sender = await createSender(client, signer, { time: clock() });
  await sender.send(call, { gasMargin: 4_000n }).accepted;
  await sender.send(call, { gasLimit: 30_000n, gasMargin: 4_000n }).accepted;
  await sender.send(call, {}).accepted;
  assert.deepEqual(limits, [25_000n, 30_000n, 21_000n]);
  await sender.close();
});
