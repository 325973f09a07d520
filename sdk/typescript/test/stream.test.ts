import assert from "node:assert/strict";
import { test } from "node:test";
import { RpcError, createClient, watchBlocks, watchEvents, watchPayments, type StreamStatus } from "@cairn-chain/sdk";

/** node is a chain in memory that answers fetch and whose next requests can be made to fail. */
class FakeNode {
  head = -1;
  events: { cursor: string; block_height: number; topics: string[] }[] = [];
  failures: (Response | Error)[] = [];
  branch = "a";
  readonly client = createClient("http://node", { WebSocket: null, fetch: (async (_: unknown, init: RequestInit) => {
    const failure = this.failures.shift();
    if (failure instanceof Error) throw failure;
    if (failure) return failure;
    const body = JSON.parse(init.body as string);
    const answers = (Array.isArray(body) ? body : [body]).map((call) => ({ id: call.id, ...this.answer(call) }));
    return new Response(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  }) as typeof fetch });

  answer({ method, params: [filter] }: any): object {
    if (method === "svc_blockNumber") return { result: `0x${this.head.toString(16)}` };
    if (method === "svc_getBlockByNumber") {
      const height = filter === "latest" ? this.head : filter;
      return { result: height > this.head ? null : { height, hash: this.branch } };
    }
    if (method === "svc_getBlocks") {
      const to = Math.min(filter.to_height, this.head);
      return { result: Array.from({ length: Math.max(to - filter.from_height + 1, 0) }, (_, i) => ({ block: { height: filter.from_height + i, hash: this.branch } })) };
    }
    if (method === "svc_getPayments") {
      if (filter.cursor > this.head) return { error: { code: -32602, message: "", data: { reason: "above_head" } } };
      if (filter.cursor === "gone") return { error: { code: -32602, message: "", data: { reason: "taken_back" } } };
      const height = Math.min(this.head, filter.cursor === undefined ? filter.from_block : Number(filter.cursor) + 1);
      const payments = height % 2 === 1 && height > Number(filter.cursor ?? -1) ? [{ block_height: height, amount: "0x5" }] : [];
      return { result: { payments, resume: `${height}`, height, complete: height === this.head } };
    }
    if (filter.cursor === "gone") return { error: { code: -32602, message: "", data: { reason: "bad_cursor" } } };
    const after = filter.cursor === undefined ? 0 : this.events.findIndex((e) => e.cursor === filter.cursor) + 1;
    return { result: this.events.filter((e, i) => i >= after && e.block_height >= (filter.from_block ?? 0)).slice(0, 2) };
  }
}

test("blocks come once and in order, through failures and a chain that is taken back", async () => {
  const node = new FakeNode();
  node.head = 300;
  const stop = new AbortController();
  const stream = watchBlocks(node.client, 3, { signal: stop.signal, poll: 1 });
  const states: StreamStatus["state"][] = [];
  stream.status.subscribe(({ state }) => states.push(state));
  const heights: number[] = [];
  for await (const block of stream) {
    heights.push(block.height);
    if (heights.length === 298) { // blocks 3 to 300; then two requests fail, and the chain is reverted
      node.failures = [new TypeError("fetch failed"), new Response("", { status: 429, headers: { "Retry-After": "0" } })];
      [node.head, node.branch] = [298, "b"];
      stream.status.subscribe(({ state }) => state === "live" && (node.head = 301));
    }
    if (block.height === 301) stop.abort();
  }
  assert.deepEqual(heights, [...Array.from({ length: 298 }, (_, i) => 3 + i), 299, 300, 301]);
  assert.deepEqual(states, ["reconnecting", "reconnecting", "live", "catching-up", "ended"]);
});

test("events go on from the last cursor", async () => {
  const node = new FakeNode();
  node.events = Array.from({ length: 5 }, (_, i) => ({ cursor: `c${i}`, block_height: i, topics: [] }));
  node.head = 4;
  const stop = new AbortController();
  const got: string[] = [];
  const stream = watchEvents(node.client, { from_block: 1 }, { signal: stop.signal, poll: 1 });
  stream.status.subscribe(({ state }) => state === "live" && got.length === 4 && (node.head = node.events.push({ cursor: "c5", block_height: 5, topics: [] }) - 1));
  for await (const event of stream) {
    got.push(event.cursor);
    if (event.cursor === "c2") node.failures = [new TypeError("fetch failed")];
    if (event.cursor === "c5") stop.abort();
  }
  assert.deepEqual(got, ["c1", "c2", "c3", "c4", "c5"]);
});

test("events of a chain that was taken back are not missed in silence", async () => {
  const node = new FakeNode();
  node.events = [{ cursor: "c0", block_height: 1, topics: [] }];
  node.head = 4;
  const stream = watchEvents(node.client, { from_block: 1 }, { poll: 1 });
  stream.status.subscribe(({ state }) => {
    if (state !== "live") return;
    [node.head, node.branch] = [6, "b"]; // different blocks from 1 on, with an event in block 2
    node.events.push({ cursor: "d0", block_height: 2, topics: [] });
  });
  const items = stream[Symbol.asyncIterator]();
  assert.equal((await items.next()).value.cursor, "c0");
  await assert.rejects(items.next(), (e) => e instanceof RpcError && e.is("taken_back"));
});

test("a cursor that is not the chain's ends the stream with the error", async () => {
  const node = new FakeNode();
  node.head = 0;
  const stream = watchEvents(node.client, { cursor: "gone" });
  await assert.rejects(stream[Symbol.asyncIterator]().next(), (e) => e instanceof RpcError && e.is("bad_cursor"));
  assert.equal(stream.status.value.state, "ended");
});

test("an abort ends a stream that waits", async () => {
  const node = new FakeNode();
  node.head = 0;
  const stop = new AbortController();
  const stream = watchBlocks(node.client, 1, { signal: stop.signal, poll: 60_000 });
  stream.status.subscribe(({ state }) => state === "live" && setImmediate(() => stop.abort()));
  assert.deepEqual(await stream[Symbol.asyncIterator]().next(), { done: true, value: undefined });
});

test("payments come once, through failures and a node that is behind, and quiet pages move the cursor", async () => {
  const node = new FakeNode();
  node.head = 6;
  const stop = new AbortController();
  const stream = watchPayments(node.client, { accounts: ["a"], from_block: 1 }, { signal: stop.signal, poll: 1 });
  const paid: number[] = [];
  const states: StreamStatus["state"][] = [];
  stream.status.subscribe(({ state }) => {
    states.push(state);
    if (state === "live" && node.head === 6) node.head = 9;
    if (state === "reconnecting" && node.head === 4) node.head = 6;
  });
  for await (const page of stream) {
    for (const payment of page.payments) {
      assert.equal(payment.amount, 5n);
      paid.push(payment.block_height);
      if (payment.block_height === 5) node.head = 4; // another node answers
    }
    if (page.height === 7) node.failures = [new TypeError("fetch failed")];
    if (page.height === 9) stop.abort();
  }
  assert.deepEqual(paid, [1, 3, 5, 7, 9]);
  assert.deepEqual(states, ["reconnecting", "live", "catching-up", "reconnecting", "catching-up", "ended"]);
});

test("payments end where what was seen is taken back", async () => {
  const node = new FakeNode();
  node.head = 3;
  await assert.rejects(async () => {
    for await (const _ of watchPayments(node.client, { cursor: "gone" })) assert.fail("it has nothing");
  }, (error) => error instanceof RpcError && error.is("taken_back"));
});
