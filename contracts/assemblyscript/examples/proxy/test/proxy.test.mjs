import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { compile } from "@cairn-chain/contract/compile";
import { account, built, Chain } from "@cairn-chain/contract/testing";

const module = (name) => readFileSync(new URL(`../../../../wasm/as-${name}.wasm`, import.meta.url));
const [owner, alice, eve] = ["owner", "alice", "eve"].map(account);
/** 8 bytes, little-endian: a u64 in the binary form. */
const u64 = (n) => Buffer.from(new BigUint64Array([BigInt(n)]).buffer).toString("hex");
const number = (n) => "0x01" + u64(n);
const evilCode = await compile("test/evil.ts");
let chain, registry, proxy;

const savings = () => chain.deploy(module("savings"), { from: owner, args: { proxy: proxy.id } });
const replace = (contract) => {
  registry.call("announce", { name: "savings", contract: contract.id }, { from: owner });
  chain.time += 60n;
  registry.call("activate", { name: "savings" });
};
const forward = (from, method, args = "", value = 0) => proxy.call("forward", { method, args: "0x" + args }, { from, value }).result;
const saved = (of) => proxy.view("view", { method: "savings", args: of });

beforeEach(() => {
  chain = new Chain();
  chain.setBalance(alice, 100);
  registry = chain.deploy(module("registry"), { from: owner, args: { delay: 60 } });
  proxy = chain.deploy(built(), { from: owner, args: { registry: registry.id, name: "savings" } });
  replace(savings());
});

test("data and coins outlive the logic", () => {
  assert.equal(forward(alice, "deposit", "", 70), number(70));
  const logic = savings();
  replace(logic);
  assert.equal(proxy.view("logic"), logic.id);
  assert.equal(saved(alice), number(70));
  assert.equal(forward(alice, "withdraw", u64(30)), number(40));
  assert.deepEqual([chain.balance(alice), chain.balance(proxy.id)], [60n, 40n]);
});

test("the logic is told who calls, and nobody else tells it", () => {
  forward(alice, "deposit", "", 70);
  assert.throws(() => forward(eve, "withdraw", u64(70)), { reason: "less is saved" });
  // The bytes after her own account are arguments; they cannot name another account.
  assert.throws(() => forward(eve, "withdraw", alice.slice(2) + u64(0) + u64(70)), { reason: "arguments: not of their types" });
  const direct = () => savings().call("withdraw", { by: alice, coins: 0, amount: 70 }, { from: eve });
  assert.throws(direct, { reason: "only by the proxy" });
  assert.deepEqual([saved(alice), chain.balance(proxy.id)], [number(70), 70n]);
});

test("a contract that alice calls is not alice", () => {
  forward(alice, "deposit", "", 70);
  const evil = chain.deploy(evilCode);
  assert.throws(() => evil.call("lure", { proxy: proxy.id, amount: 70 }, { from: alice }), { reason: "less is saved" });
  assert.deepEqual([saved(alice), chain.balance(proxy.id)], [number(70), 70n]);
});

test("coins that a function does not take go back", () => {
  forward(alice, "deposit", "", 70);
  assert.throws(() => forward(alice, "withdraw", u64(10), 5), { reason: "the function takes no coins" });
  assert.deepEqual([chain.balance(alice), chain.balance(proxy.id)], [30n, 70n]);
});

test("the logic that was called is served to the end, also if it is replaced meanwhile", () => {
  replace(chain.deploy(evilCode));
  registry.call("announce", { name: "savings", contract: savings().id }, { from: owner });
  chain.time += 60n;
  forward(eve, "replaced", registry.id.slice(2));
  assert.equal(proxy.view("get", { key: "0x00" }), "0x00");
  assert.equal(forward(alice, "deposit", "", 5), number(5));
});

test("only the logic writes, and only in a call", () => {
  const refused = { reason: "only the logic may, and only in a call" };
  forward(alice, "deposit", "", 70);
  const from = proxy.view("logic"); // no call goes through the proxy
  assert.throws(() => proxy.call("put", { key: "0x01", data: "0x02" }, { from }), refused);
  assert.throws(() => proxy.call("remove", { key: "0x01" }, { from }), refused);
  assert.throws(() => proxy.call("send", { to: owner, amount: 1 }, { from: owner }), refused);
  assert.equal(proxy.view("get", { key: "0x01" }), null);
  assert.equal(proxy.view("get", { key: "0x" + Buffer.from("saved ").toString("hex") + alice.slice(2) }), "0x" + u64(70));
});

test("one call at a time", () => {
  replace(proxy); // as its own logic the proxy calls itself, and misreads the caller as a method
  const again = "0x" + u64(24) + "61".repeat(24);
  assert.throws(() => forward(again, "forward"), { reason: "a call is under way" });
  replace(savings());
  assert.equal(forward(alice, "deposit", "", 5), number(5));
});

test("what fails leaves nothing", () => {
  assert.throws(() => forward(alice, "deposit"), { reason: "no coins came" });
  assert.throws(() => forward(alice, "nothing", "", 9), { reason: "the call of another contract failed with code 4" });
  assert.equal(chain.balance(alice), 100n);
  assert.equal(forward(alice, "deposit", "", 7), number(7)); // no call is running
  const nobody = { registry: account("bob"), name: "savings" };
  assert.throws(() => chain.deploy(built(), { args: nobody }), { reason: "there is no such registry" });
});
