// Tests clients that follow only headers, with a node's answers made from docs/vectors.json.
import assert from "node:assert/strict";
import { test } from "node:test";
import { forms, parseHeader, toHex, type Client, type SignedHeader, type rpc } from "@cairn-chain/sdk";
import {
  HeaderError, HeaderFollower, VerifyError, followHeaders, proveInclusion, readIncluded, verifyInclusion, type Trust,
} from "@cairn-chain/sdk/verify";
import { proveKey, stateOf } from "./state.js";
import { bytes, hex, vectors } from "./vectors.js";

const blocks = vectors.changing.blocks;
const headers: SignedHeader[] = blocks.map((v: any) => parseHeader(bytes(v.header_encoded + v.seal)));

/** node returns headers like svc_getHeaders, and counts the requests; change changes an item. */
function node(change: (item: rpc.HeaderItem, i: number) => rpc.HeaderItem = (item) => item): { client: Client; asked: unknown[] } {
  const asked: unknown[] = [];
  const call = async (_: string, range: rpc.HeaderRange): Promise<rpc.HeaderItem[]> => {
    asked.push(range);
    return blocks.slice(range.from_height, range.to_height + 1).map((v: any, k: number) => {
      const i = range.from_height + k;
      const [here, next] = [headers[i]!, headers[i + 1]];
      const changes = next && (next.producer !== here.producer || next.version !== here.version);
      const parameters = range.proven || changes ? { ...proveKey(stateOf(v), "0001"), height: i, stateRoot: here.stateRoot } : null;
      return change({ height: i, hash: hex(v.hash), header: hex(v.header_encoded + v.seal), parameters } as rpc.HeaderItem, i);
    });
  };
  return { client: { call } as unknown as Client, asked };
}

async function heights(client: Client, options: { to?: bigint; proven?: boolean } = {}): Promise<number[]> {
  const follower = new HeaderFollower(headers[0]!);
  const found: number[] = [];
  for await (const { height } of followHeaders(client, follower, options)) found.push(Number(height));
  assert.equal(follower.hash, hex(blocks[found.at(-1) ?? 0].hash));
  return found;
}

test("headers are followed over changes of the producer, up to the newest or a height", async () => {
  const { client, asked } = node();
  assert.deepEqual(await heights(client), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(asked[0], { from_height: 0, to_height: 999, proven: false });
  assert.deepEqual(await heights(client, { proven: true }), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(await heights(client, { to: 3n }), [1, 2, 3]);
  assert.deepEqual(await heights(client, { to: 0n }), []);
  assert.ok(new Set(headers.map(({ producer }) => producer)).size > 1, "the vectors' producer changes");
});

test("a node that holds back a proof, or gives another header, is not followed", async () => {
  const producers = headers.findIndex(({ producer }, i) => i > 0 && producer !== headers[i - 1]!.producer);
  const cases: [HeaderError["reason"], (item: rpc.HeaderItem, i: number) => rpc.HeaderItem][] = [
    ["producer", (item) => ({ ...item, parameters: null })],
    ["proof", (item, i) => (i === producers - 1 ? { ...item, parameters: { ...item.parameters!, siblings: [] } } : item)],
    ["seal", (item, i) => (i === 3 ? { ...item, header: `${item.header.slice(0, -2)}00` as `0x${string}` } : item)],
    ["version", (item, i) => (i === 3 ? { ...item, header: item.header.replace(/^0x02/, "0x03") as `0x${string}` } : item)],
    ["height", (item, i) => (i === 3 ? { ...item, header: toHex(bytes(blocks[2].header_encoded + blocks[2].seal)) } : item)],
  ];
  for (const [want, change] of cases) await assert.rejects(heights(node(change).client), (e) => e instanceof HeaderError && e.reason === want, want);
});

test("a transaction and its receipt are shown under a header, and no changed one is", async () => {
  let shown = 0;
  for (const [i, v] of blocks.entries()) {
    if (i === 0) continue;
    const trust: Trust = { chainId: headers[i]!.chainId, network: "testnet", producer: headers[i]!.producer };
    const [leaves, receipts] = [v.transactions.map((t: any) => hex(t.leaf)), v.transactions.map((t: any) => hex(t.receipt_leaf))];
    for (const [k, t] of v.transactions.entries()) {
      if (t.signed === undefined) continue;
      const given: rpc.Inclusion = {
        header: hex(v.header_encoded + v.seal), transaction: proveInclusion(leaves, k), receipt: proveInclusion(receipts, k),
        rawTransaction: hex(t.signed), rawReceipt: hex(t.receipt_encoded),
      };
      const { header, number, receipt } = verifyInclusion(trust, hex(t.id), given);
      assert.deepEqual([header, number, receipt], [headers[i], k, forms.receipt.read(t.receipt)]);
      const failed = { ...receipt, status: receipt.status === 1 ? "00" : "01" };
      const lies: [string, Partial<rpc.Inclusion>][] = [
        ["another status", { rawReceipt: hex(failed.status + t.receipt_encoded.slice(2)) }], ["more gas", { rawReceipt: hex(`${t.receipt_encoded.slice(0, 2)}ff${t.receipt_encoded.slice(4)}`) }],
        ["another witness", { rawTransaction: hex(`${t.signed.slice(0, -4)}01${t.signed.slice(-2)}`) }], ["another header", { header: hex(blocks[i - 1].header_encoded + blocks[i - 1].seal) }],
        ["another number", { receipt: { ...given.receipt, number: given.receipt.number + 1 } }], ["another n", { receipt: { ...given.receipt, n: given.receipt.n + 1 } }],
        ["no receipt", { rawReceipt: "0x" }],
      ];
      for (const [name, lie] of lies) assert.throws(() => verifyInclusion(trust, hex(t.id), { ...given, ...lie }), VerifyError, `${i} ${k}: ${name}`);
      assert.throws(() => verifyInclusion(trust, headers[i]!.parent, given), VerifyError);
      assert.throws(() => verifyInclusion({ ...trust, producer: headers[i]!.parent }, hex(t.id), given), VerifyError);
      const client = { call: async () => given } as unknown as Client;
      assert.equal((await readIncluded(client, trust, hex(t.id)))!.number, k);
      shown++;
    }
  }
  assert.ok(shown > 5, `${shown}`);
  assert.equal(await readIncluded({ call: async () => null } as unknown as Client, {} as Trust, "0x"), null);
});
