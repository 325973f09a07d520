import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { compile } from "@cairn-chain/contract/compile";
import { account, built, Chain, ZERO } from "@cairn-chain/contract/testing";

const [a, b, c, d, eve, shop] = ["a", "b", "c", "d", "eve", "shop"].map(account);
const greedyCode = await compile("test/greedy.ts");
const hex = (args) => (args ? "0x" + Buffer.from(JSON.stringify(args)).toString("hex") : "0x");
let chain, multisig;

// Two of a, b and c, with 100 coins.
beforeEach(() => {
  chain = new Chain();
  multisig = chain.deploy(built(), { args: { owners: [a, b, c], threshold: 2 } });
  chain.setBalance(eve, 100);
  multisig.call("deposit", {}, { from: eve, value: 100 });
});

const act = (from, name, id) => multisig.call(name, { id }, { from });
const propose = (from, to, method, args, value = 0) =>
  multisig.call("propose", { to, method, args: hex(args), value }, { from }).result;

test("pays what enough owners confirmed, once", () => {
  const id = propose(a, shop, "", undefined, 60);
  assert.throws(() => act(a, "execute", id), { reason: "too few confirmations" });
  assert.throws(() => act(a, "confirm", id), { reason: "confirmed already" });
  act(b, "confirm", id);
  act(b, "revoke", id);
  assert.throws(() => act(b, "revoke", id), { reason: "not confirmed" });
  assert.throws(() => act(a, "execute", id), { reason: "too few confirmations" });
  act(c, "confirm", id);
  assert.deepEqual([multisig.view("confirmations", { id }), multisig.view("isExecuted", { id })], [2, false]);
  act(b, "execute", id); // any owner may execute, even one who did not confirm
  assert.deepEqual([chain.balance(shop), chain.balance(multisig.id)], [60n, 40n]);
  for (const name of ["execute", "confirm", "revoke"]) assert.throws(() => act(c, name, id), { reason: "executed already" });
});

test("only owners act", () => {
  const id = propose(a, shop, "", undefined, 1);
  act(b, "confirm", id);
  for (const name of ["confirm", "revoke", "execute"]) {
    assert.throws(() => act(eve, name, id), { reason: "only an owner may" });
    assert.throws(() => act(a, name, id + 1), { reason: "no such proposal" });
  }
  assert.throws(() => propose(eve, eve, "", undefined, 1), { reason: "only an owner may" });
  assert.throws(() => multisig.call("setOwners", { owners: [a], threshold: 1 }, { from: a }), { reason: "only by a proposal" });
  assert.throws(() => propose(a, shop, "", undefined, 0), { reason: "a payment has coins and no arguments" });
  assert.throws(() => propose(a, shop, "", {}, 1), { reason: "a payment has coins and no arguments" });
  assert.throws(() => propose(a, shop, "x".repeat(65)), { reason: "too long" });
});

test("a proposal expires", () => {
  const id = propose(a, shop, "", undefined, 60);
  act(b, "confirm", id);
  chain.time += 30n * 24n * 3600n + 1n;
  for (const name of ["execute", "confirm", "revoke"]) {
    assert.throws(() => act(c, name, id), { reason: "the proposal has expired" });
  }
});

test("changed owners make what was proposed void", () => {
  const payment = propose(a, shop, "", undefined, 60);
  act(b, "confirm", payment);
  const id = propose(b, multisig.id, "setOwners", { owners: [b, d], threshold: 1 });
  act(c, "confirm", id);
  act(c, "execute", id);
  assert.deepEqual([multisig.view("threshold"), multisig.view("owners")], [1, [b, d]]);
  assert.throws(() => act(b, "execute", payment), { reason: "the owners have changed since" });
  assert.throws(() => propose(a, a, "", undefined, 1), { reason: "only an owner may" });
  act(d, "execute", propose(d, shop, "", undefined, 5));
  assert.equal(chain.balance(shop), 5n);
});

test("a call that fails can be tried again, and one that comes back gets nothing twice", () => {
  const greedy = chain.deploy(greedyCode);
  const change = propose(a, multisig.id, "setOwners", { owners: [a, greedy.id], threshold: 1 });
  act(b, "confirm", change);
  act(a, "execute", change);
  const id = propose(a, greedy.id, "take", undefined, 30);
  greedy.call("confirm", { multisig: multisig.id, id }, { from: eve });
  assert.throws(() => act(a, "execute", id), { reason: "executed already" });
  assert.equal(multisig.view("isExecuted", { id }), false);
  assert.deepEqual([chain.balance(greedy.id), chain.balance(multisig.id)], [0n, 100n]);
});

test("it is no owner of itself", () => {
  // If the contract were its own owner, a proposal that confirms another would add a vote of its own.
  const id = propose(a, multisig.id, "setOwners", { owners: [a, multisig.id], threshold: 2 });
  act(b, "confirm", id);
  assert.throws(() => act(a, "execute", id), { reason: "not an owner" });
});

test("arguments of the greatest length can be proposed", () => {
  const raw = (length) => multisig.call("propose", { to: shop, method: "m", args: "0x" + "78".repeat(length), value: 0 }, { from: a });
  act(b, "confirm", raw(7168).result);
  assert.throws(() => raw(7169), { reason: "too long" });
});

test("needs owners that can act", () => {
  for (const [owners, threshold, reason] of [
    [[], 0, "1 to 16 owners"],
    [Array(17).fill(a), 1, "1 to 16 owners"],
    [[a, b], 0, "a threshold is from 1 to the number of owners"],
    [[a, b], 3, "a threshold is from 1 to the number of owners"],
    [[a, b, a], 2, "an owner is given twice"],
    [[a, ZERO], 2, "not an owner"],
  ]) {
    assert.throws(() => new Chain().deploy(built(), { args: { owners, threshold } }), { reason });
  }
});
