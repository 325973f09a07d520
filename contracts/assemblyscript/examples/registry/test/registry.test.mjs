import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { account, built, Chain, ZERO } from "@cairn-chain/contract/testing";

const owner = account("owner");
let chain, registry, one, two;

beforeEach(() => {
  chain = new Chain();
  registry = chain.deploy(built(), { from: owner, args: { delay: 60 } });
  [one, two] = [0, 1].map(() => chain.deploy(built(), { args: { delay: 1 } }).id);
});

const announce = (contract, from = owner, name = "bank") => registry.call("announce", { name, contract }, { from });
const call = (name, from = account("anyone")) => registry.call(name, { name: "bank" }, { from });
const standsFor = () => registry.view("resolve", { name: "bank" });

test("a change waits, and the first does not", () => {
  assert.throws(standsFor, { reason: "the name stands for nothing" });
  announce(one);
  assert.throws(standsFor, { reason: "the name stands for nothing" });
  call("activate");
  assert.equal(standsFor(), one);
  const { events } = announce(two);
  assert.deepEqual(events.map((e) => e.data), [{ contract: two, name: "bank", from: Number(chain.time) + 60 }]);
  assert.deepEqual([registry.view("next", { name: "bank" }), registry.view("nextFrom", { name: "bank" })], [two, Number(chain.time) + 60]);
  chain.time += 59n;
  assert.throws(() => call("activate", owner), { reason: "the delay is not over" });
  assert.equal(standsFor(), one);
  chain.time += 1n;
  call("activate");
  assert.equal(standsFor(), two);
  assert.throws(() => call("activate"), { reason: "nothing is announced" });
});

test("what was forgotten expires", () => {
  const next = () => registry.view("next", { name: "bank" });
  const grace = 14n * 24n * 3600n;
  announce(one);
  call("activate");
  announce(two);
  chain.time += 60n + grace + 1n;
  assert.throws(() => call("activate"), { reason: "the announcement has expired" });
  assert.equal(next(), null);
  announce(two); // a new announcement begins a new delay
  chain.time += 60n + grace;
  assert.equal(next(), two);
  call("activate");
  assert.equal(standsFor(), two);
});

test("another announcement waits anew, and can be cancelled", () => {
  announce(one);
  call("activate");
  announce(one);
  chain.time += 59n;
  announce(two); // it replaces the announcement that nobody had activated
  chain.time += 1n;
  assert.throws(() => call("activate"), { reason: "the delay is not over" });
  call("cancel", owner);
  chain.time += 60n;
  assert.throws(() => call("activate"), { reason: "nothing is announced" });
  assert.equal(registry.view("next", { name: "bank" }), null);
});

test("only the owner announces, and only contracts", () => {
  assert.throws(() => announce(one, account("anyone")), { reason: "only the owner may" });
  for (const nobody of [account("bob"), ZERO]) assert.throws(() => announce(nobody), { reason: "there is no such contract" });
  for (const name of ["", "x".repeat(65)]) {
    assert.throws(() => announce(one, owner, name), { reason: "a name has 1 to 64 characters" });
  }
  announce(one);
  assert.throws(() => call("cancel"), { reason: "only the owner may" });
  for (const delay of [0, 365 * 24 * 3600 + 1]) {
    assert.throws(() => chain.deploy(built(), { args: { delay } }), { reason: "a delay is from a second to a year" });
  }
});

test("an owner must accept", () => {
  const offer = (from, to) => registry.call("offer", { to: account(to) }, { from: account(from) });
  const accept = (from) => registry.call("accept", {}, { from: account(from) });
  assert.throws(() => offer("anyone", "anyone"), { reason: "only the owner may" });
  assert.throws(() => accept("anyone"), { reason: "the names were not offered to the caller" });
  offer("owner", "heir");
  assert.throws(() => accept("anyone"), { reason: "the names were not offered to the caller" });
  announce(one); // alice is still the owner
  accept("heir");
  assert.throws(() => accept("heir"), { reason: "the names were not offered to the caller" });
  assert.equal(registry.view("owner"), account("heir"));
  assert.throws(() => call("cancel", owner), { reason: "only the owner may" });
  call("cancel", account("heir"));
});
