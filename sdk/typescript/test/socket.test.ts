// Tests subscriptions over WebSocket against the real node.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import {
  RpcError, createClient, parseCoins, watchBlocks, watchEvents, watchPending, watchRangeProofs, watchSyncStatus, type Stream, type StreamStatus,
} from "@cairn-chain/sdk";
import { WebSocket as UndiciSocket } from "undici";
import WsSocket from "ws";
import { devKey, directory, launch, startNode } from "./node.js";

/** take reads a number of items from a stream, and checks that it uses a WebSocket. */
async function take<T>(stream: Stream<T>, count: number): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) if (items.push(item) === count) break;
  return items;
}

function states(stream: Stream<unknown>): StreamStatus["state"][] {
  const seen: StreamStatus["state"][] = [];
  stream.status.subscribe(({ state }) => seen.push(state));
  return seen;
}

/** onlySockets fails the test if a stream requests pages. */
function onlySockets(t: TestContext, url: string): ReturnType<typeof createClient> {
  return createClient(url, { fetch: (async (at: string, init: RequestInit) => {
    if (/svc_(getBlocks|getSyncStatus)/.test(String(init.body))) t.assert.fail(`a page was asked for: ${String(init.body)}`);
    return fetch(at, init);
  }) as typeof fetch });
}

/** The WebSocket packages for users of Node.js 20, which the README names. */
const brought = { ws: WsSocket, undici: UndiciSocket };

for (const [name, WebSocket] of Object.entries(brought)) {
  test(`a node that accepts and says nothing does not end a program that uses ${name}`, async (t) => {
    const silent = createServer(() => {});
    t.after(() => silent.close());
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const client = createClient(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, { WebSocket });
    const stop = new AbortController();
    const aborted = take(watchBlocks(client, 1, { signal: stop.signal }), 1);
    await once(silent, "connection");
    stop.abort();
    assert.deepEqual(await aborted, [], "it ends while it connects");

    t.mock.timers.enable({ apis: ["setTimeout"] });
    const late = new AbortController();
    const stream = watchBlocks(client, 1, { signal: late.signal });
    const reconnecting = new Promise<StreamStatus>((resolve) => stream.status.subscribe((status) => status.state === "reconnecting" && resolve(status)));
    const waiting = take(stream, 1);
    await once(silent, "connection");
    t.mock.timers.tick(20_000);
    const status = await reconnecting;
    assert.match(String(status.state === "reconnecting" && status.cause), /did not answer in time/);
    late.abort();
    assert.deepEqual(await waiting, []);
  });

  test(`blocks come over ${name}`, async (t) => {
    const { url, client } = await startNode(t, "--block-time", "0");
    await client.call("dev_mine", 2);
    const blocks = await take(watchBlocks(createClient(url, { WebSocket }), 1), 2);
    assert.deepEqual(blocks.map(({ height }) => height), [1, 2]);
  });
}

test("blocks come from history and live, without their transactions where these are not wanted", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  await client.receipt(await client.call("dev_fund", devKey(3).account, 5n));
  await client.call("dev_mine", 5);
  const live = watchBlocks(onlySockets(t, url), 0);
  const seen = states(live);
  live.status.subscribe(({ state }) => state === "live" && void client.call("dev_mine", 2));
  const blocks = await take(live, 9);
  assert.deepEqual(blocks.map(({ height }) => height), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([blocks[1]!.transactions.length, blocks[1]!.txCount, blocks[1]!.gasUsed > 0n], [1, 1, true]);
  assert.equal(seen[0], "live");
  const [header] = await take(watchBlocks(onlySockets(t, url), 1, { headersOnly: true }), 1);
  assert.deepEqual(header, { ...blocks[1], transactions: [] });
  const [page] = await take(watchBlocks(createClient(url, { WebSocket: null }), 1, { headersOnly: true }), 1);
  assert.deepEqual(page, header);
});

test("a stream goes on through the end of a node and dev_revert, and says so", async (t) => {
  const data = ["--data-dir", directory(t), "--block-time", "0"];
  const first = await launch(t, ...data, "--rpc-addr", "127.0.0.1:0");
  await first.client.call("dev_mine", 3);
  const stop = new AbortController();
  const stream = watchBlocks(onlySockets(t, first.url), 1, { signal: stop.signal });
  const seen = states(stream);
  const got: [number, string][] = [];
  let client = first.client;
  let snapshot = 0n;
  for await (const { height, hash } of stream) {
    got.push([height, hash]);
    switch (got.length) {
      case 3: {
        first.process.kill("SIGKILL");
        await once(first.process, "exit");
        ({ client } = await launch(t, ...data, "--rpc-addr", new URL(first.url).host));
        snapshot = await client.call("dev_snapshot");
        await client.call("dev_mine", 2);
        break;
      }
      case 5: // the blocks above 3 are reverted, and others replace them
        await client.call("dev_revert", snapshot);
        await client.call("dev_increaseTime", 1000);
        await client.call("dev_mine", 4);
        break;
      case 7:
        stop.abort();
    }
  }
  const heights = got.map(([height]) => height);
  assert.deepEqual(heights.slice(0, 5), [1, 2, 3, 4, 5]);
  // The stream may skip blocks made before it noticed the revert; the hashes show that the blocks are different.
  const after = await client.call("svc_getBlocks", { from_height: heights[5]!, to_height: heights[6]! });
  assert.deepEqual(got.slice(5), after.map(({ block }) => [block!.height, block!.hash]));
  assert.ok(seen.includes("reconnecting") && seen.at(-1) === "ended", seen.join());
});

test("a slow consumer misses nothing", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  const count = 4000;
  for (let made = 0; made < count; made += 1000) await client.call("dev_mine", 1000);
  let next = 1;
  for await (const block of watchBlocks(onlySockets(t, url), 1, { headersOnly: true })) {
    assert.equal(block.height, next);
    if (next++ === count) break;
    if (next % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1)); // lets the queue exceed its bound
  }
});

test("events, the sync status and pending transactions are pushed", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  const mine = onlySockets(t, url);
  const stop = new AbortController();
  const pending = watchPending(mine, { signal: stop.signal });
  const heard: string[] = [];
  const told = new Promise<void>((resolve) => pending.status.subscribe(({ state }) => state === "live" && resolve()));
  const reading = (async () => {
    for await (const hash of pending) if (heard.push(hash) === 2) return;
  })();
  await told;
  const sent = [await client.call("dev_fund", devKey(1).account, parseCoins("1")), await client.call("dev_fund", devKey(2).account, 1n)];
  await reading;
  assert.deepEqual(heard, sent);

  const [status] = await take(watchSyncStatus(mine), 1);
  assert.equal(status!.state, "producing");
  assert.deepEqual(await take(watchRangeProofs(mine), 1), [[]]);
  const none = watchEvents(mine, { event_name: "Nothing" }, { signal: stop.signal });
  none.status.subscribe(({ state }) => state === "live" && stop.abort());
  assert.deepEqual(await take(none, 1), []);
});

test("what the node refuses ends the stream with its error", async (t) => {
  const { url } = await startNode(t, "--block-time", "0");
  const client = onlySockets(t, url);
  await assert.rejects(take(watchBlocks(client, 1000), 1), (e) => e instanceof RpcError && e.is("above_head"));
  await assert.rejects(take(watchEvents(client, { cursor: "0x" }), 1), (e) => e instanceof RpcError && e.is("bad_cursor"));
  assert.throws(() => watchPending(createClient(url, { WebSocket: null })), TypeError);
});
