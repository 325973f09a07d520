import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { account, built, Chain } from "@cairn-chain/contract/testing";

const [alice, session, shop, eve] = ["alice", "session", "shop", "eve"].map(account);
const token = readFileSync(new URL("../../../../wasm/as-nep20.wasm", import.meta.url));

/** The arguments of a transfer in the binary form without its first byte. */
function transferred(to, amount) {
  const data = Buffer.alloc(40);
  data.write(to.slice(2), "hex");
  data.writeBigUInt64LE(BigInt(amount), 32);
  return "0x" + data.toString("hex");
}

/** A wallet with 1,000 coins and 1,000 tokens, and a session with 100 coins, 50 tokens and the function balanceOf. */
function setup() {
  const chain = new Chain();
  const wallet = chain.deploy(built(), { args: { owner: alice } });
  const gold = chain.deploy(token, { from: alice, args: { name: "Gold", symbol: "GLD", decimals: 2, initialSupply: 1000 } });
  gold.call("transfer", { to: wallet.id, amount: 1000 }, { from: alice });
  chain.setBalance(wallet.id, 1000n);
  const allow = (change, from = alice) =>
    wallet.call(
      "allow",
      {
        session, until: Number(chain.time) + 100, coins: 100, tokens: [{ token: gold.id, amount: 50 }],
        rights: [{ contract: gold.id, method: "balanceOf" }], ...change,
      },
      { from },
    );
  allow({});
  const run = (from, ...steps) => wallet.call("run", { steps }, { from });
  const pay = (value) => ({ to: shop, method: "", args: "0x", value });
  const send = (amount) => ({ to: gold.id, method: "transfer", args: transferred(shop, amount), value: 0 });
  return { chain, wallet, gold, allow, run, pay, send };
}

test("a session spends to the unit and no further", () => {
  const { chain, wallet, gold, run, pay, send } = setup();
  const coins = { reason: "more coins than the session has left" };
  const tokens = { reason: "more tokens than the session has left" };
  run(session, pay(60), send(20));
  assert.deepEqual(wallet.view("session", { account: session }).coins, 40);
  assert.equal(wallet.view("tokensLeft", { account: session, token: gold.id }), 30);
  assert.throws(() => run(session, pay(41)), coins);
  assert.throws(() => run(session, pay(20), pay(21)), coins);
  assert.throws(() => run(session, send(31)), tokens);
  assert.throws(() => run(session, send(20), send(11)), tokens);
  run(session, pay(40), send(30));
  assert.throws(() => run(session, pay(1)), coins);
  assert.deepEqual([chain.balance(shop), gold.view("balanceOf", { address: shop })], [100n, 50]);
  run(alice, pay(900), send(950)); // the owner has no limits
  assert.equal(chain.balance(wallet.id), 0n);
});

test("a step that fails costs no allowance", () => {
  const { gold, run, pay } = setup();
  assert.throws(() => run(session, pay(100), { to: gold.id, method: "balanceOf", args: "0x", value: 0 }));
  run(session, pay(100));
});

test("a session does only what it may", () => {
  const { wallet, gold, allow, run, send } = setup();
  const step = (to, method, args, value = 0) => ({ to, method, args, value });
  for (const [made, reason] of [
    [step(gold.id, "approve", transferred(eve, 1)), "a session transfers tokens, and does nothing else with them"],
    [step(gold.id, "transfer", transferred(eve, 1).slice(0, -2)), "a transfer has an account and an amount"],
    [step(gold.id, "name", "0x"), "the session may not call this function"],
    [step(wallet.id, "setOwner", session), "the session may not call this function"],
    [step(shop, "", "0x78", 1), "a payment has no arguments"],
    [step(eve, "transfer", transferred(eve, 1)), "more tokens than the session has left"],
  ]) {
    assert.throws(() => run(session, made), { reason });
  }
  assert.throws(() => run(eve, send(1)), { reason: "the caller is no session" });
  assert.throws(() => run(session), { reason: "a run has 1 to 16 steps" });
  run(session, step(gold.id, "balanceOf", shop));
  assert.throws(() => allow({}, session), { reason: "only the owner may" });
  assert.throws(() => allow({ rights: [{ contract: gold.id, method: "approve" }] }), { reason: "tokens have limits, not functions" });
  assert.throws(() => allow({ rights: [{ contract: wallet.id, method: "run" }] }), { reason: "a session may not call the wallet" });
});

test("a session ends", () => {
  const { chain, wallet, allow, run, send } = setup();
  assert.throws(() => wallet.call("revoke", { session }, { from: session }), { reason: "only the owner may" });
  wallet.call("revoke", { session }, { from: alice });
  assert.throws(() => run(session, send(1)), { reason: "the caller is no session" });
  allow({ tokens: [] }); // a session that expired stays expired
  assert.throws(() => run(session, send(1)), { reason: "more tokens than the session has left" });
  allow({});
  chain.time += 100n;
  run(session, send(1));
  chain.time += 1n;
  assert.equal(wallet.view("session", { account: session }), null);
  assert.throws(() => run(session, send(0)), { reason: "the session has ended" });
});
