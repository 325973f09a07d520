import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHex, toHex, type Account, type Client, type Hex, type rpc } from "@cairn-chain/sdk";
import { createSender } from "@cairn-chain/sdk/sender";
import { VerifyError, readAccount, readState, verifyState, type StateQuestion, type Trust } from "@cairn-chain/sdk/view";
import { devKey, startNode } from "./node.js";
import { random } from "./vectors.js";

const accountKey = (account: Account): Uint8Array => Uint8Array.of(1, ...fromHex(account));

test("balances are read with no node believed, and each forged proof is refused by its step", async (t) => {
  const { client } = await startNode(t, "--block-time", "0");
  const key = devKey(0);
  const absent: Account = `0x${"77".repeat(32)}`;
  const sender = await createSender(client, key, { poll: 20 });
  const to = devKey(1).account;
  for (let i = 0n; i < 3n; i++) await sender.send({ type: "transfer", to, value: 5n + i }).receipt;
  await sender.close();
  const { genesis } = await client.call("svc_getGenesis");
  const trust: Trust = { chainId: BigInt(genesis.chain_id), network: genesis.network, producer: genesis.parameters.producer };
  for (const account of [key.account, to, absent, devKey(9).account]) {
    const read = await readAccount(client, trust, account);
    assert.deepEqual([read.balance, read.nonce], [await client.balance(account), await client.nonce(account)]);
    assert.equal(read.header.height, 3n);
  }
  const early = await readAccount(client, trust, to, { height: 1n });
  assert.deepEqual([early.balance, early.header.height], [await client.balance(to, 1), 1n]);
  assert.equal((await readState(client, trust, { key: Uint8Array.of(9) })).value, null);

  const question: StateQuestion = { key: accountKey(to) };
  const proof = await client.call("svc_getStateProof", toHex(question.key));
  const headers = await client.call("svc_getBlocks", { from_height: 2, to_height: 3, raw_only: true });
  const header = fromHex(headers[1]!.raw);
  verifyState(trust, question, header, proof);
  const flip = (hex: Hex, at: number): Hex => toHex(fromHex(hex).map((b, i) => (i === at ? b ^ 1 : b)));
  const missing = await client.call("svc_getStateProof", toHex(accountKey(absent)));
  const lies: [string, string, Partial<rpc.AccountProof>, { header?: Uint8Array; trust?: Trust; question?: StateQuestion }?][] = [
    ["another balance", "witness", { value: flip(proof.value!, 0) }],
    ["another nonce", "witness", { value: flip(proof.value!, 8) }],
    ["no value", "witness", { value: null }],
    ["an empty value", "witness", { value: "0x" }],
    ["absence by nothing", "witness", { value: null, end: { type: "empty" } }],
    ["absence by its own leaf", "witness", { value: null, end: missing.end }],
    ["a value beside absence", "witness", { end: missing.end }],
    ["the absence of another", "witness", { ...missing, key: proof.key }],
    ["a sibling too few", "witness", { siblings: proof.siblings.slice(1) }],
    ["a sibling too many", "witness", { siblings: [...proof.siblings, proof.siblings[0]!] }],
    ["too many siblings", "witness", { siblings: Array<Hex>(249).fill(proof.siblings[0]!) }],
    ["a sibling beyond the modulus", "witness", { siblings: [`0x${"ff".repeat(32)}`, ...proof.siblings.slice(1)] }],
    ["a value that is too long", "witness", { value: `0x${"00".repeat(262_145)}` }],
    ["no hex", "witness", { value: "0xzz" }],
    ["an unknown end", "witness", { end: { type: "other" } }],
    ["another block's header", "witness", {}, { header: fromHex(headers[0]!.raw) }],
    ["a header that is cut short", "size", {}, { header: header.slice(1) }],
    ["another chain", "header", {}, { trust: { ...trust, chainId: 1n } }],
    ["another producer", "header", {}, { trust: { ...trust, producer: to } }],
    ["another signature", "header", {}, { header: header.map((b, i) => (i === 270 ? b ^ 1 : b)) }],
    ["another height", "height", {}, { question: { ...question, height: 2n } }],
    ["an old height", "height", {}, { question: { ...question, atLeast: 4n } }],
    ["another key", "witness", {}, { question: { key: accountKey(key.account) } }],
  ];
  for (const [name, step, lie, change] of lies) {
    const forged = { ...proof, ...lie };
    const verified = (): unknown => verifyState(change?.trust ?? trust, change?.question ?? question, change?.header ?? header, forged);
    assert.throws(verified, (e) => e instanceof VerifyError && e.step === step, name);
  }
  const next = random(11);
  for (let i = 0; i < 300; i++) {
    const hexes = [proof.value!, ...proof.siblings];
    const hex = hexes[next(hexes.length)]!;
    const [at, bit] = [next((hex.length - 2) / 2), next(8)];
    const forgedHex = toHex(fromHex(hex).map((b, k) => (k === at ? b ^ (1 << bit) : b)));
    const forged = JSON.parse(JSON.stringify(proof), (_, value) => (value === hex ? forgedHex : value)) as rpc.AccountProof;
    assert.throws(() => verifyState(trust, question, header, forged), VerifyError);
  }
  const silent = { call: async (method: string) => (method === "svc_getBlocks" ? [] : proof) } as unknown as Client;
  await assert.rejects(readState(silent, trust, question), (e) => e instanceof VerifyError && e.step === "header");
});
