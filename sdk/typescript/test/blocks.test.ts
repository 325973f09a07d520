// Tests docs/vectors.json: chains, blocks with one fault each, geneses, receipts, and proofs under state roots and
// roots of lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CodecError, MAX_BLOCK_BYTES, PARAMETERS_KEY, SIGNED_HEADER_BYTES, blockHash, decodeGenesis, decodeReceipt, encodeBlock, encodeGenesis, encodeHeader,
  encodeReceipt, encodeSignedHeader, forms, genesisParent, parseBlock, parseHeader, parseHeaderStart, receiptDetails, toHex, type Account, type Block,
  type ChainReceipt, type Hash, type Hex, type SignedHeader,
} from "@cairn-chain/sdk";
import {
  HeaderError, HeaderFollower, checkBlock, convicts, decodeInclusionProof, decodeMerkleProof, encodeInclusionProof, encodeMerkleProof, inclusionHolds, listRoot,
  merkleFault, proveInclusion, receiptLeaf, transactionLeaf, verifySeal, type MerkleProof,
} from "@cairn-chain/sdk/verify";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { schnorr } from "@noble/curves/secp256k1.js";
import { bytesOf as digestBytes, pair, permute, roundConstants, sponge } from "../dist/poseidon.js";
import { blockFault, recordOf } from "./judge.js";
import { proveKey, stateOf, stateRoot } from "./state.js";
import { bytes, bytesOf, hex, vectors } from "./vectors.js";

test("Poseidon is that of the vectors", () => {
  const v = vectors.poseidon;
  const constants = Buffer.alloc(4 * 448);
  roundConstants().forEach((c, i) => constants.writeUInt32LE(c, 4 * i));
  assert.equal(constants.toString("hex"), v.constants_as_little_endian_u32);
  const state = Uint32Array.from({ length: 16 }, (_, i) => i);
  permute(state);
  assert.deepEqual([...state.subarray(0, 3)], [610090613, 935319874, 1893335292]);
  assert.deepEqual(pair(Uint8Array.from({ length: 32 }, (_, i) => i)), v.pair);
  for (const [name, length] of [["tx_leaf_96", 96], ["tx_leaf_64", 64]] as const) {
    assert.equal(toHex(digestBytes(sponge(4, length, pair(new Uint8Array(length))))), hex(v[name]));
  }
});

test("receipts are encoded, and their leaves are those of the vectors", () => {
  for (const v of vectors.receipts) {
    const receipt = forms.receipt.read(v.receipt);
    assert.equal(toHex(encodeReceipt(receipt)), hex(v.encoded), v.name);
    assert.deepEqual(decodeReceipt(bytes(v.encoded)), receipt, v.name);
    assert.equal(receiptDetails(receipt), hex(v.details), v.name);
    assert.equal(receiptLeaf(receipt), hex(v.leaf), v.name);
  }
  const plain = bytes(vectors.receipts[0].encoded);
  assert.equal(plain.length, 26);
  for (const wrong of [Uint8Array.of(2, ...plain.subarray(1)), plain.subarray(1), Uint8Array.of(...plain, 0)]) assert.throws(() => decodeReceipt(wrong), CodecError);
  assert.throws(() => receiptLeaf({ ...decodeReceipt(plain), gasUsed: 1n << 48n }), RangeError);
});

test("roots of lists are those of the vectors, and each leaf has a proof", () => {
  for (const v of vectors.lists) {
    for (const list of ["transactions", "receipts"] as const) {
      const leaves: Hash[] = v[`${list.slice(0, -1)}_leaves`].map(hex);
      const wanted = hex(v[`${list}_root`]);
      assert.equal(listRoot(list, leaves), wanted, `${v.n} ${list}`);
      leaves.forEach((leaf, number) => {
        const proof = proveInclusion(leaves, number);
        assert.equal(proof.leaf, leaf);
        assert.ok(inclusionHolds(list, wanted, proof), `${number} of ${v.n} ${list}`);
        assert.ok(!inclusionHolds(list === "receipts" ? "transactions" : "receipts", wanted, proof), "the other list");
      });
      assert.throws(() => proveInclusion(leaves, v.n), RangeError);
    }
  }
});

for (const name of ["chain", "changing"] as const) {
  test(`the headers, lists and states of ${name} are computed`, () => {
    const chain = vectors[name];
    const genesis = forms.genesis.read(chain.genesis);
    assert.equal(toHex(encodeGenesis(genesis)), hex(chain.genesis_encoded));
    assert.deepEqual(decodeGenesis(bytes(chain.genesis_encoded)), genesis);
    assert.equal(genesisParent(genesis), hex(chain.genesis_hash));
    let follower: HeaderFollower | undefined;
    for (const [i, v] of chain.blocks.entries()) {
      const header = forms.header.read(v.header);
      assert.equal(toHex(encodeHeader(header)), hex(v.header_encoded));
      assert.equal(blockHash(header), hex(v.hash));
      const signed = parseHeader(bytes(v.header_encoded + v.seal));
      assert.equal(toHex(encodeSignedHeader(signed)), hex(v.header_encoded + v.seal));
      assert.equal(verifySeal(signed), i > 0, "nobody seals the first");
      assert.equal(verifySeal({ ...signed, gasUsed: signed.gasUsed + 1n }), false);
      assert.deepEqual(parseHeaderStart(bytes(v.header_encoded).subarray(0, 60)), {
        version: 2, chainId: header.chainId, height: header.height, parent: header.parent, timestamp: header.timestamp,
      });
      const state = stateOf(v);
      assert.equal(stateRoot(state), header.stateRoot, `state ${i}`);
      for (const key of state.keys()) {
        if (key.startsWith("01")) recordOf(state, hex(key.slice(2)));
        assert.equal(merkleFault(header.stateRoot, proveKey(state, key)), undefined, key);
      }
      if (i > 0) {
        const parent = chain.blocks[i - 1];
        checkLists(v, signed);
        assert.equal(blockFault(bytesOf(v, "encoded"), forms.header.read(parent.header), stateOf(parent), genesis.network), undefined);
        follower!.take(signed, proveKey(stateOf(parent), "0001"));
        assert.equal(follower!.hash, hex(v.hash));
      }
      follower ??= new HeaderFollower(header);
    }
  });
}

/** checkLists compares a block of the vectors with its transactions and receipts. */
function checkLists(v: any, header: SignedHeader): void {
  const raw = bytesOf(v, "encoded");
  const block = parseBlock(raw);
  assert.deepEqual(block.header, header);
  assert.deepEqual(encodeBlock(block), raw);
  const leaves = block.transactions.map(({ transaction, hash }, k) => {
    assert.equal(hash, hex(v.transactions[k].id));
    return transactionLeaf(transaction, hash);
  });
  assert.deepEqual(leaves, v.transactions.map((t: any) => hex(t.leaf)));
  assert.equal(listRoot("transactions", leaves), header.transactionsRoot);
  const receipts = v.transactions.map((t: any) => forms.receipt.read(t.receipt));
  assert.deepEqual(receipts.map((r: any) => toHex(encodeReceipt(r))), v.transactions.map((t: any) => hex(t.receipt_encoded)));
  assert.deepEqual(receipts.map(receiptLeaf), v.transactions.map((t: any) => hex(t.receipt_leaf)));
  assert.equal(listRoot("receipts", receipts.map(receiptLeaf)), header.receiptsRoot);
  assert.equal(receipts.reduce((sum: bigint, r: any) => sum + r.gasUsed, 0n), header.gasUsed);
  for (let length = 0; length < raw.length; length += Math.ceil(raw.length / 50)) assert.throws(() => parseBlock(raw.subarray(0, length)), CodecError);
  const many = Uint8Array.from(raw);
  many[SIGNED_HEADER_BYTES + 6] = 1; // 2^48 transactions
  assert.throws(() => parseBlock(many), CodecError);
  assert.throws(() => parseBlock(new Uint8Array(MAX_BLOCK_BYTES + 1)), /exceed the limit/);
}

test("a block is checked against its header without a state, and what was changed of it is found", () => {
  const v = vectors.chain.blocks[2];
  const block = parseBlock(bytesOf(v, "encoded"));
  const receipts: ChainReceipt[] = v.transactions.map((t: any) => forms.receipt.read(t.receipt));
  assert.deepEqual(checkBlock(block, receipts, "regtest"), { hash: hex(v.hash), signatures: block.transactions.length });
  assert.equal(checkBlock(block, receipts, "regtest", 1).signatures, 1);
  const [first] = block.transactions;
  const other = { ...first!, transaction: { ...first!.transaction, witness: { type: "key", signature: hex("00".repeat(64)) } as const } };
  const header = (changed: object): SignedHeader => sealed({ ...block.header, ...changed });
  const forged = { header: header({ transactionsRoot: listRoot("transactions", [transactionLeaf(other.transaction, other.hash)]), receiptsRoot: listRoot("receipts", [receiptLeaf(receipts[0]!)]), gasUsed: receipts[0]!.gasUsed }), transactions: [other] };
  const cases: [string, Block, ChainReceipt[]][] = [
    ["seal", { ...block, header: { ...block.header, gasUsed: 1n } }, receipts], ["transactions", { ...block, transactions: block.transactions.slice(1) }, receipts],
    ["receipts", block, receipts.slice(1)], ["receipts", block, receipts.map((r) => ({ ...r, status: 0 }))],
    ["gas", { ...block, header: header({ gasUsed: 1n }) }, receipts], ["signatures", forged, receipts.slice(0, 1)],
  ];
  for (const [step, changed, given] of cases) assert.equal(checkBlock(changed, given, "regtest").failed?.step, step);
  const none = vectors.chain.blocks[0];
  assert.equal(checkBlock({ header: parseHeader(bytes(none.header_encoded + none.seal)), transactions: [] }, [], "regtest").failed, undefined, "nobody seals block 0");
});

test("blocks that are wrong in one thing are refused for it", () => {
  const executed = ["receipts_root", "state_root", "gas_used"]; // these faults show only in execution
  let refused = 0;
  for (const v of vectors.blocks_refused) {
    const parent = vectors.changing.blocks[v.parent];
    const fault = blockFault(bytesOf(v, "encoded"), forms.header.read(parent.header), stateOf(parent), "testnet");
    if (executed.includes(v.wrong) && fault === undefined) continue;
    assert.equal(fault, v.wrong.replace(/^encoding.*/, "encoding"), v.name);
    refused++;
  }
  assert.ok(refused === 28, `${refused} of ${vectors.blocks_refused.length}`);
});

test("geneses are taken or refused as the vectors say", () => {
  for (const v of vectors.geneses) {
    if (v.wrong !== null) {
      assert.throws(() => decodeGenesis(bytes(v.encoded)), CodecError, v.name);
      continue;
    }
    const genesis = decodeGenesis(bytes(v.encoded));
    assert.equal(toHex(encodeGenesis(genesis)), hex(v.encoded), v.name);
  }
  assert.equal(vectors.geneses.length, 15);
});

test("Merkle proofs hold or do not as the vectors say", () => {
  for (const v of vectors.proofs.state) {
    const stateRoot = hex(v.state_root);
    const holds = (): boolean => merkleFault(stateRoot, decodeMerkleProof(bytes(v.encoded))) === undefined;
    if (v.why === "more than 248 siblings") {
      assert.throws(holds, CodecError, v.name);
      assert.notEqual(merkleFault(stateRoot, forms.merkleProof.read(v.proof)), undefined, v.name);
      continue;
    }
    const proof = forms.merkleProof.read(v.proof);
    assert.deepEqual(decodeMerkleProof(bytes(v.encoded)), proof, v.name);
    assert.equal(toHex(encodeMerkleProof(proof)), hex(v.encoded), v.name);
    assert.equal(holds(), v.holds, v.name);
  }
  assert.equal(vectors.proofs.state.length, 31);
});

test("inclusion proofs hold or do not as the vectors say", () => {
  for (const v of vectors.proofs.lists) {
    const proof = forms.inclusionProof.read(v.proof);
    if (proof.siblings.length <= 18) {
      assert.deepEqual(decodeInclusionProof(bytes(v.encoded)), proof, v.name);
      assert.equal(toHex(encodeInclusionProof(proof)), hex(v.encoded), v.name);
    } else assert.throws(() => decodeInclusionProof(bytes(v.encoded)), CodecError, v.name);
    assert.equal(inclusionHolds(v.list, hex(v.root), proof), v.holds, v.name);
  }
  assert.equal(vectors.proofs.lists.length, 63);
});

const secret = bytes(vectors.keys.find((key: any) => key.name === "development mnemonic, account 9").secret);

/** sealed returns a header with the seal of a key. */
function sealed(header: SignedHeader, by: Uint8Array = secret): SignedHeader {
  const made = { ...header, producer: new KeySigner(by).account };
  return { ...made, seal: { type: "signature", signature: toHex(schnorr.sign(bytes(blockHash(made).slice(2)), by)) } };
}

test("a follower of headers takes no other than the next, and stops at a producer or version that it was not shown", () => {
  const [first, second] = vectors.chain.blocks.map((v: any) => parseHeader(bytes(v.header_encoded + v.seal))) as SignedHeader[];
  const begin = (): HeaderFollower => new HeaderFollower(first!);
  const reason = (next: SignedHeader, proof?: MerkleProof, follower = begin()): string => {
    try {
      follower.take(next, proof);
      return "taken";
    } catch (error) {
      assert.ok(error instanceof HeaderError, String(error));
      assert.equal(follower.head, first, "it stays where it is");
      return error.reason;
    }
  };
  const state = stateOf(vectors.chain.blocks[0]);
  const proof = proveKey(state, "0001");
  assert.equal(reason(second!), "taken");
  assert.equal(reason(second!, proof), "taken");
  const other = bytes("11".repeat(32));
  const cases: [string, SignedHeader, MerkleProof?][] = [
    ["chain", sealed({ ...second!, chainId: 1n })], ["height", sealed({ ...second!, height: 2n })], ["parent", sealed({ ...second!, parent: second!.stateRoot })],
    ["time", sealed({ ...second!, timestamp: first!.timestamp - 1n })], ["time", sealed({ ...second!, timestamp: 253_402_300_800_000n })],
    ["seal", { ...second!, seal: first!.seal }], ["seal", { ...second!, gasUsed: 0n }], ["producer", sealed(second!, other)], ["producer", sealed(second!, other), proof],
    ["version", sealed({ ...second!, version: 3 })],
    ["proof", second!, { ...proof, key: hex(`01${"00".repeat(32)}`) }], ["proof", second!, { ...proof, siblings: proof.siblings.slice(1) }],
    ["proof", second!, { ...proof, value: `${proof.value!.slice(0, -2)}01` as Hex }],
  ];
  for (const [want, next, shown] of cases) assert.equal(reason(next, shown), want);
  const { parameters } = forms.genesis.read(vectors.chain.genesis);
  const producer: Account = new KeySigner(other).account;
  const overridden = (height: bigint): HeaderFollower => new HeaderFollower(first!, [{ height, parameters: { ...parameters, producer } }]);
  assert.equal(reason(sealed(second!, other), undefined, overridden(1n)), "taken");
  assert.equal(reason(sealed(second!, other), undefined, overridden(2n)), "producer");
  const upgraded = { ...parameters, upgrade: { version: 3, from: second!.timestamp } };
  assert.equal(reason(second!, undefined, new HeaderFollower(first!, [{ height: 1n, parameters: upgraded }])), "version");
  assert.ok(convicts(second!, sealed({ ...second!, gasUsed: 0n })));
  assert.ok(!convicts(second!, second!) && !convicts(second!, sealed({ ...second!, height: 2n })) && !convicts(second!, { ...second!, gasUsed: 0n }));
  assert.ok(!convicts(second!, sealed(second!, other)), "another producer");
  assert.equal(toHex(PARAMETERS_KEY), "0x0001");
});
