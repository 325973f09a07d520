// The SDKs for Go and TypeScript offer the same functions under the same names. Tables list the differences and the
// reasons.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import * as sdk from "@cairn-chain/sdk";
import * as keys from "@cairn-chain/sdk/keys";
import * as sender from "@cairn-chain/sdk/sender";
import * as signers from "@cairn-chain/sdk/signers";
import * as verify from "@cairn-chain/sdk/verify";

const repository = new URL("../../../", import.meta.url);

/** declared returns the names that a pattern finds in the Go files of a directory, except tests. */
function declared(directory: string, pattern: RegExp): string[] {
  const files = readdirSync(new URL(directory, repository)).filter((name) => name.endsWith(".go") && !name.endsWith("_test.go"));
  const names = files.flatMap((name) => [...readFileSync(new URL(directory + name, repository), "utf8").matchAll(pattern)].map((m) => m[1]!));
  return [...new Set(names)].sort();
}

const methods = (type: { prototype: object }): string[] => Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor");
const lower = (name: string): string => name[0]!.toLowerCase() + name.slice(1);

/** The names that differ from Go's: TypeScript has one name for several Go types, or a function in place of a type. */
const renamed: Record<string, string> = {
  New: "createClient", NewSigner: "KeySigner", NewTextSigner: "TextSigner", NewP256Signer: "P256Signer", NewPasskeySigner: "PasskeySigner",
  NewPolicySigner: "PolicySigner", NewDraft: "Draft", ParseDraft: "Draft", NewRule: "makeRule", RuleFor: "ruleOf", Sign: "signTransaction", Steps: "batch",
  Headers: "followHeaders", InclusionProof: "readIncluded", Invoke: "call", Raw: "call", Add: "batch",
  WaitReceipt: "receipt", WaitProven: "proven", BlockByNumber: "block", BlockByHash: "block", ProofBundle: "proof", RangeProof: "proof",
  SubscribeBlocks: "watchBlocks", SubscribeEvents: "watchEvents", SubscribePending: "watchPending", SubscribeRangeProofs: "watchRangeProofs",
  SubscribeSyncStatus: "watchSyncStatus", Payments: "watchPayments", Failure: "succeeded", View: "contract",
  CostsOf: "costs",
  NewFollower: "HeaderFollower", FindEquivocation: "convicts", VerifyValue: "merkleFault", DeriveAccount: "Wallet", ParseAccount: "AccountKey",
  SeedFromMnemonic: "Wallet", DeriveBIP86: "keyFromMnemonic", NewMnemonic: "generateMnemonic",
};

/** The functions that are single methods of the node; TypeScript types all of these by `call`. */
const byCall: Record<string, string> = {
  AccessList: "svc_getAccessList", Account: "svc_getAccount", AccountProof: "svc_getAccountProof", BlockNumber: "svc_blockNumber", BlockReceipts: "svc_getBlockReceipts",
  BlockTransactions: "svc_getBlockTransactions", Blocks: "svc_getBlocks", ChainID: "svc_chainId", Code: "svc_getCode",
  Contract: "svc_getContract", ContractABI: "svc_getContractAbi", ContractCode: "svc_getContractCode", Contracts: "svc_listContracts",
  EstimateGas: "svc_estimateGas", Events: "svc_getEvents", FeeHistory: "svc_getFeeHistory", FeeMarket: "svc_getFeeMarket",
  GasPrice: "svc_gasPrice", Genesis: "svc_getGenesis", MempoolStats: "svc_getMempoolStats", NodeInfo: "svc_getNodeInfo",
  Parameters: "svc_getParameters", PaymentPage: "svc_getPayments", PendingTransactions: "svc_getPendingTransactions", Proof: "svc_getProof",
  Receipt: "svc_getTransactionReceipt", RecentTransactions: "svc_listRecentTransactions", ResolveAddress: "svc_resolveAddress",
  Run: "svc_call", StateProof: "svc_getStateProof", StateSnapshot: "svc_getStateSnapshot", StorageAt: "svc_getStorageAt",
  StorageProof: "svc_getStorageProof", SyncStatus: "svc_getSyncStatus", TokenBalance: "svc_getTokenBalance", TokenHolders: "svc_getTokenHolders",
  Trace: "svc_traceTransaction", TraceUnsent: "svc_traceCall", TraceWithPlaces: "svc_traceTransaction", Transaction: "svc_getTransactionByHash",
  TransactionByNonce: "svc_getTransactionByNonce", TransactionsOf: "svc_getTransactionsByAddress", VerifyProof: "svc_verifyProof",
  ViewProof: "svc_getViewProof", Views: "svc_batchViewCall", Dev: "dev_mine",
};

/** The names that only Go has, with the reasons. */
const goOnly: Record<string, string> = {
  Close: "connections are the runtime's in JavaScript", Download: "files for nodes", AccessListFile: "files for nodes",
  EncodedBlocks: "files for nodes", OfferedSnapshot: "files for nodes", Source: "the archive of a contract's sources, for its verification",
  CallAs: "for tests of contracts", SubscribeProofs: "proofs are waited for with `proven`, or read by verifyChain", Call: "an action is an object literal",
  Transfer: "an action is an object literal", TransferWithMemo: "an action is an object literal", Configure: "an action is an object literal",
  CallEncoded: "an action is an object literal", SetPolicy: "an action is an object literal", Recover: "an action is an object literal",
  SignAll: "keys sign one by one here", ActionOf: "within the package here", Outbid: "senders replace by themselves",
  Shortfall: "error.is types the data of cannot_pay",
  NewChain: "the package @cairn-chain/proof", Verify: "the package @cairn-chain/proof", VerifyRange: "the package @cairn-chain/proof",
  IsRange: "the package @cairn-chain/proof", ParseMnemonic: "keyFromMnemonic throws a KeyError",
};

/** The options of a client in Go, with their names in TypeScript. */
const options: Record<string, string> = {
  WithToken: "key", WithTokenSource: "key", WithTransport: "fetch", WithRetry: "retry", WithFallback: "fallback", WithTimeout: "timeout",
  WithWait: "", WithoutReconnect: "", // for tests, and for nodes
};

/** The names that only TypeScript has, with the reasons. */
const tsOnly: Record<string, string> = {
  url: "a property of the options in Go", blockWithTransactions: "BlockByNumber and BlockByHash with full in Go", with: "a context in Go", failed: "within the package in Go", post: "Batch.SendOnce",
};

const FUNCTION = /^func ([A-Z]\w*)[[(]/gm;
/** offered returns the methods of Go's client, and the functions of its SDK. */
const offered = [
  ...declared("client/", /^func \(c \*Client\) ([A-Z]\w*)\(/gm), ...["client/", "proof/", "wallet/"].flatMap((directory) => declared(directory, FUNCTION)),
];

test("what the SDK for Go offers is in the one for TypeScript", () => {
  const typed = readFileSync(new URL("sdk/typescript/src/generated.ts", repository), "utf8"); // methods
  const here = new Set([sdk, keys, signers, verify].flatMap((part) => Object.keys(part)).concat(methods(sdk.Client)));
  assert.ok(offered.length > 60, `${offered.length} names were found`);
  for (const name of offered) {
    const known = here.has(lower(name)) || here.has(renamed[name] ?? "") || typed.includes(`  ${byCall[name]}: {`) || name in goOnly || name in options;
    assert.ok(known, `${name} of Go: got nothing for it, want ${lower(name)} in TypeScript, or a line in the table that says why not`);
  }
  for (const name of Object.keys({ ...byCall, ...goOnly, ...options })) assert.ok(offered.includes(name), `${name} is in the table, and Go has none`);
  const declaredOptions = readFileSync(new URL("sdk/typescript/src/client.ts", repository), "utf8");
  for (const name of Object.values(options)) assert.match(declaredOptions, new RegExp(`^  ${name}\\??:|^$`, "m"), name);
});

test("what the client for TypeScript offers is in the one for Go", () => {
  const inGo = offered.map(lower);
  for (const name of methods(sdk.Client)) {
    const known = inGo.includes(name) || Object.values(renamed).includes(name) || name in tsOnly;
    assert.ok(known, `${name} of TypeScript: got nothing for it in Go`);
  }
});

test("both senders offer the same", () => {
  const offered = declared("kit/sender/", /^func \(s \*Sender\) ([A-Z]\w*)\(/gm).map(lower);
  const other = ["status"]; // Options.OnConnection in Go
  assert.deepEqual(methods(sender.Sender).filter((name) => !other.includes(name)).sort(), offered);
});

test("drafts and followers of headers offer the same", () => {
  const types: [directory: string, receiver: string, type: { prototype: object }, renamed: Record<string, string>][] = [
    ["client/", "d \\*Draft", signers.Draft, { text: "statement", marshalJSON: "toJSON" }],
    ["proof/", "f \\*Follower", verify.HeaderFollower, { next: "take", verifyInclusion: "" }], // a function here
  ];
  for (const [directory, receiver, type, names] of types) {
    const wanted = declared(directory, new RegExp(`^func \\(${receiver}\\) ([A-Z]\\w*)\\(`, "gm")).map(lower).map((name) => names[name] ?? name);
    assert.deepEqual(methods(type).sort(), wanted.filter((name) => name !== "").sort(), receiver);
  }
});
