import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { account, built, Chain, ZERO } from "@cairn-chain/contract/testing";

const [buyer, seller, arbiter] = ["buyer", "seller", "arbiter"].map(account);
let chain, escrow;

beforeEach(() => {
  chain = new Chain();
  chain.setBalance(buyer, 10_000);
  escrow = chain.deploy(built());
  const { result } = escrow.call("open", { seller, arbiter, deadline: chain.time + 100n }, { from: buyer, value: 6_000 });
  assert.equal(result, 0);
});

test("holds the coins", () => {
  assert.equal(escrow.view("held", { deal: 0 }), 6_000);
  assert.deepEqual(escrow.view("parties", { deal: 0 }), [buyer, seller, arbiter]);
  assert.equal(chain.balance(escrow.id), 6_000n);
});

test("the buyer releases them, once", () => {
  const { events } = escrow.call("release", { deal: 0 }, { from: buyer });
  assert.deepEqual(events.map((e) => e.data), [{ deal: 0, to: seller, amount: 6_000 }]);
  assert.equal(chain.balance(seller), 6_000n);
  assert.throws(() => escrow.call("release", { deal: 0 }, { from: buyer }), { reason: "the deal is closed" });
});

test("the seller and the arbiter give them back", () => {
  for (const from of [seller, arbiter]) {
    const { result } = escrow.call("open", { seller, arbiter, deadline: chain.time + 1n }, { from: buyer, value: 10 });
    escrow.call("refund", { deal: result }, { from });
  }
  assert.equal(chain.balance(buyer), 4_000n);
});

test("the buyer takes them back from the deadline on", () => {
  const refund = () => escrow.call("refund", { deal: 0 }, { from: buyer });
  assert.equal(escrow.view("deadline", { deal: 0 }), Number(chain.time) + 100);
  chain.time += 99n;
  assert.throws(refund, { reason: "only the seller and the arbiter may refund before the deadline" });
  chain.time += 1n;
  refund();
  assert.equal(chain.balance(buyer), 10_000n);
});

test("refuses what is no deal", () => {
  assert.throws(() => escrow.call("release", { deal: 1 }, { from: buyer }), { reason: "the list has no such item" });
  assert.throws(() => escrow.call("release", { deal: 0 }, { from: seller }), { reason: "only the buyer and the arbiter may release" });
  assert.throws(() => escrow.call("open", { seller, arbiter, deadline: 1 }, { from: buyer, value: 1 }), { reason: "the deadline is in the past" });
  assert.throws(() => escrow.call("open", { seller, arbiter, deadline: 1 }, { from: buyer }), { reason: "a deal needs coins" });
  assert.equal(chain.balance(escrow.id), 6_000n);
});

test("a deal is paid once, and of its own coins", () => {
  escrow.call("open", { seller, arbiter, deadline: chain.time + 1n }, { from: buyer, value: 30 });
  chain.setBalance(escrow.id, 7_030); // 1,000 coins were sent to the contract outside of any deal
  escrow.call("refund", { deal: 0 }, { from: seller });
  for (const name of ["refund", "release"]) {
    assert.throws(() => escrow.call(name, { deal: 0 }, { from: arbiter }), { reason: "the deal is closed" });
  }
  assert.deepEqual([escrow.view("held", { deal: 1 }), chain.balance(escrow.id)], [30, 1_030n]);
});

test("needs three who are somebody", () => {
  for (const [s, a, reason] of [
    [ZERO, arbiter, "nobody has the zero account"],
    [seller, ZERO, "nobody has the zero account"],
    [seller, buyer, "a deal is between three"],
    [seller, seller, "a deal is between three"],
    [buyer, arbiter, "a deal is between three"],
    [escrow.id, arbiter, "a deal is between three"], // the contract itself, which could never release the coins
  ]) {
    const open = () => escrow.call("open", { seller: s, arbiter: a, deadline: chain.time + 1n }, { from: buyer, value: 1 });
    assert.throws(open, { reason });
  }
});
