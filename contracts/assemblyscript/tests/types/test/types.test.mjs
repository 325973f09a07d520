import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { account, built, Chain } from "@cairn-chain/contract/testing";

const contract = new Chain().deploy(built());
const alice = account("alice");

for (const [type, ...values] of [
  ["bool", true, false],
  ["u8", 0, 255],
  ["u32", 0, 4294967295],
  ["u64", 0, 2 ** 53 - 1, "9007199254740992", "18446744073709551615"],
  ["i64", 0, -1, 1 - 2 ** 53, "-9007199254740992", "-9223372036854775808", "9223372036854775807"],
  ["string", "", "plain", 'quote " slash \\ / line \n tab \t zero \u0000', "Grüße", "漢字", "🪙"],
  ["bytes", "0x", "0x00", "0xdeadbeef"],
  ["account", alice],
  ["u16", 0, 65535],
  ["i8", 0, -128, 127],
  ["i16", -32768],
  ["i32", -2147483648, 2147483647],
  ["u128", "0", "999999999999999999", "1000000000000000000000000000000000000", "340282366920938463463374607431768211455"],
  ["i128", "0", "-1", "-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
  ["hash", alice],
  ["list", [], [[]], [[1, 2], [], [255]]],
  ["option", null, 0, 7],
  ["options", [], [null, "", "x"]],
]) {
  test(`${type} comes back as it went in`, () => {
    for (const v of values) assert.deepEqual(contract.view(`${type}_`, { v }), v);
  });
}

test("an option may be left out", () => {
  assert.equal(contract.view("option_", {}), null);
  assert.equal(contract.view("option_"), null);
});

for (const [type, name, ...texts] of [
  ["bool", "bool", "1", '"true"', "null", "tru", "True"],
  ["u8", "u8", "256", "-1", "1.5", "1e1", '""', '"1 "', "[]", "+1", "-0"],
  ["u32", "u32", "4294967296"],
  ["u64", "u64", "18446744073709551616", '"99999999999999999999999"', "00"],
  ["i64", "i64", "9223372036854775808", "-9223372036854775809", "--1", '"-"'],
  ["string", "string", "1", "null"],
  ["u16", "u16", "65536"],
  ["i8", "i8", "128", "-129", "-0", '"-0"'],
  ["i32", "i32", "2147483648"],
  ["u128", "u128", "340282366920938463463374607431768211456", "-1", "01", '""'],
  ["i128", "i128", "170141183460469231731687303715884105728", "-170141183460469231731687303715884105729", "-0", "--1", '"-"'],
  ["bytes", "bytes", '"0x0"', '"00"', '"0xgg"', '"0X00"'],
  ["account", "account", '"0x00"', `"${alice}0"`, `"${alice}00"`, `"${alice.slice(0, -1)}g"`],
  ["hash", "hash", "0"],
  ["list", "u8[][]", "1", '"[]"'],
  ["list", "u8[]", "[1]"],
  ["list", "u8", "[[256]]", "[[null]]"],
  ["option", "u64", '"x"'],
]) {
  test(`what is not a ${name} is refused`, () => {
    for (const text of texts) assert.throws(() => contract.view(`${type}_`, `{"v":${text}}`), { reason: `v: not a valid ${name}` }, text);
  });
}

test("malformed strings are refused", () => {
  for (const text of ['"', '"\n"', '"\\x"', '"\\u12"', '"\\ud800"', '"\\ud800\\u0041"', '"\\udc00"']) {
    assert.throws(() => contract.view("string_", `{"v":${text}}`), { reason: "v: malformed JSON" }, text);
  }
});

test("escapes are read", () => {
  assert.equal(contract.view("string_", '{"v":"\\u0041\\ud83e\\ude99\\b\\f\\n\\r\\t\\/\\\\\\""}'), 'A🪙\b\f\n\r\t/\\"');
});

test("an event has its data and topics", () => {
  const hash = account("hash");
  const [event] = contract.call("announce", { low: -2, hash }).events;
  assert.deepEqual(event.data, { flag: true, low: -2, hash, late: 7, list: [1, 2] });
  assert.deepEqual(event.topics, ["0x" + "f".repeat(63) + "e", hash]);
});

test("storage gives back what it was given", () => {
  const data = "0x010203";
  const hash = "0x" + createHash("sha256").update(Buffer.from([1, 2, 3])).digest("hex");
  for (const [i, key] of ["a", "", "ä🪙"].entries()) {
    assert.equal(contract.call("keep", { key, text: `text ${key}`, count: -i, data, hash }).result, i);
    assert.deepEqual(contract.view("kept", { key }), [`text ${key}`, key]);
  }
  assert.equal(contract.call("drop", { key: "a" }).result, "ä🪙");
  assert.throws(() => contract.view("kept", { key: "a" }), { reason: "the record is absent" });
  assert.throws(() => contract.call("keep", { key: "k".repeat(300), text: "", count: 0, data, hash }), {
    reason: "storage key of 308 bytes: at most 256",
  });
  assert.throws(() => contract.call("keep", { key: "k", text: "t".repeat(16384), count: 0, data, hash }), {
    reason: /^storage value of 16\d{3} bytes: at most 16384$/,
  });
});

test("contracts call each other", () => {
  const other = contract.chain.deploy(built());
  assert.equal(contract.call("relay", { to: other.id, text: "a \"b\"" }).result, 'a "b"');
  assert.throws(() => contract.call("relayFailure", { to: other.id, reason: "no" }), { reason: "no" });
  assert.throws(() => contract.call("relayFailure", { to: alice, reason: "no" }), { reason: "the call of another contract failed with code 3" });
  assert.throws(() => contract.view("misread", { to: other.id }), { reason: "result: not a valid bool" });
});

test("a thrown error is a reason", () => {
  assert.throws(() => contract.call("raise", { reason: "thrown" }), { reason: "thrown" });
});

test("a call that fails leaves nothing", () => {
  assert.throws(() => contract.call("fail", { reason: "undone" }), { reason: "undone" });
  assert.throws(() => contract.view("kept", { key: "fail" }), { reason: "the record is absent" });
});

test("Keccak-256 has the original padding", () => {
  assert.equal(contract.view("keccak", { v: "0x" }), "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
});

const offer = { seller: alice, price: 5, note: "hi" };

test("records, tuples and enums come back as they went in", () => {
  const deal = { offers: [offer, { ...offer, note: null }], mood: "Angry", pair: [7, true], wide: "18446744073709551616" };
  assert.deepEqual(contract.view("deal", { v: deal }), deal);
  assert.deepEqual(contract.view("pairs", { v: [[1, false], [2, true]] }), [[1, false], [2, true]]);
  assert.deepEqual(contract.view("offers", { v: [] }), []);
  assert.deepEqual(contract.view("offer", '{"v": { "price" : "5" , "seller" : "' + alice + '" } }'), { ...offer, note: null });
  assert.equal(contract.view("mood", { v: "Calm" }), "Calm");
  const [event] = contract.call("deals", { v: { ...deal, wide: 5 } }).events;
  assert.deepEqual(event.data, { small: -1, wide: 5, mood: "Angry", deal: { ...deal, wide: 5 } });
  assert.deepEqual(event.topics, ["0x" + "f".repeat(64), "0x" + "0".repeat(63) + "5"]);
});

for (const [name, text, reason] of [
  ["offer", "[]", "v: not a JSON object"],
  ["offer", "{}", "seller: missing"],
  ["offer", `{"seller":"${alice}","price":5,"price":5}`, "price: given twice"],
  ["offer", `{"seller":"${alice}","price":5,"x":5}`, "unknown argument x"],
  ["offer", `{"seller":"${alice}","price":true}`, "price: not a valid u64"],
  ["offers", `[{"seller":"${alice}","price":5},1]`, "v: not a JSON object"],
  ["pairs", "[[1]]", "v: not a valid (u64,bool)"],
  ["pairs", "[[1,true,2]]", "v: not a valid (u64,bool)"],
  ["pairs", "[[]]", "v: not a valid (u64,bool)"],
  ["state", '"Sold"', "v: not a valid State"],
  ["state", '{"Open":{}}', "v: not a valid State"],
  ["state", `{"Sold":{"to":"${alice}"}}`, "price: missing"],
  ["state", `{"Sold":{"to":"${alice}","price":5},"Open":{}}`, "v: not a valid State"],
  ["state", '"Gone"', "v: not a valid State"],
  ["state", "{}", "v: not a valid State"],
  ["four", '"0xdeadbe"', "v: not a valid bytes4"],
  ["four", '"0xdeadbeef00"', "v: not a valid bytes4"],
  ["mood", '"Gone"', "v: not a valid Mood"],
  ["mood", "1", "v: not a valid Mood"],
]) {
  test(`${name} ${text} is refused`, () => {
    assert.throws(() => contract.view(name, `{"v":${text}}`), { reason });
  });
}

const sold = { Sold: { to: alice, price: "18446744073709551615" } };

test("unions and fixed bytes come back as they went in", () => {
  for (const v of ["Open", sold]) assert.deepEqual(contract.view("state", { v }), v);
  assert.deepEqual(contract.view("states", { v: [sold, "Open"] }), [sold, "Open"]);
  assert.equal(contract.view("four", { v: "0xdeadbeef" }), "0xdeadbeef");
  assert.equal(contract.view("paid", { v: sold }), "18446744073709551615");
  assert.equal(contract.view("paid", { v: "Open" }), null);
  for (const binary of [false, true]) {
    assert.deepEqual(contract.call("relayObjects", { to: contract.chain.deploy(built()).id, v: sold, binary }).result, sold);
  }
});

test("all types of the ABI are kept in storage and emitted", () => {
  const deal = { offers: [offer, { ...offer, note: null }], mood: "Angry", pair: [7, true], wide: "5" };
  const shelf = { deals: [deal, deal], state: sold, four: "0x01020304", below: "-170141183460469231731687303715884105728" };
  const [event] = contract.call("shelve", { at: "0xdeadbeef", shelf }).events;
  assert.deepEqual(contract.view("shelf", { at: "0xdeadbeef" }), shelf);
  assert.deepEqual(contract.view("lastState"), sold);
  assert.deepEqual(event.data, { below: shelf.below, four: "0x01020304", state: sold });
  assert.deepEqual(event.topics, ["0x" + "f".repeat(32) + "8" + "0".repeat(31)]);
  assert.throws(() => contract.view("shelf", { at: "0x00000000" }), { reason: "the record is absent" });
});

test("a limit is named before the host ends the call", () => {
  contract.call("say", { times: 102 });
  assert.throws(() => contract.call("say", { times: 103 }), { reason: "debug message of 1030 bytes: at most 1024" });
  assert.equal(contract.call("keepUnder", { name: "n".repeat(255), value: 5 }).result, 5);
  assert.throws(() => contract.call("keepUnder", { name: "n".repeat(256), value: 5 }), { reason: "storage name of 256 bytes: at most 255" });
  assert.throws(() => contract.call("keepUnder", { name: "n\0", value: 5 }), { reason: "a name in storage has no byte 0" });
});

test("a product is divided exactly", () => {
  const most = 2n ** 128n - 1n;
  const numbers = [0n, 1n, 3n, 2n ** 32n + 5n, 2n ** 64n - 1n, 2n ** 64n, 10n ** 20n, 2n ** 127n + 1n, most];
  for (const [name, limit] of [["wideMulDiv", most], ["narrowMulDiv", 2n ** 64n - 1n]]) {
    const all = numbers.filter((n) => n <= limit);
    for (const a of all) for (const b of all) for (const c of all) {
      const call = () => BigInt(contract.view(name, { a: a.toString(), b: b.toString(), c: c.toString() }));
      if (c === 0n) assert.throws(call, { reason: "division by zero" });
      else if ((a * b) / c > limit) assert.throws(call, { reason: "arithmetic overflow" });
      else assert.equal(call(), (a * b) / c, `${a} * ${b} / ${c}`);
    }
  }
});

test("signed arithmetic is exact or refused", () => {
  const [least, most] = [-(2n ** 127n), 2n ** 127n - 1n];
  const numbers = [least, least + 1n, -(2n ** 64n), -7n, -1n, 0n, 1n, 2n, 2n ** 63n, 2n ** 64n + 1n, most - 1n, most];
  const operations = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b };
  for (const [kind, of] of Object.entries(operations)) for (const a of numbers) for (const b of numbers) {
    const call = () => BigInt(contract.view("signedArithmetic", { kind, a: a.toString(), b: b.toString() }));
    if (b === 0n && "/%".includes(kind)) assert.throws(call, { reason: "division by zero" });
    else if (of(a, b) < least || of(a, b) > most) assert.throws(call, { reason: "arithmetic overflow" }, `${a} ${kind} ${b}`);
    else assert.equal(call(), of(a, b), `${a} ${kind} ${b}`);
  }
});

test("arithmetic is exact or refused", () => {
  const most = 2n ** 128n - 1n;
  const numbers = [0n, 1n, 7n, 2n ** 32n, 2n ** 64n - 1n, 2n ** 64n, 10n ** 19n, 2n ** 100n + 12345n, 2n ** 127n, most - 1n, most];
  const operations = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b };
  for (const [kind, of] of Object.entries(operations)) {
    for (const a of numbers) {
      for (const b of numbers) {
        const given = { kind, a: a.toString(), b: b.toString() };
        if (b === 0n && "/%".includes(kind)) {
          assert.throws(() => contract.view("arithmetic", given), { reason: "division by zero" });
          continue;
        }
        const want = of(a, b);
        if (want < 0n || want > most) assert.throws(() => contract.view("arithmetic", given), { reason: "arithmetic overflow" });
        else assert.equal(contract.view("arithmetic", given), want.toString(), `${a} ${kind} ${b}`);
      }
    }
  }
  const checked = (name, least, limit) => {
    const all = [least, least + 1n, -1n, 0n, 1n, 3n, limit - 1n, limit, limit / 2n].filter((n) => n >= least);
    for (const kind of "+-*") {
      for (const a of all) {
        for (const b of all) {
          const want = operations[kind](a, b);
          const call = () => BigInt(contract.view(name, { kind, a, b }));
          if (want < least || want > limit) assert.throws(call, { reason: "arithmetic overflow" }, `${a} ${kind} ${b}`);
          else assert.equal(call(), want);
        }
      }
    }
  };
  checked("checkedUnsigned", 0n, 2n ** 64n - 1n);
  checked("checkedSigned", -(2n ** 63n), 2n ** 63n - 1n);
  checked("checkedSmall", -128n, 127n);
});

test("wide integers are kept", () => {
  const amount = 2n ** 100n;
  contract.call("addSupply", { to: alice, amount: amount.toString() });
  assert.equal(contract.call("addSupply", { to: alice, amount: 1 }).result, (amount + 1n).toString());
});

test("errors are typed", () => {
  const low = '{"error":"TooLow","code":2,"data":{"have":7,"need":10}}';
  assert.throws(() => contract.call("refuse", { have: 7, need: 10 }), { reason: low });
  assert.throws(() => contract.call("refuse", { have: 7, need: 1 }), { reason: '{"error":"Closed","code":3}' });
});
