import assert from "node:assert/strict";
import { test } from "node:test";
import { account, built, Chain } from "@cairn-chain/contract/testing";

// The tests of the example proxy test it behind a proxy.
test("works for its proxy only", () => {
  const chain = new Chain();
  const alice = account("alice");
  const savings = chain.deploy(built(), { args: { proxy: account("proxy") } });
  for (const [name, args] of [
    ["deposit", { by: alice, coins: 5 }],
    ["withdraw", { by: alice, coins: 0, amount: 5 }],
    ["savings", { by: alice, coins: 0, owner: alice }],
  ]) {
    assert.throws(() => savings.call(name, args, { from: alice }), { reason: "only by the proxy" });
  }
});
