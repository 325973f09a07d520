// Tests encodings beyond the vectors: random transactions decode to themselves, and no other bytes decode.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CodecError, PolicyError, ZERO, actionOf, batch, batches, contentOf, decodePolicy, decodeProof, decodeSigned, decodeTransaction, decodeUnsigned,
  decodeWitness, encodePolicy, encodeProof, encodeTransaction, encodeUnsigned, encodeWitness, formatMemo, formatTextSignature, formatTime, forms,
  makeRule, memo, parseJSON, parseTextSignature, policyHash, signTransaction, signingText, singlePolicy, staticFault, toHex, transactionHash,
  type Account, type Action, type Evidence, type Hex, type Payload, type Policy, type PublicSigner, type SignedTransaction, type StepAction, type Witness,
} from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { bytes, hex, random, vectors } from "./vectors.js";

type Next = (bound: number) => number;

const some = (next: Next, length: number): Uint8Array => Uint8Array.from({ length }, () => next(256));
const hexOf = (next: Next, length: number): Hex => toHex(some(next, length));
const u64 = (next: Next): bigint => BigInt(next(2 ** 31)) << BigInt(next(33));
const text = (next: Next): string => Array.from({ length: next(9) }, () => ["a", "é", "€", "😀", "\ufeff"][next(5)]).join("");
const maybe = <T>(next: Next, value: () => T): T | null => (next(2) === 0 ? null : value());

function randomPolicy(next: Next): Policy {
  const signer = (): PublicSigner => {
    const kinds: PublicSigner[] = [
      { type: "key", key: hexOf(next, 32) }, { type: "p256", point: hexOf(next, 64) }, { type: "passkey", point: hexOf(next, 64), verified: next(2) === 1 },
    ];
    return kinds[next(3)]!;
  };
  const rule = (): Policy["owner"] => ({ threshold: next(256), signers: Array.from({ length: next(5) }, signer) });
  return { number: u64(next), owner: rule(), recovery: maybe(next, () => ({ rule: rule(), delay: u64(next) })) };
}

function randomEvidence(next: Next): Evidence {
  const signature = hexOf(next, 64);
  const kinds: Evidence[] = [
    { type: "key", signature }, { type: "text", signature, sighash: next(2) as 0 | 1 }, { type: "p256", signature },
    { type: "passkey", authenticator: hexOf(next, 37), client: hexOf(next, next(100)), signature },
  ];
  return kinds[next(4)]!;
}

function randomWitness(next: Next): Witness {
  const signature = hexOf(next, 64);
  const proofs = Array.from({ length: next(4) }, () => ({ signer: next(256), evidence: randomEvidence(next) }));
  const kinds: Witness[] = [
    { type: "key", signature }, { type: "text", signature, sighash: next(2) as 0 | 1 }, { type: "policy", policy: randomPolicy(next), proofs },
  ];
  return kinds[next(3)]!;
}

function randomTransaction(next: Next): SignedTransaction {
  const action = (): Payload<Uint8Array> & { type: "transfer" | "call" } => {
    if (next(2) === 0) return { type: "transfer", memo: maybe(next, () => hexOf(next, 32)) };
    return { type: "call", function: text(next), args: some(next, next(40)) };
  };
  const steps = Array.from({ length: 1 + next(4) }, () => ({ target: hexOf(next, 32), value: u64(next), action: action() }));
  const payloads: Payload<Uint8Array>[] = [
    action(), { type: "deploy", name: text(next), code: some(next, next(300)), initArgs: some(next, next(40)) }, { type: "batch", steps },
    { type: "set_policy", recovery: next(2) === 1, policy: maybe(next, () => randomPolicy(next)) },
    { type: "instantiate", name: text(next), initArgs: some(next, next(40)) },
    { type: "configure", parameters: forms.parameters.read(vectors.parameters[next(2)].parameters) },
  ];
  return {
    sender: hexOf(next, 32), target: hexOf(next, 32), chainId: u64(next), nonce: u64(next), gasLimit: u64(next), maxFeePerGas: u64(next),
    maxPriorityFeePerGas: u64(next), value: u64(next), payer: maybe(next, () => hexOf(next, 32)), validUntil: maybe(next, () => u64(next)),
    payload: payloads[next(payloads.length)]!, witness: randomWitness(next), payerWitness: maybe(next, () => randomWitness(next)),
  };
}

test("what is encoded decodes to the same, and what decodes encodes to the same bytes", () => {
  const next = random(11);
  let accepted = 0;
  for (let round = 0; round < 1000; round++) {
    const tx = randomTransaction(next);
    const raw = encodeTransaction(tx);
    const { transaction, hash } = decodeSigned(raw);
    assert.deepEqual(transaction, tx);
    assert.equal(hash, transactionHash(tx), "the witnesses are no part of the hash");
    const { witness: _, payerWitness: __, ...unsigned } = tx;
    assert.deepEqual(decodeUnsigned(encodeUnsigned(tx)), unsigned);
    assert.deepEqual(contentOf(actionOf(tx)).payload, tx.payload);
    const changed = Uint8Array.from(raw);
    changed[next(raw.length)]! ^= 1 << next(8);
    try {
      assert.deepEqual(encodeTransaction(decodeTransaction(changed)), changed);
      accepted++;
    } catch (e) {
      assert.ok(e instanceof CodecError, String(e));
    }
    assert.throws(() => decodeTransaction(raw.subarray(0, next(raw.length))), CodecError);
    assert.throws(() => decodeTransaction(Uint8Array.of(...raw, 0)), /left over/);
  }
  assert.ok(accepted > 300 && accepted < 1000, `${accepted} changed ones decode`);
});

test("policies, witnesses and proofs are read strictly, and written as JSON and back", () => {
  const next = random(5);
  for (let round = 0; round < 200; round++) {
    const [policy, witness] = [randomPolicy(next), randomWitness(next)];
    assert.deepEqual(decodePolicy(encodePolicy(policy)), policy);
    assert.deepEqual(decodeWitness(encodeWitness(witness)), witness);
    const proof = { signer: next(256), evidence: randomEvidence(next) };
    assert.deepEqual(decodeProof(encodeProof(proof)), proof);
    const again = <T>(form: { read(json: unknown): T; write(value: T): unknown }, value: T): T => form.read(parseJSON(JSON.stringify(form.write(value))));
    assert.deepEqual(again(forms.policy, policy), policy);
    assert.deepEqual(again(forms.witness, witness), witness);
    const tx = randomTransaction(next);
    const { witness: _, payerWitness: __, ...unsigned } = tx;
    assert.deepEqual(again(forms.transaction, unsigned), unsigned);
  }
});

test("JSON is read strictly", () => {
  const policy = forms.policy.write(forms.policy.read(vectors.policies[0].policy)) as any;
  const wrong: unknown[] = [
    null, [], "policy", { ...policy, extra: 1 }, { number: 0, owner: policy.owner }, { ...policy, number: -1 }, { ...policy, number: 1.5 },
    { ...policy, number: "01" }, { ...policy, number: "18446744073709551616" }, { ...policy, number: "0x1" }, { ...policy, recovery: undefined },
    { ...policy, owner: { ...policy.owner, threshold: 256 } }, { ...policy, owner: { ...policy.owner, signers: {} } },
    { ...policy, owner: { ...policy.owner, signers: [{ type: "key", key: "0x00" }] } }, { ...policy, owner: { ...policy.owner, signers: [{ type: "toString" }] } },
  ];
  for (const json of wrong) assert.throws(() => forms.policy.read(json), CodecError, JSON.stringify(json));
  assert.equal(forms.policy.read({ ...policy, number: "18446744073709551615" }).number, (1n << 64n) - 1n);
  assert.equal((forms.policy.write({ ...forms.policy.read(policy), number: 1n << 60n }) as any).number, "1152921504606846976");
  const upper = JSON.parse(JSON.stringify(policy), (_, v: unknown) => (typeof v === "string" && v.startsWith("0x") ? `0x${v.slice(2).toUpperCase()}` : v));
  assert.deepEqual(forms.policy.read(upper), forms.policy.read(policy));
});

test("decoding refuses every length over its bound", () => {
  const policy = forms.policy.read(vectors.policies[0].policy);
  const signers = Array.from({ length: 17 }, (_, i): PublicSigner => ({ type: "key", key: hex(i.toString(16).padStart(64, "0")) }));
  assert.throws(() => encodePolicy({ ...policy, owner: { threshold: 1, signers } }), CodecError);
  assert.throws(() => encodeWitness({ type: "text", signature: hex("00".repeat(64)), sighash: 2 as 1 }), CodecError);
  const proof = { signer: 0, evidence: { type: "passkey", authenticator: hex("00".repeat(37)), client: hex("00".repeat(1025)), signature: hex("00".repeat(64)) } as Evidence };
  assert.throws(() => encodeProof(proof), CodecError);
  assert.throws(() => decodeTransaction(new Uint8Array((512 << 10) + 1)), /exceed the limit/);
  assert.throws(() => decodePolicy(new Uint8Array((512 << 10) + 1)), /exceed the limit/);
});

test("what has no encoding is refused", () => {
  const tx = { ...forms.transaction.read(vectors.transactions[0].transaction), witness: forms.witness.read(vectors.transactions[0].witness), payerWitness: null };
  assert.throws(() => encodeTransaction({ ...tx, value: 5 as unknown as bigint }), /must be a bigint, such as 5n, not number: 5/);
  const call = { type: "call", function: "\ud800", args: new Uint8Array() } as const;
  const step = { target: tx.target, value: 0n, action: { type: "transfer", memo: null } } as const;
  for (const bad of [
    { ...tx, nonce: 1n << 64n }, { ...tx, nonce: -1n }, { ...tx, value: 1n << 64n }, { ...tx, payload: call },
    { ...tx, payload: { type: "deploy", name: "", code: new Uint8Array(512 << 10), initArgs: new Uint8Array() } as const },
    { ...tx, payload: { type: "batch", steps: [] } as const }, { ...tx, payload: { type: "batch", steps: Array(257).fill(step) } as const },
    { ...tx, payload: { type: "batch", steps: [{ ...step, action: { type: "configure" } as never }] } as const },
    { ...tx, payload: { type: "transfer", memo: "0x00" } as const },
  ]) assert.throws(() => encodeTransaction(bad), CodecError);
  assert.throws(() => encodeTransaction({ ...tx, sender: "0x00" }), TypeError);
});

test("another account's signer is refused", async () => {
  const tx = forms.transaction.read(vectors.transactions[0].transaction);
  const other = new KeySigner(new Uint8Array(32).fill(1));
  await assert.rejects(signTransaction(tx, other), (e: any) => e.reason === "other_account");
  const key = new KeySigner(bytes(vectors.keys[0].secret));
  await assert.rejects(signTransaction(tx, key, other), (e: any) => e.reason === "other_account", "it has no payer");
});

test("actions are what transactions do", () => {
  const to: Account = `0x${"11".repeat(32)}`;
  const steps: StepAction[] = [{ type: "transfer", to, value: 5n, memo: memo("a") }, { type: "call", contract: to, value: 0n, function: "f", args: "0x01" }];
  const cases: [Action, Partial<ReturnType<typeof contentOf>>][] = [
    [{ type: "transfer", to, value: 7n }, { target: to, value: 7n, payload: { type: "transfer", memo: null } }],
    [{ type: "deploy", value: 3n, name: "n", code: "0x00", initArgs: "0x" }, { target: ZERO, value: 3n }],
    [{ type: "instantiate", value: 3n, template: to, name: "n", initArgs: "0x" }, { target: to, value: 3n }],
    [{ type: "set_policy", policy: null }, { target: ZERO, value: 0n, payload: { type: "set_policy", recovery: false, policy: null } }],
    [batch(...steps), { target: ZERO, value: 0n }],
  ];
  for (const [action, content] of cases) assert.deepEqual({ ...contentOf(action), ...content }, contentOf(action), action.type);
  assert.deepEqual(actionOf(contentOf(batch(...steps))), { type: "batch", steps });
  assert.deepEqual(batches(Array(600).fill(steps[0])).map((b) => (b.type === "batch" ? b.steps.length : 0)), [256, 256, 88]);
  assert.deepEqual(batches([]), []);
  for (const bad of [() => batch(), () => batch(...Array(257).fill(steps[0])), () => batches(steps, 0)]) assert.throws(bad, RangeError);
  assert.throws(() => batch({ type: "configure" } as never), CodecError);
});

test("memos and times are written as texts have them", () => {
  assert.equal(formatMemo(memo("invoice 7")), "invoice 7");
  assert.equal(formatMemo(memo("€")), memo("€"));
  assert.equal(formatMemo(memo("")), memo(""));
  for (const bad of ["x".repeat(33), "a\0b"]) assert.throws(() => memo(bad), RangeError);
  assert.equal(formatTime(0n), "1970-01-01 00:00:00 UTC");
  assert.equal(formatTime(253_402_300_799_999n), "9999-12-31 23:59:59 UTC");
  assert.equal(formatTime(253_402_300_800_000n), undefined);
  const tx = { ...forms.transaction.read(vectors.transactions[0].transaction), validUntil: 253_402_300_800_000n };
  assert.equal(signingText(tx, "regtest"), undefined);
});

test("rules are sorted, and no key counts twice", () => {
  const [a, b]: PublicSigner[] = [{ type: "key", key: hex("01".repeat(32)) }, { type: "key", key: hex("00".repeat(32)) }];
  const point = hex("22".repeat(64));
  assert.deepEqual(makeRule(1, [a!, b!]).signers, [b, a]);
  for (const [threshold, signers] of [
    [0, [a]], [2, [a]], [1, []], [1, [a, a]], [1, [{ type: "p256", point }, { type: "passkey", point, verified: true }]],
    [1, [{ type: "passkey", point, verified: false }, { type: "passkey", point, verified: true }]],
  ] as [number, PublicSigner[]][]) assert.throws(() => makeRule(threshold, signers), PolicyError, `${threshold} of ${signers.length}`);
  assert.notEqual(policyHash(singlePolicy(a!)), policyHash(singlePolicy(a!, 1n)));
});

test("wallets' signatures of texts are read in their forms", () => {
  const signature = hex("ab".repeat(64));
  for (const sighash of [0, 1] as const) {
    const base64 = formatTextSignature({ signature, sighash });
    for (const form of [base64, `smp${base64}`, ` ${base64}\n`]) assert.deepEqual(parseTextSignature(form), { signature, sighash });
  }
  const base64 = (...of: number[]): string => btoa(String.fromCharCode(...of));
  const zeros = (length: number): number[] => Array<number>(length).fill(0);
  for (const bad of ["", "?", "AA==", base64(1, 64, ...zeros(63)), base64(2, 64, ...zeros(64)), base64(1, 65, ...zeros(65)), base64(1, 65, ...zeros(64), 2)]) {
    assert.throws(() => parseTextSignature(bad), TypeError, bad);
  }
});

test("rules 3 to 10 need no signature", () => {
  const tx = { ...forms.transaction.read(vectors.transactions[0].transaction), witness: forms.witness.read(vectors.transactions[0].witness), payerWitness: null } as SignedTransaction;
  assert.equal(staticFault(tx), undefined);
  assert.equal(staticFault({ ...tx, payer: tx.sender })?.rule, 8);
  assert.equal(staticFault({ ...tx, maxFeePerGas: 0n })?.rule, 7);
});
