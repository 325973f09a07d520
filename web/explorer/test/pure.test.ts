// Tests of functions that need no page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { toHex } from "@cairn-chain/sdk";
import { decodeArguments, decodeResult, decodeStorage, gasOf, ownKey, placeOf, revertText, valueText } from "../src/decode.js";
import {
  bytes,
  chainText,
  coins,
  lossyText,
  percent,
  shortHex,
  span,
  counted,
  thousands,
  units,
  utc,
  when,
} from "../src/format.js";
import { partsOf } from "../src/field.js";
import { readMoment } from "../src/moment.js";
import { readRoute } from "../src/route.js";
import { fold, join, type Header } from "../src/rows.js";
import { readQuery } from "../src/search.js";
import { canChange, sourceOf } from "../src/section.js";

const HOSTILE_NAME = "<img src=x onerror=window.pwned=1>";
const hex = (text: string): string => toHex(new TextEncoder().encode(text));

test("numbers, amounts and times", () => {
  const cases: [string, string][] = [
    [counted(1, "transaction"), "1 transaction"],
    [counted(0, "transaction"), "0 transactions"],
    [counted(1200, "transaction"), "1,200 transactions"],
    [thousands(0), "0"],
    [thousands(999), "999"],
    [thousands(1000), "1,000"],
    [thousands(18446744073709551615n), "18,446,744,073,709,551,615"],
    [coins(0n), "0"],
    [coins(1n), "0.00000001"],
    [coins(150_000_000n), "1.5"],
    [coins(123_456_789_000_000_000n), "1,234,567,890"],
    [units(5n, 0), "5"],
    [percent(0), "0 %"],
    [percent(0.0001), "< 0.1 %"],
    [percent(0.042), "4.2 %"],
    [percent(0.5), "50 %"],
    [percent(1), "100 %"],
    [bytes(316), "316 B"],
    [bytes(2048), "2.0 KiB"],
    [bytes(7 << 20), "7.0 MiB"],
    [span(0), "0 s"],
    [span(59), "59 s"],
    [span(60), "1 min"],
    [span(393), "6 min 33 s"],
    [span(7260), "2 h 1 min"],
    [span(200_000), "2 d 7 h"],
    [utc(0), "1970-01-01 00:00:00 UTC"],
    [utc(1e18), "1000000000000000000 s after 1970"],
    [when(1000, 1001), "now"],
    [when(1000, 1030), "30 s ago"],
    [when(1000, 1119), "1 min ago"],
    [when(0, 1e6), "1970-01-01 00:00:00 UTC"],
    [when(2_000_000_000, 0), "2033-05-18 03:33:20 UTC"],
    [shortHex("0x1234"), "0x1234"],
    [shortHex(`0x${"ab".repeat(32)}`), "0xabab…abab"],
  ];
  for (const [got, want] of cases) assert.equal(got, want);
});

test("texts of the chain show what cannot be seen, and end", () => {
  assert.equal(chainText("Gold"), "Gold");
  assert.equal(chainText("a\u202eb\u0000\n\u200b"), "a⟨U+202E⟩b⟨U+0000⟩⟨U+000A⟩⟨U+200B⟩");
  assert.equal(chainText("x".repeat(65)), `${"x".repeat(64)}…`);
  assert.equal(chainText("😀".repeat(3), 2), "😀😀…");
  assert.equal(lossyText(hex("balance is too low")), "balance is too low");
  for (const none of ["0x", "0xff", hex("a\u0000b")]) assert.equal(lossyText(none), undefined);
});

test("arguments are what the ABI says, or bytes", () => {
  const parameters = [
    { name: "to", type: "account" },
    { name: "amount", type: "u64" },
  ];
  const to = `0x${"AB".repeat(32)}`;
  assert.deepEqual(decodeArguments(parameters, hex(`{"to":"${to}","amount":18446744073709551615,"more":1}`)), [
    { name: "to", type: "account", text: to.toLowerCase() },
    { name: "amount", type: "u64", text: "18446744073709551615" },
  ]);
  for (const wrong of [
    "0x",
    "0xff",
    hex("[]"),
    hex("null"),
    hex(`{"to":"${to}"}`),
    hex(`{"to":1,"amount":1}`),
    hex(`{"to":"${to}","amount":"<b>"}`),
    hex(`{"to":"${to}","amount":1.5}`),
  ]) {
    assert.equal(decodeArguments(parameters, wrong), undefined, wrong);
  }
  assert.deepEqual(decodeArguments([], "0x"), []);
  assert.equal(decodeArguments([{ name: "constructor", type: "string" }], hex("{}")), undefined);
  assert.equal(decodeResult("u8[]", hex("[1,2]"))?.text, "[1, 2]");
  assert.equal(decodeResult("u8[]", hex('["x"]')), undefined);
  assert.match(valueText(Array(500).fill(1)), /… 500 in all\]$/);
  assert.equal(decodeResult("string?", hex("null"))?.text, "none");
  assert.equal(decodeResult("nonsense", hex("1")), undefined);
  assert.equal(decodeResult("u64", hex("150"))?.text, "150");
  for (const [type, data] of [
    ["u64", hex("{}")],
    [undefined, hex("1")],
    ["bool", "0x"],
  ] as const)
    assert.equal(decodeResult(type, data), undefined);
});

test("the binary form, records and typed errors are shown by the ABI", () => {
  const fields = [
    { name: "price", type: "u64" },
    { name: "note", type: "string?" },
  ];
  const abi = {
    functions: [],
    events: [],
    types: [{ name: "Offer", kind: "record" as const, fields }],
    errors: [{ name: "TooLow", code: 2, fields: [{ name: "have", type: "u64" }] }],
  };
  assert.equal(decodeResult("Offer", "0x01050000000000000000", abi)?.text, "{price: 5, note: none}");
  assert.equal(decodeResult("Offer", "0x0105000000000000000000", abi), undefined);
  assert.deepEqual(decodeArguments([{ name: "v", type: "(u8,bool)[]" }], "0x0101000000000000000701", abi), [
    { name: "v", type: "(u8,bool)[]", text: "[[7, true]]" },
  ]);
  assert.equal(revertText(abi, "0x01020000000700000000000000"), "TooLow {have: 7}");
  assert.equal(revertText(abi, hex('{"error":"TooLow","code":2,"data":{"have":7}}')), "TooLow {have: 7}");
  assert.equal(revertText(null, hex("balance is too low")), "balance is too low");
  assert.equal(revertText(abi, `0x02${"aa".repeat(32)}0103000000`), `0x0103000000 (from 0x${"aa".repeat(32)})`);
});

test("gas of a call is its own, its host functions' and that of the calls below", () => {
  const call = { gasUsed: 100n, hostGas: { a: 20n, b: 5n }, belowGas: 31n };
  assert.deepEqual(gasOf(call as never), { own: 44n, host: 25n, below: 31n });
});

const header = (height: number, txCount = 0, branch = "a"): Header => ({
  height,
  hash: `0x${branch}${height}`,
  parentHash: `0x${branch}${height - 1}`,
  timestamp: height,
  txCount,
  gasUsed: 0n,
  gasLimit: 1n,
  baseFee: 10n,
  size: 1,
});

test("blocks join the list, and a chain that was taken back begins anew", () => {
  const three = [header(3), header(2), header(1)];
  assert.deepEqual(join([], header(7)), { blocks: [header(7)], reverted: false });
  assert.deepEqual(join(three, header(4)), { blocks: [header(4), ...three], reverted: false });
  const other = { ...header(3, 0, "b"), parentHash: "0xa2" as const };
  assert.deepEqual(join(three, other), { blocks: [other, ...three.slice(1)], reverted: true });
  assert.deepEqual(join(three, header(4, 0, "b")), { blocks: [header(4, 0, "b")], reverted: true }); // another branch
  assert.deepEqual(join(three, header(9)), { blocks: [header(9)], reverted: false }); // a gap
});

test("empty blocks fold, two and more in a row", () => {
  const list = [header(9), header(8), header(7, 1), header(6), header(5, 2), header(4), header(3), header(2)];
  const shown = (open: number[], most = 50): string[] =>
    fold(list, new Set(open), most).map((row) =>
      "block" in row ? String(row.block.height) : `${row.from.height}-${row.to.height}`,
    );
  assert.deepEqual(shown([]), ["8-9", "7", "6", "5", "2-4"]);
  assert.deepEqual(shown([2]), ["8-9", "7", "6", "5", "4", "3", "2"]);
  assert.deepEqual(shown([2], 5), ["8-9", "7", "6", "5", "4"]);
  assert.deepEqual(fold([], new Set(), 50), []);
});

test("a path is one page, or none", () => {
  const id = `0x${"ab".repeat(32)}`;
  for (const [path, want] of [
    ["/explorer/", { page: "home" }],
    ["/explorer", { page: "home" }],
    ["/explorer/block/17", { page: "block", ref: 17 }],
    [`/explorer/block/${id}`, { page: "block", ref: id }],
    [`/explorer/tx/${id}/`, { page: "tx", id }],
    ["/explorer/fees", { page: "fees" }],
    ["/explorer/proof/3", { page: "proof", height: 3 }],
    ["/explorer/block/017", { page: "none" }],
    ["/explorer/block/-1", { page: "none" }],
    ["/explorer/tx/0x12", { page: "none" }],
    [`/explorer/tx/${id.toUpperCase()}`, { page: "none" }],
    ["/explorer/tx/javascript:alert(1)", { page: "none" }],
    ["/explorer/fees/1", { page: "none" }],
    ["/explorer/constructor", { page: "none" }],
  ] as const)
    assert.deepEqual(readRoute(path, ""), want, path);
  assert.deepEqual(readRoute("/explorer/search", "?q=%3Cb%3E"), { page: "search", query: "<b>" });
});

test("a query is a height, a hash, an account or a name", () => {
  const key = "4e5df36cfbc908c4488d4f3cc3cab996ab026e5ae2cf04eb572a323d84b50205";
  const address = "bcrt1pfewlxm8meyyvgjydfu7v8j4ej64symj6ut8sf66h9germp94qgzs92e5zv";
  for (const [text, want] of [
    ["  ", { kind: "nothing" }],
    ["17", { kind: "height", height: 17 }],
    ["1,204", { kind: "height", height: 1204 }],
    ["0x11", { kind: "height", height: 17 }],
    [key.toUpperCase(), { kind: "hash", hash: `0x${key}` }],
    [`0x${key}`, { kind: "hash", hash: `0x${key}` }],
    [`02${key}`, { kind: "account", account: `0x${key}` }],
    [address, { kind: "account", account: `0x${key}` }],
    ["gold", { kind: "name", text: "gold" }],
    ["<b>", { kind: "name", text: "<b>" }],
    ["99999999999999999999", { kind: "name", text: "99999999999999999999" }],
  ] as const)
    assert.deepEqual(readQuery(text, "regtest"), want, text);
  const typo = readQuery(`${address.slice(0, -1)}z`, "regtest");
  assert.ok(typo.kind === "wrong" && typo.at.length === 1 && typo.at[0] === address.length - 1);
  assert.equal(readQuery(address, "mainnet").kind, "wrong");
});

test("the development keys are those of the vectors", () => {
  const keys = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8"));
  const vectors = JSON.parse(readFileSync(new URL("../../../../docs/vectors.json", import.meta.url), "utf8"));
  const want = vectors.wallet.accounts_of_testnet_and_regtest.map(
    (a: { public_key: string; private_key: string }) => ({
      account: `0x${a.public_key}`,
      private: `0x${a.private_key}`,
    }),
  );
  assert.deepEqual(keys, want);
});

test("what a module says of its source", () => {
  const module = (...sections: number[][]): Uint8Array =>
    new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections.flat()]);
  const section = (name: string, content: number[]): number[] => {
    const named = [name.length, ...new TextEncoder().encode(name), ...content];
    return [0, named.length, ...named];
  };
  const hash = new Array<number>(32).fill(0xab);
  const said = section("cairn_source", [1, ...hash]);
  const type = [1, 3, 0x60, 0, 0];
  const cases: [string, Uint8Array, string | null][] = [
    ["said", module(type, section("cairn_abi", [1]), said), "0x" + "ab".repeat(32)],
    ["the first counts", module(section("cairn_source", [2, ...hash]), said), null],
    ["long length", module([0, 0xae, 0, ...said.slice(2)]), "0x" + "ab".repeat(32)],
    ["none", module(type), null],
    ["empty", new Uint8Array(), null],
    ["short", module(section("cairn_source", [1, ...hash.slice(1)])), null],
    ["cut", module(said.slice(0, -1)), null],
    ["name behind the end", module([0, 1, 0x7f], said), null],
    ["endless length", module([0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], said), null],
  ];
  for (const [name, code, want] of cases) assert.equal(sourceOf(code), want, name);
});

test("code that can replace itself is told from code that cannot", () => {
  const text = (of: string): number[] => [of.length, ...Buffer.from(of)];
  const importOf = (name: string, kind = 0): number[] => [...text("env"), ...text(name), kind, 0x80, 1];
  const module = (...imports: number[][]): Uint8Array => {
    const section = [imports.length, ...imports.flat()];
    return new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 1, 0, 2, section.length, ...section, 3, 1, 0]);
  };
  const cases: [string, Uint8Array, boolean][] = [
    ["no imports", module(), false],
    ["others", module(importOf("call"), importOf("replace_codes"), importOf("replace_cod")), false],
    ["the first", module(importOf("replace_code"), importOf("call")), true],
    ["the last", module(importOf("call"), importOf("replace_code")), true],
    ["an import that is no function", module(importOf("memory", 2), importOf("call")), true],
    ["an import that is cut short", module([3, 1, 2]), true],
    ["no module", new Uint8Array(3), false],
  ];
  for (const [name, code, want] of cases) assert.equal(canChange(code), want, name);
});

test("storage is named and typed by the ABI, and whatever does not fit it is left to be shown as it is", () => {
  const cells = [
    { name: "count", kind: "cell", value: "u64" },
    { name: HOSTILE_NAME, kind: "map", key: "string", value: "string" },
    { name: "deals", kind: "list", value: "bool" },
  ];
  const abi = { storage: { encoding: "bare", cells } };
  assert.deepEqual(placeOf(abi, hex("count")), { name: "count", type: "u64" });
  const key = { name: "", type: "string", text: "</li>\u202e" };
  assert.deepEqual(placeOf(abi, hex(`${HOSTILE_NAME}\0</li>\u202e`)), { name: HOSTILE_NAME, type: "string", key });
  const index = { name: "", type: "u32", text: "258" };
  assert.deepEqual(placeOf(abi, `${hex("deals\0")}00000102`), { name: "deals", type: "bool", key: index });
  assert.deepEqual(decodeStorage(abi, "u64", "0x0500000000000000"), { name: "", type: "u64", text: "5" });
  for (const other of [hex("gone"), "0x", "0x00", hex("count\0"), `${hex(`${HOSTILE_NAME}\0`)}ff`, "no hex"]) assert.equal(placeOf(abi, other), undefined, other);
  for (const none of [null, {}, { storage: { encoding: "later", cells } }]) assert.equal(placeOf(none, hex("count")), undefined);
  for (const [type, data] of [["u64", "0x05"], ["bool", "0x02"], ["Gone", "0x00"], ["u64", "no hex"]] as const) {
    assert.equal(decodeStorage(abi, type, data), undefined, type);
  }
  assert.deepEqual(cells.map((cell) => ownKey(abi, cell)), [hex("count"), undefined, hex("deals")]);
});

test("a moment is a block or the end of a time", () => {
  for (const [text, want] of [
    ["17", { height: 17 }],
    ["1,204", { height: 1204 }],
    ["2026-11-28", { until: Date.UTC(2026, 10, 29) / 1000 - 1 }],
    ["2026-11-28 14:30", { until: Date.UTC(2026, 10, 28, 14, 31) / 1000 - 1 }],
    ["2026-11-28T14:30:05 UTC", { until: Date.UTC(2026, 10, 28, 14, 30, 5) / 1000 }],
    ["2026-02-30", undefined],
    ["2026-13-01", undefined],
    ["yesterday", undefined],
    ["", undefined],
    ["-1", undefined],
  ] as const)
    assert.deepEqual(readMoment(text), want, text);
});

test("a value is asked for by its parts, unless it has too many", () => {
  const field = (type: string) => ({ name: "f", type });
  const abi = {
    types: [
      { name: "Pair", kind: "record" as const, fields: [field("u8"), field("bool")] },
      { name: "Self", kind: "record" as const, fields: [field("Self")] },
      { name: "Node", kind: "record" as const, fields: [field("Node?"), field("Node[]")] },
      { name: "Wide", kind: "record" as const, fields: Array<{ name: string; type: string }>(100).fill(field("u8")) },
    ],
  };
  for (const [type, kind] of [
    ["u64", "text"], ["u8[][]", "text"], ["u64?", "optional"], ["Pair", "named"], ["Pair[]", "list"], ["(u8,Pair)", "tuple"],
    ["Self", "text"], ["Node", "named"], ["Wide", "text"], ["Wide[]", "list"], ["Gone", "text"], ["constructor", "text"],
  ] as const)
    assert.equal(partsOf(type, abi).kind, kind, type);
});
