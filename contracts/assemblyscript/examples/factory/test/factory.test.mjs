import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { account, built, Chain } from "@cairn-chain/contract/testing";

const [alice, bob] = ["alice", "bob"].map(account);
const counter = readFileSync(new URL("../../../../wasm/as-counter.wasm", import.meta.url));
const start = (n) => "0x" + Buffer.from(JSON.stringify({ start: n })).toString("hex");

function setup() {
  const chain = new Chain();
  const template = chain.deploy(counter, { args: { start: 1 } }).id;
  return { chain, template, factory: chain.deploy(built(), { args: { template } }) };
}

test("makes one for each where it said", () => {
  const { chain, factory, template } = setup();
  const address = factory.view("addressOf", { user: bob });
  assert.equal(factory.view("contractOf", { user: bob }), null);
  chain.setBalance(address, 10n); // before the contract exists
  const { result, events } = factory.call("make", { args: start(5) }, { from: bob });
  assert.equal(result, address);
  assert.deepEqual(events.at(-1).data, { contract: address, user: bob });
  assert.deepEqual([factory.view("contractOf", { user: bob }), factory.view("addressOf", { user: bob })], [address, address]);
  const made = chain.contract(address);
  assert.deepEqual([made.view("get"), chain.contract(template).view("get"), chain.balance(address)], [5, 1, 10n]);
  assert.notEqual(factory.call("make", { args: start(7) }, { from: alice }).result, address);
  assert.throws(() => factory.call("make", { args: start(5) }, { from: bob }), { reason: "it was made already" });
});

test("what fails makes nothing", () => {
  const { chain, factory } = setup();
  const address = factory.view("addressOf", { user: bob });
  assert.throws(() => factory.call("make", { args: "0x7b7d" }, { from: bob }), { reason: "start: missing" });
  assert.equal(factory.view("contractOf", { user: bob }), null);
  assert.equal(chain.contract(address), undefined);
  assert.throws(() => chain.deploy(built(), { args: { template: bob } }), { reason: "there is no such template" });
});
