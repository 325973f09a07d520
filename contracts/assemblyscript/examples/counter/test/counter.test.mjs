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
  assert.throws(() => counter.call("increase", { amount: 1 }), { reason: "the count overflows" });
  assert.equal(counter.view("get"), String(MAX));
});

test("takes no coins", () => {
  const counter = deployed(0);
  counter.chain.setBalance(account("alice"), 10);
  assert.throws(() => counter.call("increase", { amount: 1 }, { from: account("alice"), value: 1 }), { reason: "the function takes no coins" });
  assert.equal(counter.chain.balance(account("alice")), 10n);
});

test("changes nothing in a view", () => {
  assert.throws(() => deployed(0).view("increase", { amount: 1 }), { reason: "trap: a view changes nothing" });
});

for (const [args, reason] of [
  ["", "amount: missing"],
  ["{}", "amount: missing"],
  ['{"amount":1,"amount":1}', "amount: given twice"],
  ['{"amount":1,"more":1}', "unknown argument more"],
  ['{"amount":18446744073709551616}', "amount: not a valid u64"],
  ['{"amount":-1}', "amount: not a valid u64"],
  ['{"amount":1.0}', "amount: not a valid u64"],
  ['{"amount":01}', "amount: not a valid u64"],
  ['{"amount":"0x1"}', "amount: not a valid u64"],
  ['{"amount":null}', "amount: not a valid u64"],
  ['{"amount":1', "arguments: malformed JSON"],
  ['{"amount":1}x', "arguments: malformed JSON"],
  ['{"amount":1,}', "arguments: malformed JSON"],
  ["[1]", "arguments: not a JSON object"],
]) {
  test(`refuses ${args || "no arguments"}`, () => {
    assert.throws(() => deployed(0).call("increase", args), { reason });
  });
}

test("reads what JSON allows", () => {
  const counter = deployed(0);
  assert.equal(counter.call("increase", ' {\n"\\u0061mount"\t:\r "18" } ').result, 18);
});
