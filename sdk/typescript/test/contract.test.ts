import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  AbiError, RpcError, contract, contractId, decodeArguments, decodeResult, decodeRevert, deploy, encodeArguments, fromHex, succeeded, toBytes, toHex, type Abi, type Account,
  type ArgsOf, type Client, type Hex, type Action, type ValueOf,
} from "@cairn-chain/sdk";
import { createSender } from "@cairn-chain/sdk/sender";
import { atTyped, typedError } from "./bindings/typed.js";
import { devKey, startNode } from "./node.js";
import { numbered } from "./vectors.js";

const abi = {
  binary: true,
  functions: [
    { name: "init", mode: "init", args: [{ name: "name", type: "string" }, { name: "symbol", type: "string" }, { name: "decimals", type: "u32" }, { name: "initialSupply", type: "u64" }] },
    { name: "balanceOf", mode: "read", args: [{ name: "address", type: "account" }], returns: "u64" },
    { name: "symbol", mode: "read", args: [], returns: "string" },
    { name: "decimals", mode: "read", args: [], returns: "u32" },
    { name: "transfer", mode: "write", args: [{ name: "to", type: "account" }, { name: "amount", type: "u64" }], returns: "bool" },
  ],
  events: [{ name: "Transfer", args: [{ name: "from", type: "account" }, { name: "to", type: "account" }, { name: "amount", type: "u64" }] }],
} as const;

// Checks of types, which are compiled but never run.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <T extends true>(_: T): void => {};
export function types(token: ReturnType<typeof contract<typeof abi>>): void {
  same<Same<ValueOf<"u64?[]">, (bigint | null)[]>>(true);
  same<Same<ValueOf<"account[][]">, Account[][]>>(true);
  same<Same<ValueOf<"u256">, never>>(true);
  same<Same<ValueOf<"u128">, bigint>>(true);
  same<Same<ValueOf<"(u64,bool)[]">, [bigint, boolean][]>>(true);
  same<Same<ValueOf<"bytes4">, Uint8Array>>(true);
  type Named = readonly [
    { name: "Offer"; kind: "record"; fields: readonly [{ name: "price"; type: "u64" }, { name: "note"; type: "string?" }] },
    { name: "State"; kind: "enum"; variants: readonly [{ name: "Open" }, { name: "Sold"; fields: readonly [{ name: "to"; type: "account" }] }] },
  ];
  const offers: ValueOf<"Offer[]", Named> = [{ price: 1n }, { price: 2n, note: null }];
  const states: ValueOf<"State[]", Named> = ["Open", { Sold: { to: "0x00" } }];
  // @ts-expect-error there is no such variant
  const gone: ValueOf<"State", Named> = "Gone";
  void [offers, states, gone];
  const optional: ArgsOf<readonly [{ readonly name: "a"; readonly type: "u8?" }]> = {};
  void optional;
  const balance: Promise<bigint> = token.view.balanceOf({ address: "0x00" });
  const symbol: Promise<string> = token.view.symbol({}, 5);
  void [balance, symbol];
  // @ts-expect-error transfer is not payable
  token.call.transfer({ to: "0x00", amount: 1n }, 5n);
  const moved: boolean = token.result("transfer", { returnData: "0x" });
  const followed = async (): Promise<bigint> => {
    for await (const { args } of token.watch("Transfer", { fromBlock: 1 })) return args.amount;
    return 0n;
  };
  const init = { name: "Gold", symbol: "GLD", decimals: 2, initialSupply: 5n };
  const deployed: Action = deploy(abi, { name: "gold", code: "0x00", args: init });
  // @ts-expect-error the arguments of init are missing
  deploy(abi, { name: "gold", code: "0x00" });
  const hexAndBytes: Action = { type: "call", value: 0n, contract: "0x00", function: "f", args: encodeArguments([], {}) };
  void [moved, followed, deployed, hexAndBytes];
  // @ts-expect-error an argument is missing
  token.call.transfer({ to: "0x00" });
  // @ts-expect-error an amount is a bigint
  token.call.transfer({ to: "0x00", amount: 1 });
  // @ts-expect-error there is no such argument
  token.call.transfer({ to: "0x00", amount: 1n, memo: "" });
  // @ts-expect-error transfer is no view
  token.view.transfer({ to: "0x00", amount: 1n });
  // @ts-expect-error there is no such function
  token.call.mint({});
  // @ts-expect-error there is no such event
  void token.events("Burn");
  // @ts-expect-error a result is a bigint
  const wrong: Promise<string> = token.view.balanceOf({ address: "0x00" });
  void wrong;
}

test("arguments are encoded as the conventions say", () => {
  const text = (type: string, value: unknown): string => {
    return Buffer.from(fromHex(encodeArguments([{ name: "a", type }], value === undefined ? {} : { a: value }))).toString();
  };
  const account = `0x${"1f".repeat(32)}`;
  const cases: [string, unknown, string][] = [
    ["bool", true, '{"a":true}'], ["u8", 255, '{"a":255}'], ["u64", 18446744073709551615n, '{"a":"18446744073709551615"}'], ["i64", -5n, '{"a":"-5"}'],
    ["u32", 7n, '{"a":7}'], ["bytes", Uint8Array.of(1, 171), '{"a":"0x01ab"}'], ["string", '"é', '{"a":"\\"é"}'], ["account", account, `{"a":"${account}"}`],
    ["u64?", undefined, '{"a":null}'], ["u8[]", [1, 2], '{"a":[1,2]}'], ["u64?[]", [null, 1n], '{"a":[null,"1"]}'],
  ];
  for (const [type, value, want] of cases) assert.equal(text(type, value), want);
  const bad: [string, unknown][] = [
    ["bool", 1], ["u8", 256], ["u8", -1], ["u8", 1.5], ["u64", 1n << 64n], ["u64", "1"], ["i64", 1n << 63n], ["string", undefined], ["bytes", "0x"],
    ["account", "0x1f"], ["hash", account.toUpperCase()], ["u8[]", 1], ["u8[]", [256]], ["u128", -1], ["u256", 1], ["toString", 1],
  ];
  for (const [type, value] of bad) assert.throws(() => text(type, value), AbiError, `${type} of ${String(value)}`);
  assert.throws(() => encodeArguments([], { b: 1 }), AbiError);
  assert.equal(encodeArguments([]), "0x");
});

/** asText returns values of the SDK as canonical JSON. */
function asText(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? v.toString() : v instanceof Uint8Array ? toHex(v) : v));
}

interface Vector {
  type: string;
  json?: unknown;
  binary?: string;
}

test("values of every type are read and written in both forms", () => {
  const known = numbered.abi as { abi: Abi; values: Vector[]; refused: Vector[] };
  assert.ok(known.values.length > 25 && known.refused.length > 25);
  const loose = (text: string): string => text.replace(/"(-?\d+)"/g, "$1");
  for (const { type, json, binary } of known.values) {
    const data = `0x01${binary}` as Hex;
    const value = decodeResult(type, data, known.abi);
    assert.equal(loose(asText(value)), loose(JSON.stringify(json)), type);
    assert.equal(encodeArguments([{ name: "v", type }], { v: value }, known.abi), data, type);
    const text = toHex(new TextEncoder().encode(JSON.stringify(json)));
    assert.deepEqual(decodeResult(type, text, known.abi), value, `${type} in JSON`);
    const given = encodeArguments([{ name: "v", type }], { v: value }, { ...known.abi, binary: false });
    assert.deepEqual(decodeArguments([{ name: "v", type }], given, known.abi), { v: value }, `${type} as an argument`);
  }
  // JSON.parse hides some differences: another way to write a number, and a duplicate member.
  const unseen = ["1e1", "1.0"];
  let seen = 0;
  for (const { type, json, binary } of known.refused) {
    const text = typeof json === "string" ? json : "";
    if (unseen.includes(text) || (text.match(/"price"/g) ?? []).length > 1) continue;
    const data: Hex = binary === undefined ? toHex(new TextEncoder().encode(text)) : `0x01${binary}`;
    assert.throws(() => decodeResult(type, data, known.abi), AbiError, `${type} ${text}${binary}`);
    seen++;
  }
  assert.ok(seen > 20, `${seen}`);
});

test("reverts are read in both forms", () => {
  const known = numbered.abi as { abi: Abi; reverts: { data: string; revert: Record<string, unknown> }[] };
  for (const { data, revert } of known.reverts) {
    const got = decodeRevert(known.abi, `0x${data}`);
    assert.equal(asText(got).replace(/"(\d+)"/g, "$1"), asText({ ...pick(revert, "text"), ...pick(revert, "error"), ...pick(revert, "code"),
      ...pick(revert, "data"), ...pick(revert, "by") }), data);
  }
  assert.ok(known.reverts.length > 5);
});

function pick(from: Record<string, unknown>, name: string): Record<string, unknown> {
  return name in from ? { [name]: from[name] } : {};
}

test("an event that is not of its types ends no list: reading it does", async () => {
  const data = (text: Uint8Array): string => toHex(Uint8Array.from([...new TextEncoder().encode('{"n":'), ...text, 0x7d]));
  const listed = [Uint8Array.of(0x22, 0xff, 0x22), Uint8Array.of(0x35)].map((text) => ({ event_name: "Note", data: data(text) }));
  const abi = { functions: [], events: [{ name: "Note", args: [{ name: "n", type: "u64" }] }] } as const;
  const [bad, good] = await contract(abi, `0x${"11".repeat(32)}`, { call: async () => listed } as unknown as Client).events("Note");
  assert.throws(() => bad!.args, AbiError);
  assert.deepEqual(good!.args, { n: 5n });
});

test("a token is deployed, called and read by its ABI", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  const [owner, other] = [devKey(0).account, devKey(1).account];
  const sender = await createSender(client, devKey(0), { poll: 50 });
  const code = readFileSync(new URL("../../../contracts/wasm/nep20.wasm", import.meta.url));
  const given = { name: "Gold", symbol: "GLD", decimals: 2, initialSupply: 18446744073709551615n };
  const receipt = succeeded(await sender.send(deploy(abi, { name: "gold", code: Uint8Array.from(code), args: given })).receipt);
  assert.equal(receipt.contractAddress, contractId(owner, 0n));
  const declared = await client.call("svc_getContractAbi", receipt.contractAddress!);
  for (const f of abi.functions) assert.deepEqual({ ...declared!.functions.find((d) => d.name === f.name) }, f);

  const token = contract(abi, receipt.contractAddress!, client);
  const transfer = token.call.transfer({ to: other, amount: 9007199254740993n });
  assert.ok(transfer.type === "call" && toBytes(transfer.args)[0] === 1, "sent in the binary form");
  const moved = succeeded(await sender.send(transfer).receipt);
  assert.equal(token.result("transfer", moved), true);
  assert.deepEqual(await Promise.all([
    token.view.balanceOf({ address: other }), token.view.symbol(), token.view.decimals(), token.view.balanceOf({ address: other }, receipt.blockHeight),
  ]), [9007199254740993n, "GLD", 2, 0n]);
  const events = await token.events("Transfer");
  assert.deepEqual(events.map(({ args }) => args.amount), [18446744073709551615n, 9007199254740993n], "exact beyond 2^53");
  assert.deepEqual(await token.events("Transfer", { cursor: events[1]!.event.cursor }), []);
  const followed: bigint[] = [];
  for await (const { args } of token.watch("Transfer", { fromBlock: 1 })) if (followed.push(args.amount) === 2) break;
  assert.deepEqual(followed, events.map(({ args }) => args.amount));
  const tooMuch = sender.send({ ...token.call.transfer({ to: owner, amount: 1n }), contract: other } as ReturnType<typeof token.call.transfer>);
  await assert.rejects(tooMuch.receipt, (e) => e instanceof RpcError && e.is("no_such_contract"));
  await sender.close();
});

test("generated bindings drive a contract of every type", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  const sender = await createSender(client, devKey(0), { poll: 50 });
  const code = Uint8Array.from(readFileSync(new URL("../../../contracts/wasm/types.wasm", import.meta.url)));
  const deployed = succeeded(await sender.send({ type: "deploy", value: 0n, name: "types", code, initArgs: new Uint8Array() }).receipt);
  const k = atTyped(deployed.contractAddress!, client);
  const offer = { seller: devKey(0).account, price: 5n, note: "hi" };
  succeeded(await sender.send(k.call.keep({ id: 7, offer, state: { Sold: { to: offer.seller, price: 1n << 60n } } })).receipt);
  const [kept, state] = await k.view.kept({ id: 7 });
  assert.deepEqual({ ...kept }, offer);
  assert.deepEqual(state, { Sold: { to: offer.seller, price: 1n << 60n } });
  succeeded(await sender.send(k.call.see({ wide: (1n << 127n) - 1n, state: "Open", offer })).receipt);
  const [seen] = await k.events("Seen");
  assert.deepEqual([seen!.args.wide, seen!.args.below, seen!.args.state, seen!.args.pair], [(1n << 127n) - 1n, 1n - (1n << 127n), "Open", [(1n << 64n) - 1n, true]]);
  assert.deepEqual(await k.view.pairs({ v: [[1n, false], [2n, true]] }), [[1n, false], [2n, true]]);

  const refused = await sender.send(k.call.refuse({ have: 7n, need: 10n })).receipt.catch((e: unknown) => e);
  const error = typedError(refused);
  assert.ok(error?.error === "TooLow" && error.data.need === 10n, String(refused));
  assert.equal(typedError(new Error("no")), undefined);
  await sender.close();
});
