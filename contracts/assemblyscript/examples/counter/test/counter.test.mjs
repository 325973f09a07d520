import assert from "node:assert/strict";
import { test } from "node:test";
import { account, built, Chain } from "@cairn-chain/contract/testing";

const MAX = 2n ** 64n - 1n;

function deployed(start) {
  return new Chain().deploy(built(), { args: { start } });
}

test("counts", () => {
  const counter = deployed(5);
  const by = account("alice");
  const { result, events } = counter.call("increase", { amount: 3 }, { from: by });
  assert.equal(result, 8);
  assert.equal(counter.view("get"), 8);
  assert.deepEqual(events, [
    {
      contract: counter.id,
      name: "Increased",
      topics: [by, "0x" + "3".padStart(64, "0"), "0x" + "8".padStart(64, "0")],
      data: { by, amount: 3, count: 8 },
    },
  ]);
});

test("large numbers are strings", () => {
  const counter = deployed(MAX - 1n);
  assert.equal(counter.view("get"), String(MAX - 1n));
  assert.equal(counter.call("increase", { amount: "1" }).result, String(MAX));
  assert.throws(() => counter.call("increase", { amount: 1 }), { reason: "the count would be above 2^64 - 1" });
  assert.equal(counter.view("get"), String(MAX));
});

test("takes no coins", () => {
  const counter = deployed(0);
  counter.chain.setBalance(account("alice"), 10);
  assert.throws(() => counter.call("increase", { amount: 1 }, { from: account("alice"), value: 1 }), { reason: "this function takes no coins" });
  assert.equal(counter.chain.balance(account("alice")), 10n);
});

test("changes nothing in a view", () => {
  assert.throws(() => deployed(0).view("increase", { amount: 1 }), { reason: "trap: a view changes nothing" });
});

for (const [args, reason] of [
  ["", "argument amount is missing"],
  ["{}", "argument amount is missing"],
  ['{"amount":1,"amount":1}', "argument amount is given twice"],
  ['{"amount":1,"more":1}', "unknown argument more"],
  ['{"amount":18446744073709551616}', "argument amount is not a u64"],
  ['{"amount":-1}', "argument amount is not a u64"],
  ['{"amount":1.0}', "argument amount is not a u64"],
  ['{"amount":01}', "argument amount is not a u64"],
  ['{"amount":"0x1"}', "argument amount is not a u64"],
  ['{"amount":null}', "argument amount is not a u64"],
  ['{"amount":1', "the arguments are no JSON object"],
  ['{"amount":1}x', "the arguments are no JSON object"],
  ['{"amount":1,}', "the arguments are no JSON object"],
  ["[1]", "the arguments are no JSON object"],
]) {
  test(`refuses ${args || "no arguments"}`, () => {
    assert.throws(() => deployed(0).call("increase", args), { reason });
  });
}

test("reads what JSON allows", () => {
  const counter = deployed(0);
  assert.equal(counter.call("increase", ' {\n"\\u0061mount"\t:\r "18" } ').result, 18);
});
