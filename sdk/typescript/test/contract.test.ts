import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AbiError, RpcError, contract, contractId, encodeArguments, fromHex, succeeded, type Account, type ArgsOf, type ValueOf } from "cairn-sdk";
import { createSender } from "cairn-sdk/sender";
import { devKey, startNode } from "./node.js";

const abi = {
  functions: [
    { name: "init", mode: "init", args: [{ name: "name", type: "string" }, { name: "symbol", type: "string" }, { name: "decimals", type: "u32" }, { name: "initialSupply", type: "u64" }] },
    { name: "balanceOf", mode: "read", args: [{ name: "address", type: "account" }], returns: "u64" },
    { name: "symbol", mode: "read", args: [], returns: "string" },
    { name: "decimals", mode: "read", args: [], returns: "u32" },
    { name: "transfer", mode: "write", args: [{ name: "to", type: "account" }, { name: "amount", type: "u64" }], returns: "bool" },
  ],
  events: [{ name: "Transfer", args: [{ name: "from", type: "account" }, { name: "to", type: "account" }, { name: "amount", type: "u64" }] }],
} as const;

// Types: compiled, never run.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <T extends true>(_: T): void => {};
export function types(token: ReturnType<typeof contract<typeof abi>>): void {
  same<Same<ValueOf<"u64?[]">, (bigint | null)[]>>(true);
  same<Same<ValueOf<"account[][]">, Account[][]>>(true);
  same<Same<ValueOf<"u128">, never>>(true);
  const optional: ArgsOf<readonly [{ readonly name: "a"; readonly type: "u8?" }]> = {};
  void optional;
  const balance: Promise<bigint> = token.view.balanceOf({ address: "0x00" });
  const symbol: Promise<string> = token.view.symbol({}, 5);
  void [balance, symbol];
  token.call.transfer({ to: "0x00", amount: 1n }, 5n);
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
    ["account", "0x1f"], ["hash", account.toUpperCase()], ["u8[]", 1], ["u8[]", [256]], ["u128", 1], ["toString", 1],
  ];
  for (const [type, value] of bad) assert.throws(() => text(type, value), AbiError, `${type} of ${String(value)}`);
  assert.throws(() => encodeArguments([], { b: 1 }), AbiError);
  assert.equal(encodeArguments([]), "0x");
});

test("a token is deployed, called and read by its ABI", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  const [owner, other] = [devKey(0).account, devKey(1).account];
  const sender = await createSender(client, devKey(0), { poll: 50 });
  const code = readFileSync(new URL("../../../contracts/wasm/nep20.wasm", import.meta.url));
  const initArgs = fromHex(encodeArguments(abi.functions[0].args, { name: "Gold", symbol: "GLD", decimals: 2, initialSupply: 18446744073709551615n }));
  const receipt = succeeded(await sender.send({ type: "deploy", value: 0n, name: "gold", code: Uint8Array.from(code), initArgs }).receipt);
  assert.equal(receipt.contractAddress, contractId(owner, 0n));
  const declared = await client.call("svc_getContractAbi", receipt.contractAddress!);
  for (const f of abi.functions) assert.deepEqual({ ...declared!.functions.find((d) => d.name === f.name) }, f);

  const token = contract(abi, receipt.contractAddress!, client);
  succeeded(await sender.send(token.call.transfer({ to: other, amount: 9007199254740993n })).receipt);
  assert.deepEqual(await Promise.all([
    token.view.balanceOf({ address: other }), token.view.symbol(), token.view.decimals(), token.view.balanceOf({ address: other }, receipt.blockHeight),
  ]), [9007199254740993n, "GLD", 2, 0n]);
  const events = await token.events("Transfer");
  assert.deepEqual(events.map(({ args }) => args.amount), [18446744073709551615n, 9007199254740993n], "exact beyond 2^53");
  assert.deepEqual(await token.events("Transfer", { cursor: events[1]!.event.cursor }), []);
  const tooMuch = sender.send({ ...token.call.transfer({ to: owner, amount: 1n }), contract: other } as ReturnType<typeof token.call.transfer>);
  await assert.rejects(tooMuch.receipt, (e) => e instanceof RpcError && e.is("no_such_contract"));
  await sender.close();
});
