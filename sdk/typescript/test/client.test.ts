import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { HttpError, ProtocolError, RevertError, RpcError, UnreachableError, createClient, succeeded, type Receipt } from "cairn-sdk";
import { parseJSON, stringifyJSON } from "../dist/json.js";

/** answering makes a client whose requests are answered by a function, and keeps what was posted. */
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

test("a batch has values and errors", async () => {
  const { client } = answering((body) => body.map((call: any) => {
    return call.method === "svc_chainId" ? { id: call.id, result: "0x7a69" } : { id: call.id, error: { code: -32021, message: "pruned", data: { reason: "pruned", oldestHeight: 7 } } };
  }));
  const [chain, balance] = await client.batch((b) => [b.call("svc_chainId"), b.balance("a", 1)]);
  assert.equal(chain, 31337n);
  assert.ok(balance instanceof RpcError && balance.is("pruned"));
  assert.equal(balance.data.oldestHeight, 7);
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
  for (const [answer, expected] of cases) await assert.rejects(answering(() => answer).client.call("svc_blockNumber"), expected);
  const unreachable = createClient("http://127.0.0.1:1");
  await assert.rejects(unreachable.call("svc_blockNumber"), UnreachableError);
  const silent = createClient("http://node", { timeout: 5, fetch: (_, init) => new Promise((_, reject) => {
    init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  }) });
  const alive = setTimeout(() => {}, 60_000); // the timer of a signal alone keeps no process
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
