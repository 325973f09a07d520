import assert from "node:assert/strict";
import { test } from "node:test";
import { account, built, Chain, ZERO } from "@cairn-chain/contract/testing";

const [alice, bob, carol] = ["alice", "bob", "carol"].map(account);
const MAX = 2n ** 64n - 1n;

function deployed(initialSupply = 1000) {
  return new Chain().deploy(built(), { from: alice, args: { name: "Grüße 🪙", symbol: 'G"1', decimals: 8, initialSupply } });
}

function events(token, name, args, from) {
  const { result, events } = token.call(name, args, { from });
  assert.equal(result, true);
  return events.map((e) => [e.name, e.data]);
}

test("says what it is", () => {
  const token = deployed();
  assert.equal(token.view("name"), "Grüße 🪙");
  assert.equal(token.view("symbol"), 'G"1');
  assert.equal(token.view("decimals"), 8);
  assert.equal(token.view("totalSupply"), 1000);
  assert.equal(token.view("balanceOf", { address: alice }), 1000);
  assert.deepEqual(token.deployed.events.map((e) => e.data), [{ from: ZERO, to: alice, amount: 1000 }]);
});

test("transfers", () => {
  const token = deployed();
  assert.deepEqual(events(token, "transfer", { to: bob, amount: 300 }, alice), [["Transfer", { from: alice, to: bob, amount: 300 }]]);
  assert.deepEqual(events(token, "transfer", { to: bob, amount: 300 }, bob), [["Transfer", { from: bob, to: bob, amount: 300 }]]);
  assert.equal(token.view("balanceOf", { address: alice }), 700);
  assert.equal(token.view("balanceOf", { address: bob }), 300);
  assert.throws(() => token.call("transfer", { to: alice, amount: 301 }, { from: bob }), { reason: "balance is too low" });
  assert.throws(() => token.call("transfer", { to: ZERO, amount: 1 }, { from: bob }), { reason: "the zero account cannot receive" });
});

test("allowances are set, not added, and used up", () => {
  const token = deployed();
  events(token, "approve", { spender: bob, amount: 50 }, alice);
  assert.deepEqual(events(token, "approve", { spender: bob, amount: 30 }, alice), [["Approval", { owner: alice, spender: bob, amount: 30 }]]);
  events(token, "transferFrom", { from: alice, to: carol, amount: 20 }, bob);
  assert.equal(token.view("allowance", { owner: alice, spender: bob }), 10);
  assert.throws(() => token.call("transferFrom", { from: alice, to: carol, amount: 11 }, { from: bob }), { reason: "allowance is too low" });
  assert.throws(() => token.call("transferFrom", { from: alice, to: carol, amount: 1 }, { from: alice }), { reason: "allowance is too low" });
});

test("mints and burns within 64 bits", () => {
  const token = deployed(MAX - 1n);
  assert.deepEqual(token.deployed.events.map((e) => e.data.amount), [String(MAX - 1n)]);
  assert.deepEqual(events(token, "mint", { to: bob, amount: 1 }, alice), [["Transfer", { from: ZERO, to: bob, amount: 1 }]]);
  assert.throws(() => token.call("mint", { to: bob, amount: 1 }, { from: alice }), { reason: "the supply overflows" });
  assert.throws(() => token.call("mint", { to: bob, amount: 1 }, { from: bob }), { reason: "only the owner may mint" });
  assert.deepEqual(events(token, "burn", { amount: 1 }, bob), [["Transfer", { from: bob, to: ZERO, amount: 1 }]]);
  assert.throws(() => token.call("burn", { amount: 1 }, { from: bob }), { reason: "balance is too low" });
  assert.equal(token.view("totalSupply"), String(MAX - 1n));
});

test("nobody makes transfers of others appear", () => {
  const nothing = () => deployed().call("transferFrom", { from: alice, to: bob, amount: 0 }, { from: bob });
  assert.throws(nothing, { reason: "nothing to move" });
});
