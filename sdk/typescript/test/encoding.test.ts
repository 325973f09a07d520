import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CodecError, GAS, blockHash, contractId, decodeTransaction, encodeParameters, encodeTransaction, formatCoins, fromHex, intrinsicGas,
  parseBlock, parseHeader, signTransaction, signingHash, toHex, transactionHash, SIGNED_HEADER_BYTES,
  type Account, type Parameters, type Payload, type SignedTransaction, type Transaction,
} from "@cairn-chain/sdk";
import { Key, verifyProducer } from "@cairn-chain/sdk/keys";
import { random, vectors } from "./vectors.js";

const hex = (digits: string): Account => `0x${digits.replace(/^0x/, "")}`;
const bytes = (digits: string): Uint8Array => fromHex(hex(digits));

function parameters(v: any): Parameters {
  return {
    version: v.version, gasLimit: BigInt(v.gas_limit), targetBps: v.target_bps, minBaseFee: BigInt(v.min_base_fee),
    maxBaseFee: BigInt(v.max_base_fee), producer: v.producer, feeRecipient: v.fee_recipient,
  };
}

function payload(v: any): Payload {
  switch (v.variant) {
    case 0: return { type: "transfer", to: hex(v.to), value: BigInt(v.value) };
    case 1: return { type: "deploy", value: BigInt(v.value), name: v.name, code: bytes(v.code), initArgs: bytes(v.init_args) };
    case 2: return { type: "call", value: BigInt(v.value), contract: hex(v.contract), function: v.function, args: bytes(v.args) };
    default: return { type: "configure", parameters: parameters(v.parameters) };
  }
}

function transaction(v: any): Transaction {
  return {
    version: 1, chainId: BigInt(v.chain_id), sender: hex(v.sender), nonce: BigInt(v.nonce), gasLimit: BigInt(v.gas_limit),
    maxFeePerGas: BigInt(v.max_fee_per_gas), maxPriorityFeePerGas: BigInt(v.max_priority_fee_per_gas), payload: payload(v.payload),
  };
}

test("transactions are encoded, hashed and signed as the vectors say", async () => {
  assert.equal(vectors.transactions.length, 4);
  for (const v of vectors.transactions) {
    const tx = transaction(v);
    assert.equal(toHex(encodeTransaction(tx)), hex(v.unsigned), v.name);
    assert.equal(toHex(signingHash(tx)), hex(v.signing_hash), v.name);
    const signed = await signTransaction(tx, new Key(bytes(v.private_key), new Uint8Array(32)));
    assert.equal(toHex(signed.raw), hex(v.signed), v.name);
    assert.equal(signed.hash, hex(v.id), v.name);
    const decoded = decodeTransaction(signed.raw);
    assert.deepEqual(decoded, { ...tx, signature: bytes(v.signature) });
    assert.equal(toHex(signingHash(decoded)), hex(v.signing_hash), "the signature is not part of what is signed");
  }
});

test("another account's signer is refused", async () => {
  const [first] = vectors.transactions;
  await assert.rejects(signTransaction(transaction(first), new Key(new Uint8Array(32).fill(1))), TypeError);
});

test("parameters, contract IDs and intrinsic gas are those of the vectors", () => {
  for (const v of vectors.parameters) assert.equal(toHex(encodeParameters(parameters(v.json))), hex(v.encoded));
  for (const v of vectors.contract_ids) assert.equal(contractId(hex(v.sender), BigInt(v.nonce)), hex(v.id));
  const zero = hex("00".repeat(32));
  const payloads: Payload<Uint8Array>[] = [
    { type: "transfer", to: zero, value: 1n },
    { type: "call", value: 0n, contract: zero, function: "transfer", args: new Uint8Array(2) },
    { type: "deploy", value: 0n, name: "token", code: new Uint8Array(8), initArgs: new Uint8Array(7) },
    { type: "configure", parameters: parameters(vectors.parameters[0].json) },
  ];
  assert.deepEqual(payloads.map(intrinsicGas), vectors.intrinsic_gas.map((v: any) => BigInt(v.gas)));
});

test("prices of gas are those of the schedule's text", () => {
  const schedule = new Map(vectors.gas_schedule.text.trim().split("\n").map((line: string) => line.split(" ")));
  for (const [name, price] of Object.entries(GAS)) assert.equal(price, BigInt(schedule.get(name) as string), name);
});

test("the example chain's blocks are read, named and verified", () => {
  assert.equal(vectors.chain.blocks.length, 3);
  for (const v of vectors.chain.blocks) {
    const raw = bytes(v.block_encoded);
    const block = parseBlock(raw);
    assert.equal(blockHash(block.header), hex(v.hash));
    assert.equal(verifyProducer(block.header), block.header.height > 0n, "nobody signs the first");
    assert.equal(verifyProducer({ ...block.header, gasUsed: block.header.gasUsed + 1n }), false);
    assert.deepEqual(parseHeader(raw.subarray(0, SIGNED_HEADER_BYTES)), block.header);
    assert.throws(() => parseHeader(raw.subarray(0, SIGNED_HEADER_BYTES - 1)), CodecError);
    for (let length = 0; length < raw.length; length += 13) assert.throws(() => parseBlock(raw.subarray(0, length)), CodecError);
    const long = Uint8Array.from(raw);
    long[SIGNED_HEADER_BYTES + 6] = 1; // 2^48 transactions
    assert.throws(() => parseBlock(long), CodecError);
  }
});

function randomTransaction(next: (bound: number) => number): SignedTransaction {
  const some = (length: number): Uint8Array => Uint8Array.from({ length }, () => next(256));
  const u64 = (): bigint => BigInt(next(2 ** 31)) << BigInt(next(33));
  const text = (): string => Array.from({ length: next(9) }, () => ["a", "é", "€", "😀", "\ufeff"][next(5)]).join("");
  const payloads: Payload<Uint8Array>[] = [
    { type: "transfer", to: toHex(some(32)), value: u64() },
    { type: "deploy", value: u64(), name: text(), code: some(next(300)), initArgs: some(next(40)) },
    { type: "call", value: u64(), contract: toHex(some(32)), function: text(), args: some(next(40)) },
  ];
  return {
    version: 1, chainId: u64(), sender: toHex(some(32)), nonce: u64(), gasLimit: u64(), maxFeePerGas: u64(), maxPriorityFeePerGas: u64(),
    payload: payloads[next(3)]!, signature: some(64),
  };
}

test("what is encoded decodes to the same, and what decodes encodes to the same bytes", () => {
  const next = random(11);
  let accepted = 0;
  for (let round = 0; round < 300; round++) {
    const tx = randomTransaction(next);
    const raw = encodeTransaction(tx);
    assert.deepEqual(decodeTransaction(raw), tx);
    const changed = Uint8Array.from(raw);
    changed[next(raw.length)]! ^= 1 << next(8);
    try {
      assert.deepEqual(encodeTransaction(decodeTransaction(changed)), changed);
      accepted++;
    } catch (e) {
      assert.ok(e instanceof CodecError);
    }
  }
  assert.ok(accepted > 100 && accepted < 300, `${accepted} changed ones decode`);
});

test("decoding is strict", () => {
  const raw = bytes(vectors.transactions[1].signed);
  assert.throws(() => decodeTransaction(Uint8Array.of(...raw, 0)), /left over/);
  assert.throws(() => decodeTransaction(raw.subarray(0, -1)), /end early/);
  const at = (offset: number, value: number): Uint8Array => Uint8Array.from(raw, (b, i) => (i === offset ? value : b));
  assert.throws(() => decodeTransaction(at(73, 4)), /payload 4 is unknown/);
  assert.throws(() => decodeTransaction(at(0, 2)), /version 2/);
  assert.throws(() => decodeTransaction(at(93, 0xff)), /not UTF-8/);
  assert.throws(() => decodeTransaction(at(92, 1)), /is over|end early/);
  assert.throws(() => decodeTransaction(new Uint8Array((512 << 10) + 1)), /is over/);
  assert.equal(transactionHash(raw), hex(vectors.transactions[1].id));
});

test("what has no encoding is refused", () => {
  const tx = transaction(vectors.transactions[0]);
  const to = (tx.payload as { to: Account }).to;
  for (const bad of [
    { ...tx, nonce: 1n << 64n }, { ...tx, nonce: -1n }, { ...tx, payload: { type: "transfer", to, value: 1n << 64n } as Payload },
    { ...tx, payload: { type: "call", value: 0n, contract: to, function: "\ud800", args: new Uint8Array() } as Payload },
    { ...tx, payload: { type: "deploy", value: 0n, name: "", code: new Uint8Array(512 << 10), initArgs: new Uint8Array() } as Payload },
  ]) assert.throws(() => encodeTransaction(bad), CodecError);
  assert.throws(() => encodeTransaction({ ...tx, sender: "0x00" }), TypeError);
  assert.equal(formatCoins(1n), "0.00000001");
});
