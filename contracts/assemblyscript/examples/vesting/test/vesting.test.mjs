import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { account, built, Chain, ZERO } from "@cairn-chain/contract/testing";

const [boss, worker, anyone] = ["boss", "worker", "anyone"].map(account);
const most = 2n ** 64n - 1n;
let chain, vesting, now;

beforeEach(() => {
  chain = new Chain();
  chain.setBalance(boss, most);
  vesting = chain.deploy(built());
  now = chain.time;
});

const grant = ([start, cliff, end], revocable, value, to = worker) =>
  vesting.call("grant", { to, start: now + start, cliff: now + cliff, end: now + end, revocable }, { from: boss, value }).result;
const call = (name, id, from) => vesting.call(name, { id }, { from }).result;
const view = (name, id = 0) => BigInt(vesting.view(name, { id }));

test("coins vest little by little", () => {
  assert.equal(grant([0n, 25n, 100n], false, 1_001), 0);
  chain.time = now + 24n;
  assert.throws(() => call("release", 0, worker), { reason: "nothing to release" });
  chain.time = now + 25n;
  assert.equal(call("release", 0, anyone), 250);
  assert.throws(() => call("release", 0, anyone), { reason: "nothing to release" });
  chain.time = now + 99n;
  assert.deepEqual([view("vested"), view("releasable")], [990n, 740n]);
  chain.time = now + 100n;
  assert.equal(call("release", 0, worker), 751);
  assert.deepEqual([chain.balance(worker), chain.balance(vesting.id)], [1_001n, 0n]);
});

test("a revoked grant keeps what is vested", () => {
  grant([0n, 0n, 100n], true, 1_000);
  grant([0n, 0n, 100n], false, 500);
  chain.time = now + 30n;
  call("release", 0, worker);
  chain.time = now + 40n;
  assert.throws(() => call("revoke", 0, worker), { reason: "only who granted it may" });
  assert.throws(() => call("revoke", 1, boss), { reason: "the grant cannot be revoked" });
  assert.equal(call("revoke", 0, boss), 600);
  assert.throws(() => call("revoke", 0, boss), { reason: "all of it is vested" });
  assert.deepEqual([view("amount"), view("releasable")], [400n, 100n]);
  chain.time = now + 1_000n;
  assert.equal(call("release", 0, worker), 100);
  assert.equal(chain.balance(vesting.id), 500n); // the coins of the other grant
});

test("the largest grant is exact", () => {
  const duration = 2n ** 32n - 1n;
  grant([0n, 0n, duration], false, most);
  for (const elapsed of [1n, 2n, duration / 3n, duration - 1n]) {
    chain.time = now + elapsed;
    assert.equal(view("vested"), (most * elapsed) / duration);
  }
});

test("refuses what is no grant", () => {
  const order = "the times are start, cliff and end, in this order";
  for (const [times, value, reason] of [
    [[0n, 0n, 1n], 0, "a grant needs coins"],
    [[0n, -1n, 1n], 1, order],
    [[0n, 2n, 1n], 1, order],
    [[0n, 0n, 0n], 1, order],
    [[0n, 0n, 2n ** 32n], 1, "a grant is over in 136 years"],
  ]) {
    assert.throws(() => grant(times, true, value), { reason });
  }
  for (const nobody of [ZERO, vesting.id]) {
    assert.throws(() => grant([0n, 0n, 1n], true, 1, nobody), { reason: "nobody could take the coins" });
  }
  assert.throws(() => call("release", 0, boss), { reason: "no such grant" });
});
