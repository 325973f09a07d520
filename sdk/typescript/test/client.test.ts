import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { HttpError, ProtocolError, RevertError, RpcError, UnreachableError, createClient, succeeded, type Receipt } from "@cairn-chain/sdk";
import { parseJSON, stringifyJSON } from "../dist/json.js";

/** answering makes a client whose requests a function answers, and records the posted bodies. */
function answering(answer: (body: any) => unknown, options: object = {}): { client: ReturnType<typeof createClient>; posts: any[] } {
  const posts: any[] = [];
  const fetch = async (_: unknown, init: RequestInit): Promise<Response> => {
    const body = JSON.parse(init.body as string);
    posts.push(body);
    const text = answer(body);
    return text instanceof Response ? text : new Response(typeof text === "string" ? text : JSON.stringify(text));
  };
  return { client: createClient("http://node", { ...options, fetch: fetch as typeof globalThis.fetch }), posts };
}

const results = (body: any, result: (call: any) => unknown): unknown => {
  const one = (call: any): object => ({ jsonrpc: "2.0", id: call.id, result: result(call) });
  return Array.isArray(body) ? body.map(one).reverse() : one(body);
};

test("integers of JSON are exact, and texts stay texts", () => {
  const cases: [string, unknown][] = [
    ["18446744073709551615", 18446744073709551615n], ["[9007199254740993,-9007199254740993]", [9007199254740993n, -9007199254740993n]],
    ['{"a":1,"b":"12345678901234567890"}', { a: 1, b: "12345678901234567890" }], ["0.1234567890123456789", 0.1234567890123456789],
    ["1e1234567890123456", Infinity], ["12345678901234567890.5", 12345678901234567890.5],
    [String.raw`["\\","\"12345678901234567890",12345678901234567890]`, ["\\", '"12345678901234567890', 12345678901234567890n]],
  ];
  for (const [text, value] of cases) assert.deepEqual(parseJSON(text), value, text);
  for (const text of ["", "[", '"abc', "0123456789012345678", "[1234567890123456789,]"]) assert.throws(() => parseJSON(text), SyntaxError, text);
  assert.equal(stringifyJSON({ a: 255n, b: 0n, c: 1 }), '{"a":"0xff","b":"0x0","c":1}');
  assert.throws(() => stringifyJSON([1n << 64n]), RangeError);
});

test("calls of one microtask go as one request, each with its own answer", async () => {
  const { client, posts } = answering((body) => results(body, (call) => `0x${call.params[0]}`));
  const wanted = Array.from({ length: 250 }, (_, i) => 100 + i);
  const got = await Promise.all(wanted.map((n) => client.balance(String(n))));
  assert.deepEqual(got, wanted.map((n) => BigInt(`0x${n}`)));
  assert.deepEqual(posts.map((p) => p.length), [100, 100, 50]);
  await client.balance("1");
  assert.equal(Array.isArray(posts[3]), false);
  assert.deepEqual(posts[3].params, ["1", "latest"]);
});

test("an answer that comes twice is refused", async () => {
  const { client } = answering((body) => [body[0], body[0], body[1]].map((call: any) => ({ id: call.id, result: "0x1" })));
  const both = await Promise.allSettled([client.call("svc_chainId"), client.call("svc_blockNumber")]);
  for (const each of both) assert.ok(each.status === "rejected" && each.reason instanceof ProtocolError, JSON.stringify(each));
});

test("a batch has values and errors", async () => {
  const { client } = answering((body) => body.map((call: any) => {
    return call.method === "svc_chainId" ? { id: call.id, result: "0x7a69" } : { id: call.id, error: { code: -32021, message: "pruned", data: { reason: "pruned", oldestHeight: 7 } } };
  }));
  const [chain, balance] = await client.batch((b) => [b.call("svc_chainId"), b.balance("a", 1)]);
  assert.equal(chain, 31337n);
  assert.ok(balance instanceof RpcError && balance.is("pruned"));
  assert.equal(balance.data.oldestHeight, 7);
});

test("a block with too many transactions for one answer comes in pages", async () => {
  const hashes = Array.from({ length: 2500 }, (_, i) => `0x${String(i).padStart(64, "0")}`);
  const node = (all: string[]) => answering((call) => {
    if (call.method === "svc_getBlockTransactions") {
      const [, { from, limit }] = call.params;
      return { id: call.id, result: all.slice(from, from + limit).map((hash) => ({ hash })) };
    }
    if (call.params[1]) return { id: call.id, error: { code: -32040, message: "too large", data: { reason: "response_size" } } };
    return { id: call.id, result: { height: 7, transactions: hashes } };
  });
  const { client, posts } = node(hashes);
  const block = await client.blockWithTransactions(7);
  assert.deepEqual(block?.transactions.map(({ hash }) => hash), hashes);
  assert.equal(posts.length, 5); // the whole block, the hashes, and three pages
  for (const wrong of [hashes.slice(0, -1), [...hashes, hashes[0]!], [...hashes.slice(0, 1500), hashes[0]!, ...hashes.slice(1501)]]) {
    await assert.rejects(node(wrong).client.blockWithTransactions(7), ProtocolError);
  }
});

test("an error of the node is typed, with its amounts", async () => {
  const data = { reason: "cannot_pay", balance: "0x5", needed: "0x6" };
  const { client } = answering((call) => ({ id: call.id, error: { code: -32004, message: "too poor", data } }));
  await assert.rejects(client.call("svc_sendRawTransaction", "0x00"), (e) => {
    assert.ok(e instanceof RpcError && e.code === -32004 && e.method === "svc_sendRawTransaction");
    assert.ok(e.is("cannot_pay") && !e.is("pruned"));
    const { balance, needed }: { balance: bigint; needed: bigint } = e.data;
    assert.deepEqual([balance, needed], [5n, 6n]);
    return true;
  });
});

/** limited answers like a node with a gas limit per request, and counts the calls of each. */
function limited(gas: number, options: object = {}): { client: ReturnType<typeof createClient>; sizes: number[] } {
  const sizes: number[] = [];
  const { client } = answering((body) => {
    const calls = Array.isArray(body) ? body : [body];
    sizes.push(calls.length);
    let left = gas;
    const answers = calls.map((call: any) => {
      const needs = Number(call.params[0]);
      if (needs <= left) {
        left -= needs;
        return { id: call.id, result: `0x${needs.toString(16)}` };
      }
      return { id: call.id, error: { code: -32040, message: "too much", data: { reason: "request_gas", limit: gas } } };
    });
    return Array.isArray(body) ? answers : answers[0];
  }, options);
  return { client, sizes };
}

test("what is refused for a bound of the request is asked again in smaller requests, down to one call", async () => {
  const { client, sizes } = limited(100);
  assert.deepEqual(await Promise.all(["30", "40", "50", "60", "100"].map((n) => client.balance(n))), [30n, 40n, 50n, 60n, 100n]);
  assert.deepEqual(sizes, [5, 3, 2, 1]);
  await assert.rejects(Promise.all(["101", "1"].map((n) => client.balance(n))), (e) => e instanceof RpcError && e.is("request_gas"));
  const calls = [60, 60, 60].map((n) => ({ method: "svc_getBalance", params: [String(n)] }));
  const posted = await client.post(calls);
  assert.deepEqual([...posted], [60n, 60n, 60n], "of a post, too");
  assert.equal(posted.divided, true);
  assert.equal((await client.post(calls.slice(0, 1))).divided, undefined);
});

test("requests that are too long go in parts, also where the node's bound is another", async () => {
  let bound = 5 << 20;
  const sizes: number[] = [];
  const { client } = answering((body) => {
    if (JSON.stringify(body).length > bound) return new Response("", { status: 413 });
    sizes.push(Array.isArray(body) ? body.length : 1);
    return results(body, () => "0x1");
  });
  const long = "0".repeat(600_000);
  assert.deepEqual(await Promise.all(Array.from({ length: 20 }, () => client.balance(long))), Array(20).fill(1n));
  assert.deepEqual(sizes, [3, 3, 3, 3, 3, 3, 2]);
  bound = 1 << 20;
  assert.deepEqual(await Promise.all([client.balance(long), client.balance(long)]), [1n, 1n]);
  assert.deepEqual(sizes.slice(7), [1, 1]);
});

test("reads are asked again while no node answers, and the next node is taken", async () => {
  const asked: string[] = [];
  const options = (fail: (url: string) => unknown, more: object) => ({
    ...more,
    fetch: (async (url: string, init: RequestInit): Promise<Response> => {
      asked.push(url);
      const failure = fail(url);
      if (failure instanceof Response) return failure;
      if (failure) throw failure;
      return new Response(JSON.stringify(results(JSON.parse(init.body as string), () => "0x7")));
    }) as typeof globalThis.fetch,
  });
  const refused = new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
  const broken = new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });

  const away = options((url) => url === "http://a" && refused, { fallback: ["http://b"] });
  const client = createClient("http://a", away);
  assert.equal(await client.call("svc_blockNumber"), 7n);
  assert.equal(await client.call("svc_sendRawTransaction", "0x00"), "0x7");
  assert.deepEqual(asked.splice(0), ["http://a", "http://b", "http://b"]);

  let failures = 2;
  const restarting = createClient("http://a", options(() => failures-- > 0 && broken, {}));
  assert.equal(await restarting.call("svc_blockNumber"), 7n);
  assert.equal(asked.splice(0).length, 3);

  failures = 1;
  await assert.rejects(restarting.call("svc_sendRawTransaction", "0x00"), UnreachableError, "what may have arrived is not sent again");
  failures = 1;
  const send = createClient("http://a", options(() => failures-- > 0 && refused, {}));
  assert.equal(await send.call("svc_sendRawTransaction", "0x00"), "0x7", "what did not arrive is sent again");
  asked.splice(0);

  const once = createClient("http://a", options(() => refused, { retry: 0 }));
  await assert.rejects(once.call("svc_blockNumber"), /http:\/\/a: the node cannot be reached: is it running there/);
  const later = options(() => new Response("", { status: 429, headers: { "Retry-After": "60" } }), {});
  await assert.rejects(createClient("http://a", later).call("svc_blockNumber"), (e) => e instanceof HttpError && e.retryAfter === 60);
  assert.equal(asked.length, 2, "a node that asks for longer than that is not asked again");
});

test("a signal ends calls, and the pauses between them", async () => {
  const stop = new AbortController();
  const { client } = answering(() => {
    queueMicrotask(() => stop.abort(new Error("enough")));
    return new Response("", { status: 503 });
  });
  await assert.rejects(client.with({ signal: stop.signal }).call("svc_blockNumber"), /enough/);
});

test("a transaction whose nonce another has used is not waited for", async () => {
  const [hash, by, from] = [`0x${"aa".repeat(32)}`, `0x${"bb".repeat(32)}`, `0x${"22".repeat(32)}`] as const;
  const { client } = answering((body) => results(body, ({ method }) => {
    if (method === "svc_getTransactionCount") return "0x1";
    if (method === "svc_getTransactionByNonce") return transaction(by, from);
    return null;
  }));
  await assert.rejects(client.receipt(hash, { sender: from, nonce: 0n }), (e) => {
    assert.ok(e instanceof RpcError && e.is("displaced"));
    assert.deepEqual([e.data.hash, e.data.by], [hash, by]);
    return true;
  });
});

test("a transaction that left the pool is not waited for", async () => {
  const hash = `0x${"aa".repeat(32)}` as const;
  let asked = 0;
  const { client } = answering((body) => results(body, ({ method }) => {
    if (method !== "svc_getTransactionStatus") return null;
    const status = ["pending", "dropped", "dropped"][asked] ?? "";
    return { status, blockHeight: null, confirmations: 0, error: [null, "replaced", "expired"][asked++] };
  }));
  await assert.rejects(client.receipt(hash), (e) => {
    assert.ok(e instanceof RpcError && e.is("dropped"));
    assert.deepEqual([e.data.hash, e.data.cause, asked], [hash, "expired", 3]); // waits for replaced ones
    return true;
  });
});

/** transaction returns an included transaction with nonce 0. */
function transaction(hash: string, from: string): object {
  return {
    hash, from, to: from, value: "0x0", gasLimit: "0x5208", gasPrice: "0x1", nonce: "0x0", blockHeight: 1, blockHash: hash, status: "success",
    type: "transfer", maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x1", input: null, transactionIndex: 0, signature: "0x", error: null,
  };
}

test("JSON.stringify takes every error", async () => {
  const data = { reason: "cannot_pay", balance: "0x5", needed: "0x6" };
  const { client } = answering((call) => ({ id: call.id, error: { code: -32004, message: "too poor", data } }));
  const error = await client.call("svc_sendRawTransaction", "0x00").catch((e) => e);
  assert.deepEqual(JSON.parse(JSON.stringify(error)), {
    name: "RpcError", message: "too poor", method: "svc_sendRawTransaction", code: -32004, reason: "cannot_pay",
    data: { reason: "cannot_pay", balance: "5", needed: "6" },
  });
  const caused = new UnreachableError("away", { cause: new RevertError("reverted", "no", "0x", 5n) });
  assert.deepEqual(JSON.parse(JSON.stringify(caused)).cause, { name: "RevertError", message: "no", reason: "reverted", data: "0x", gasUsed: "5" });
});

test("what is no answer is told apart", async () => {
  const cases: [unknown, (e: unknown) => boolean][] = [
    [new Response("", { status: 429, headers: { "Retry-After": "3" } }), (e) => e instanceof HttpError && e.status === 429 && e.retryAfter === 3],
    [new Response("", { status: 502 }), (e) => e instanceof HttpError && e.retryAfter === undefined],
    ["<html>", (e) => e instanceof ProtocolError && e.reason === "bad_answer"],
    [{ id: 99, result: "0x1" }, (e) => e instanceof ProtocolError],
    [{ id: 1, result: "0x01" }, (e) => e instanceof ProtocolError],
    [{ id: 1 }, (e) => e instanceof ProtocolError],
    [{ id: null, error: { code: -32700, message: "bad" } }, (e) => e instanceof RpcError && e.code === -32700],
  ];
  for (const [answer, expected] of cases) await assert.rejects(answering(() => answer, { retry: 0 }).client.call("svc_blockNumber"), expected);
  const unreachable = createClient("http://127.0.0.1:1", { retry: 0 });
  await assert.rejects(unreachable.call("svc_blockNumber"), UnreachableError);
  const silent = createClient("http://node", { timeout: 5, retry: 0, fetch: (_, init) => new Promise((_, reject) => {
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  }) });
  const alive = setTimeout(() => {}, 60_000); // the timer of a signal alone does not keep a process alive
  await assert.rejects(silent.call("svc_blockNumber"), /in time/);
  clearTimeout(alive);
});

test("proofs may come compressed, and no more is taken of them than of others", async (t) => {
  const files: Record<string, Uint8Array> = { "/proof/1": new Uint8Array(1 << 20).fill(7), "/proof/2": new Uint8Array((128 << 20) + 1) };
  const server = createServer((request, answer) => {
    assert.match(String(request.headers["accept-encoding"]), /gzip/);
    answer.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync(files[request.url!]!, { level: 1 }));
  });
  t.after(() => server.close());
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const client = createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  assert.deepEqual(await client.proof(1), files["/proof/1"]);
  await assert.rejects(client.proof(2), (error: Error) => error instanceof ProtocolError && error.reason === "too_large");
});

test("results are converted deeply", async () => {
  const block = { height: 3, baseFee: "0xa", gasLimit: "0x1", gasUsed: "0x0", size: 1, timestamp: 2, txCount: 2, transactions: ["0xab", { nonce: "0x5", value: "0x1" }] };
  const { client } = answering((call) => results(call, () => block));
  const got = await client.block(3);
  assert.deepEqual([got?.baseFee, got?.transactions], [10n, ["0xab", { nonce: 5n, value: 1n }]]);
  const genesis = answering((call) => `{"id":${call.id},"result":{"raw":"0x","genesis":{"base_fee":18446744073709551615,"chain_id":1}}}`);
  assert.equal((await genesis.client.call("svc_getGenesis")).genesis.base_fee, 18446744073709551615n);
  const unsafe = answering((call) => `{"id":${call.id},"result":{"height":9007199254740993}}`);
  await assert.rejects(unsafe.client.block(3), (e) => e instanceof ProtocolError && e.reason === "unsafe_integer");
});

test("parameters are sent as the node takes them", async () => {
  const { client, posts } = answering((call) => results(call, () => null));
  await client.call("svc_getBlockByNumber", 17n);
  await client.call("dev_fund", "a", 255n);
  assert.deepEqual(posts.map((p) => p.params), [["0x11"], ["a", "0xff"]]);
});

test("a failed receipt says why", () => {
  const receipt = { status: 0n, error: "reverted", returnData: "0x" + Buffer.from("too low").toString("hex"), gasUsed: 5n } as Receipt;
  assert.throws(() => succeeded(receipt), (e) => e instanceof RevertError && e.message.endsWith("reverted: too low") && e.gasUsed === 5n);
  assert.throws(() => succeeded({ ...receipt, returnData: "0x00" }), /: reverted$/);
  assert.equal(succeeded({ ...receipt, status: 1n }).gasUsed, 5n);
});
