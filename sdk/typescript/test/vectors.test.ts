// Tests docs/vectors.json: transactions, their witnesses and texts, and the contexts in which they are judged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import {
  CodecError, GAS, authorityAt, bip322Message, changeFault, checkPolicy, claim, contractId, decodePolicy, decodeRecord, decodeSigned, decodeUnsigned,
  decodeWitness, encodeParameters, encodePolicy, encodeRecord, encodeTransaction, encodeUnsigned, encodeWitness, formatAddress, forms, fromHex,
  instanceId, messageHash, messageText, nextBaseFee, payerHash, policyHash, signTransaction, signingText, tagged, toHex, transactionHash,
  versionAt, witnessDigest, decodeParameters, type Account, type AccountRecord, type Cosigner, type Hex, type Network, type Parameters, type Role,
  type Signer, type Transaction, type Witness,
} from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { P256Signer, PolicySigner, TextSigner } from "@cairn-chain/sdk/signers";
import { transactionFault, transactionLeaf, verifyMessage } from "@cairn-chain/sdk/verify";
import { sha256 } from "../dist/hash.js";
import { brokenRule, gasOf, type Context } from "./judge.js";
import { bytes, bytesOf, hex, vectors } from "./vectors.js";

const NETWORKS: Network[] = ["mainnet", "testnet", "regtest"];
const { network } = vectors.judged_in as { network: Network };

/** context returns the context of a vector: the common one with the vector's own changes. */
function context(given: any): Context {
  const v = { ...vectors.judged_in, ...given };
  const record = (account: Account): AccountRecord => {
    const encoded = v.accounts[account.slice(2)];
    return decodeRecord(account, encoded ? bytes(encoded) : null);
  };
  return {
    chainId: BigInt(v.chain_id), network: v.network, parameters: forms.parameters.read(v.parameters), baseFee: BigInt(v.base_fee),
    timestamp: BigInt(v.timestamp), gasLeft: BigInt(v.gas_left), bytesLeft: Number(v.bytes_left), account: record,
  };
}

test("tagged hashes are those of the vectors", () => {
  for (const v of vectors.tagged_hashes) assert.equal(toHex(tagged(v.tag, bytes(v.message))), hex(v.hash), v.tag);
});

test("prices of gas are those of the schedule's text", () => {
  const { text, digest } = vectors.gas_schedule;
  assert.equal(toHex(sha256(new TextEncoder().encode(text))), hex(digest));
  const schedule = new Map<string, string>(text.trim().split("\n").map((line: string) => line.split(" ")));
  for (const [name, price] of Object.entries(GAS)) assert.equal(price, BigInt(schedule.get(name)!), name);
});

test("policies are encoded, named and checked", () => {
  for (const v of vectors.policies) {
    const policy = forms.policy.read(v.policy);
    checkPolicy(policy);
    assert.equal(toHex(encodePolicy(policy)), hex(v.encoded), v.name);
    assert.deepEqual(decodePolicy(bytes(v.encoded)), policy, v.name);
    assert.equal(policyHash(policy), hex(v.hash), v.name);
    for (const name of NETWORKS) assert.equal(formatAddress(policyHash(policy), name), v.addresses[name]);
    assert.deepEqual(unprefixed(forms.policy.write(policy)), v.policy);
  }
  assert.equal(vectors.policies.length, 4);
});

/** unprefixed returns JSON with hex in the form of the vectors. */
function unprefixed(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json), (_, value: unknown) => (typeof value === "string" && value.startsWith("0x") ? value.slice(2) : value));
}

/** comparable converts a value of the vectors to JSON's form, with integers over 2^53 - 1 as texts. */
function comparable(vector: unknown): unknown {
  return JSON.parse(JSON.stringify(vector, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)));
}

/** The secret keys of the vectors, by their public keys. */
const secrets = new Map<string, string>(vectors.keys.map((key: any) => [key.public, key.secret]));

/**
 * cosigner signs with the vectors' key of a signer, in the form of the given evidence; undefined if the vectors do not
 * have its key.
 */
function cosigner(signer: any, evidence: Witness["type"] | "p256" | "passkey"): Cosigner | undefined {
  const secret = secrets.get((signer.key ?? signer.point).slice(2));
  if (secret === undefined) return undefined;
  if (evidence === "key") return new KeySigner(bytes(secret), new Uint8Array(32));
  if (evidence === "p256") {
    return new P256Signer(signer.point, async (message) => signP256(secret, sha256(sha256(message).subarray()), sha256(message)));
  }
  return undefined;
}

/** signP256 signs a digest like the vectors, with the nonce SHA256(digest) mod n. */
function signP256(secret: string, nonce: Uint8Array, digest: Uint8Array): Uint8Array {
  const { Fn, BASE } = p256.Point;
  const number = (of: Uint8Array): bigint => BigInt(toHex(of)) % Fn.ORDER;
  const k = number(nonce);
  const r = BASE.multiply(k).x % Fn.ORDER;
  const s = Fn.mul(Fn.inv(k), Fn.add(number(digest), Fn.mul(r, BigInt(hex(secret)))));
  return new p256.Signature(r, s).toBytes("compact"); // the signer takes the lower s
}

test("transactions are encoded, named, written as text, judged and signed as the vectors say", async () => {
  for (const v of vectors.transactions) {
    const tx = forms.transaction.read(v.transaction);
    assert.equal(toHex(encodeUnsigned(tx)), hex(`02${v.message}`), v.name);
    assert.deepEqual(decodeUnsigned(bytes(`02${v.message}`)), tx, v.name);
    assert.deepEqual(unprefixed(forms.transaction.write(tx)), comparable(v.transaction), v.name);
    const hash = transactionHash(tx);
    assert.equal(hash, hex(v.id), v.name);
    assert.equal(payerHash(hash), hex(v.payer_hash), v.name);
    assert.equal(signingText(tx, network), v.text, v.name);
    assert.equal(signingText(tx, network, "payer"), v.payer_text, v.name);
    const [witness, payerWitness] = [forms.witness.read(v.witness), v.payer_witness && forms.witness.read(v.payer_witness)];
    assert.deepEqual(unprefixed(forms.witness.write(witness)), v.witness, v.name);
    assert.deepEqual(decodeWitness(encodeWitness(witness)), witness, v.name);
    assert.equal(claim(tx.sender, witness), hex(v.claim), v.name);
    assert.equal(witnessDigest(witness, payerWitness), hex(v.witness_digest), v.name);
    const signed = { ...tx, payload: decodeUnsigned(encodeUnsigned(tx)).payload, witness, payerWitness };
    assert.equal(transactionLeaf(signed), hex(v.leaf), v.name);
    assert.equal(toHex(encodeTransaction(signed)), hex(v.signed), v.name);
    assert.deepEqual(decodeSigned(bytes(v.signed)), { transaction: signed, hash }, v.name);
    assert.equal(transactionFault(signed, network), undefined, v.name);
    const judged = context(v.context);
    assert.equal(gasOf(signed, judged), BigInt(v.intrinsic_gas), v.name);
    assert.equal(brokenRule(bytes(v.signed), judged), 0, v.name);
  }
  assert.equal(vectors.transactions.length, 16);
});

/** signerOf returns a signer for a witness of the vectors; undefined if the witness needs a passkey. */
function signerOf(account: Account, witness: Witness): Signer | undefined {
  const secret = (key: Hex): Uint8Array => bytes(secrets.get(key.slice(2))!);
  if (witness.type === "key") return new KeySigner(secret(account), new Uint8Array(32));
  if (witness.type === "text") return new TextSigner(network, account, async (text) => wallet(secret(account), account, text, witness.sighash));
  const rules = [witness.policy.owner, witness.policy.recovery?.rule].flatMap((rule) => rule ?? []);
  const cosigners = witness.proofs.flatMap(({ signer, evidence }) => {
    return rules.flatMap((rule) => (rule.signers[signer] ? cosigner(rule.signers[signer], evidence.type) ?? [] : []));
  });
  return cosigners.length < witness.proofs.length ? undefined : new PolicySigner(network, witness.policy, cosigners, account);
}

/** wallet signs a text like a Bitcoin wallet. */
async function wallet(secret: Uint8Array, account: Account, text: string, sighash: 0 | 1): Promise<string> {
  const { schnorr } = await import("@noble/curves/secp256k1.js");
  const signature = schnorr.sign(bip322Message(account, text, sighash), secret, new Uint8Array(32));
  const stack = sighash === 0 ? [1, 64, ...signature] : [1, 65, ...signature, 1];
  return Buffer.from(stack).toString("base64");
}

test("signers make the witnesses of the vectors", async () => {
  let made = 0;
  for (const v of vectors.transactions) {
    const tx: Transaction = forms.transaction.read(v.transaction);
    for (const [role, account, given] of [["sender", tx.sender, v.witness], ["payer", tx.payer, v.payer_witness]] as [Role, Account, any][]) {
      if (!given) continue;
      const witness = forms.witness.read(given);
      const signer = signerOf(account, witness);
      if (!signer) continue;
      assert.deepEqual(await signer.sign(tx, role), witness, `${v.name}, ${role}`);
      made++;
    }
    const signer = signerOf(tx.sender, forms.witness.read(v.witness));
    const payer = v.payer_witness ? signerOf(tx.payer!, forms.witness.read(v.payer_witness)) : undefined;
    if (!signer || (v.payer_witness && !payer)) continue;
    assert.equal(toHex((await signTransaction(tx, signer, payer)).raw), hex(v.signed), v.name);
  }
  assert.ok(made >= 12, `${made} witnesses`);
});

test("transactions at the edges of the rules are valid", () => {
  for (const v of vectors.valid) {
    const raw = bytesOf(v, "signed");
    const judged = context(v.context);
    const { transaction: tx } = decodeSigned(raw);
    assert.equal(brokenRule(raw, judged), 0, v.name);
    assert.equal(gasOf(tx, judged), BigInt(v.intrinsic_gas), v.name);
    assert.equal(new TextEncoder().encode(signingText(tx, network)).length, v.text_bytes, v.name);
    assert.deepEqual(encodeTransaction(tx), raw, v.name);
  }
  assert.equal(vectors.valid.length, 36);
});

test("what no block may contain is refused by the rule that it breaks first", () => {
  for (const v of vectors.refused) {
    const raw = bytesOf(v, "signed");
    assert.equal(brokenRule(raw, context(v.context)), v.rule, `${v.name}: rule ${v.rule}`);
    if (v.rule === 1) assert.throws(() => decodeSigned(raw), CodecError, v.name);
    else if (raw.length < 10_000) assert.deepEqual(encodeTransaction(decodeSigned(raw).transaction), raw, v.name);
  }
  assert.equal(vectors.refused.length, 145);
});

test("records of accounts say who may sign, before and from a time on", () => {
  for (const v of vectors.records) {
    const account = hex(v.account);
    const encoded = v.encoded === "" ? null : bytes(v.encoded);
    if (v.fault !== undefined) {
      assert.throws(() => decodeRecord(account, encoded), CodecError, v.fault);
      continue;
    }
    const record = decodeRecord(account, encoded);
    const { balance, nonce, authority, pending } = v.record;
    const [next, from] = pending ?? [];
    const wanted = { balance: BigInt(balance), nonce: BigInt(nonce), authority: hex(authority), pending: pending && { next: hex(next), from: BigInt(from) } };
    assert.deepEqual(record, wanted, v.name);
    assert.deepEqual(encodeRecord(account, record) ?? null, encoded, v.name);
    assert.equal(authorityAt(record, BigInt(v.from) - 1n), hex(v.in_force_before), v.name);
    assert.equal(authorityAt(record, BigInt(v.from)), hex(v.in_force_from), v.name);
  }
  assert.equal(vectors.records.length, 12);
});

test("parameters are encoded, and only valid changes of them are taken", () => {
  for (const v of vectors.parameters) {
    const parameters = forms.parameters.read(v.parameters);
    assert.equal(toHex(encodeParameters(parameters)), hex(v.encoded), v.name);
    assert.deepEqual(decodeParameters(bytes(v.encoded)), parameters, v.name);
  }
  for (const v of vectors.changes_of_parameters) {
    const [present, next] = [v.present, v.new].map((json: unknown): Parameters => forms.parameters.read(json)) as [Parameters, Parameters];
    assert.equal(changeFault(present, next, BigInt(v.timestamp)) === undefined, v.valid, v.name);
    assert.equal(toHex(encodeParameters(next)), hex(v.encoded), v.name);
  }
  for (const v of vectors.versions) assert.equal(versionAt(decodeParameters(bytes(v.parameters)), BigInt(v.timestamp)), v.version);
  for (const v of vectors.base_fees) {
    const parent = { gasUsed: BigInt(v.gas_used), gasLimit: BigInt(v.gas_limit), baseFee: BigInt(v.base_fee) };
    const bounds = { targetBps: v.target_bps, minBaseFee: BigInt(v.min), maxBaseFee: BigInt(v.max) };
    assert.equal(nextBaseFee(parent, bounds), BigInt(v.next));
  }
});

test("contracts and instances have the IDs of the vectors", () => {
  for (const v of vectors.contract_ids) assert.equal(contractId(hex(v.sender), BigInt(v.nonce)), hex(v.id));
  for (const v of vectors.instance_ids) assert.equal(instanceId(hex(v.creator), hex(v.code_hash), hex(v.salt)), hex(v.id));
});

test("a message is signed by a key and as text, and no other is verified by it", async () => {
  const v = vectors.message;
  const message = { chainId: BigInt(v.chain_id), contract: hex(v.contract), account: hex(v.account), message: bytes(v.message) };
  assert.equal(messageHash(message), hex(v.hash));
  assert.equal(messageText(message, network), v.text);
  const secret = bytes(secrets.get(v.account)!);
  const [key, text] = [new KeySigner(secret, new Uint8Array(32)), new TextSigner(network, hex(v.account), (text) => wallet(secret, hex(v.account), text, 0))];
  const byKey = await key.signMessage(message);
  const asText = await text.signMessage(message);
  assert.deepEqual([byKey, asText], [{ type: "key", signature: hex(v.key) }, { type: "text", signature: hex(v.as_text), sighash: 0 }]);
  for (const witness of [byKey, asText]) {
    assert.ok(verifyMessage(message, witness, network));
    for (const other of [{ chainId: 1n }, { contract: message.account }, { message: new Uint8Array() }]) {
      assert.ok(!verifyMessage({ ...message, ...other }, witness, network));
    }
    assert.ok(!verifyMessage(message, witness, network, policyHash(forms.policy.read(vectors.policies[0].policy))), "another authority is in force");
  }
  assert.ok(!verifyMessage(message, asText, "mainnet"));
  assert.ok(verifyMessage(message, byKey, "mainnet"), "a key signs no network");
  await assert.rejects(key.signMessage({ ...message, account: message.contract }), (e: any) => e.reason === "other_account");
  assert.deepEqual(fromHex(messageHash({ ...message, message: new Uint8Array(1024) })).length, 32);
});
