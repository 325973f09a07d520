// Signatures of signers are checked by the chain's rules, and by independent programs.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import { verifyAuthenticationResponse } from "@simplewebauthn/server";
import {
  SignerError, bip322Message, encodePolicy, encodeTransaction, decodeTransaction, encodeWitness, formatAddress, formatTextSignature, fromHex, keyAccount,
  makeRule, parseTextSignature, policyAccount, policyHash, signTransaction, signingText, singlePolicy, sponsor, statementOf, toHex, transactionHash,
  witnessGas, ZERO, type Account, type Action, type Client, type Hex, type Network, type Payload, type Policy, type Role, type Signed, type Signer,
  type SignedMessage, type Transaction, type Witness, contentOf,
} from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import {
  Draft, P256Signer, PasskeySigner, PolicySigner, TextSigner, candidatesOf, createPasskeyAccount, findPasskeyAccount, wallets, type Cosigner,
} from "@cairn-chain/sdk/signers";
import { transactionFault, verifyMessage } from "@cairn-chain/sdk/verify";
import { schnorr } from "@noble/curves/secp256k1.js";
import { rawSignature, pointOf, P256_ORDER } from "../dist/p256.js";
import { Authenticator, type Habits } from "./authenticator.js";
import { bitcoinWallet } from "./wallet.js";

const network: Network = "regtest";
const to: Account = `0x${"22".repeat(32)}`;
const key = (n: number): KeySigner => new KeySigner(new Uint8Array(32).fill(n));

function transaction(sender: Account, action: Action = { type: "transfer", to, value: 5n }, more: Partial<Transaction> = {}): Transaction {
  const fields = { chainId: 31337n, nonce: 0n, gasLimit: 200_000n, maxFeePerGas: 20n, maxPriorityFeePerGas: 1n, payer: null, validUntil: null };
  return { ...contentOf(action), sender, ...fields, ...more };
}

const fault = ({ raw }: Pick<Signed, "raw">): unknown => transactionFault(decodeTransaction(raw), network);
const reason = (wanted: string) => (error: unknown): boolean => error instanceof SignerError && error.reason === wanted;

/** wallet signs texts like a Bitcoin wallet. */
const wallet = (n: number, sighash: 0 | 1 = 0) => async (text: string): Promise<string> => {
  const signature = schnorr.sign(bip322Message(key(n).account, text, sighash), new Uint8Array(32).fill(n));
  return formatTextSignature({ signature: toHex(signature), sighash });
};

test("every kind of signer signs as sender and as payer, for no more gas than its sample", async () => {
  const credentials = new Authenticator("https://wallet.example");
  const [text, p256key] = [new TextSigner(network, key(2).account, wallet(2)), await P256Signer.generate()];
  const passkey = await createPasskeyAccount("me", { credentials });
  const policy: Policy = { number: 3n, owner: makeRule(2, [text.signer, p256key.signer, passkey.signer]), recovery: null };
  const signers: Signer[] = [key(1), text, p256key, passkey, new PolicySigner(network, policy, [passkey, text]), new PolicySigner(network, policy, [p256key, passkey])];
  for (const sender of signers) {
    for (const payer of signers.filter((one) => one.account !== sender.account)) {
      const tx = transaction(sender.account, undefined, { payer: payer.account, validUntil: BigInt(Date.now() + 60_000) });
      const signed = await signTransaction(tx, sender, payer);
      assert.equal(fault(signed), undefined);
      const { witness, payerWitness } = decodeTransaction(signed.raw);
      for (const [signer, role, given] of [[sender, "sender", witness], [payer, "payer", payerWitness]] as [Signer, Role, Witness][]) {
        assert.ok(witnessGas(given) <= witnessGas(signer.sample(tx.payload, role)), `${given.type} ${role}`);
        assert.equal(encodeWitness(given).length <= encodeWitness(signer.sample(tx.payload, role)).length, true);
      }
      const swapped = { ...decodeTransaction(signed.raw), payerWitness: await payer.sign({ ...tx, nonce: 1n }, "payer") };
      assert.deepEqual(transactionFault(swapped, network), { rule: 18, message: "the payer's signatures do not hold" });
    }
    await assert.rejects(sender.sign(transaction(to), "sender"), reason("other_account"));
    await assert.rejects(sender.sign(transaction(sender.account), "payer"), reason("other_account"));
    const message: SignedMessage = { chainId: 31337n, contract: ZERO, account: sender.account, message: new TextEncoder().encode("login 7") };
    const said = await sender.signMessage(message);
    assert.ok(verifyMessage(message, said, network));
    assert.ok(!verifyMessage({ ...message, chainId: 1n }, said, network));
    await assert.rejects(sender.signMessage({ ...message, account: to }), reason("other_account"));
  }
});

test("bip322-js signs our texts, and takes our signatures of them", async () => {
  const { Verifier } = createRequire(import.meta.url)("bip322-js");
  for (let n = 1; n <= 5; n++) {
    const { address, sign } = bitcoinWallet(n, "mainnet");
    const signer = new TextSigner("mainnet", address, sign);
    const actions: Action[] = [
      { type: "transfer", to, value: 150_000_000n }, { type: "call", contract: to, value: 0n, function: "f", args: new Uint8Array(2000) },
      { type: "set_policy", policy: singlePolicy({ type: "key", key: to }) },
    ];
    for (const action of actions) {
      const tx = transaction(signer.account, action);
      const { raw } = await signTransaction(tx, signer);
      assert.equal(transactionFault(decodeTransaction(raw), "mainnet"), undefined);
      assert.notEqual(transactionFault(decodeTransaction(raw), "testnet"), undefined, "the text names the network");
    }
  }
  for (const sighash of [0, 1] as const) {
    const { account } = key(9);
    const text = signingText(transaction(account), "mainnet")!;
    const base64 = await wallet(9, sighash)(text);
    assert.equal(Verifier.verifySignature(formatAddress(account, "mainnet"), text, base64), true, `sighash ${sighash}`);
    assert.equal(Verifier.verifySignature(formatAddress(account, "mainnet"), `${text}.`, base64), false);
  }
});

test("a wallet's signature is refused that is not of the text by the address", async () => {
  const tx = transaction(key(2).account);
  const refused: [string, (text: string) => Promise<string>, string][] = [
    ["another key", wallet(3), "does_not_hold"], ["a trimmed text", async (text) => wallet(2)(text.slice(0, -1)), "does_not_hold"],
    ["carriage returns", async (text) => wallet(2)(text.replaceAll("\n", "\r\n")), "does_not_hold"],
  ];
  for (const [name, sign, wanted] of refused) await assert.rejects(new TextSigner(network, key(2).account, sign).sign(tx, "sender"), reason(wanted), name);
  const ecdsa = new TextSigner(network, key(2).account, async () => Buffer.alloc(65).toString("base64"));
  await assert.rejects(ecdsa.sign(tx, "sender"), TypeError);
  const signer = new TextSigner(network, formatAddress(key(2).account, network), wallet(2));
  const steps = Array(60).fill({ type: "transfer", to, value: 1n });
  await assert.rejects(signer.sign(transaction(signer.account, { type: "batch", steps }), "sender"), reason("no_text"));
  await assert.rejects(signer.sign(transaction(signer.account, undefined, { validUntil: 1n << 63n }), "sender"), reason("no_text"));
  assert.throws(() => new TextSigner(network, formatAddress(to, "mainnet"), wallet(2)));
});

test("extensions of browsers are asked as their documentation says", async (t) => {
  const pages = globalThis as Record<string, any>;
  const heard: unknown[] = [];
  const said = (answer: unknown) => async (...of: unknown[]): Promise<unknown> => (heard.push(of), answer);
  Object.assign(pages, {
    unisat: { signMessage: said("AA==") }, okxwallet: { bitcoin: { signMessage: said("AQ==") } },
    XverseProviders: { BitcoinProvider: { request: said({ result: { signature: "Ag==" } }) } }, LeatherProvider: { request: said({ result: { signature: "Aw==" } }) },
  });
  t.after(() => ["unisat", "okxwallet", "XverseProviders", "LeatherProvider"].forEach((name) => delete pages[name]));
  const given = await Promise.all([wallets.unisat, wallets.okx, wallets.xverse, wallets.leather].map((ask) => ask("text", "bc1p")));
  assert.deepEqual(given, ["AA==", "AQ==", "Ag==", "Aw=="]);
  assert.deepEqual(heard, [
    ["text", "bip322-simple"], ["text", "bip322-simple"], ["signMessage", { address: "bc1p", message: "text", protocol: "BIP322" }],
    ["signMessage", { message: "text", paymentType: "p2tr" }],
  ]);
  pages["LeatherProvider"] = { request: said({ error: { message: "no" } }) };
  await assert.rejects(wallets.leather("text", "bc1p"), reason("refused"));
  delete pages["unisat"];
  await assert.rejects(async () => wallets.unisat("text", "bc1p"), reason("not_found"));
});

test("signatures of P-256 come as r and s, or as DER, with the lower s", () => {
  const secret = new Uint8Array(32).fill(7);
  for (let i = 0; i < 40; i++) {
    const low = p256.Signature.fromBytes(p256.sign(Uint8Array.of(i), secret, { lowS: true }), "compact");
    const high = new p256.Signature(low.r, P256_ORDER - low.s);
    for (const form of [low, high]) {
      for (const bytes of [form.toBytes("compact"), form.toBytes("der")]) assert.equal(rawSignature(bytes), toHex(low.toBytes("compact")));
    }
  }
  const der = p256.Signature.fromBytes(p256.sign(Uint8Array.of(0), secret), "compact").toBytes("der");
  const zero = new Uint8Array(64);
  const over = fromHex(`0x${"ff".repeat(64)}`);
  const changed = [
    new Uint8Array(), der.subarray(1), der.subarray(0, -1), Uint8Array.of(...der, 0), Uint8Array.of(0x31, ...der.subarray(1)),
    Uint8Array.of(0x30, 0x80, ...der.subarray(2)), fromHex("0x3006020100020101"), fromHex("0x30060201800201ff"), fromHex("0x3008020200010202000100"), zero, over,
  ];
  for (const bad of changed) assert.throws(() => rawSignature(bad), reason("not_p256"), toHex(bad));
  const point = p256.getPublicKey(secret, false);
  assert.equal(pointOf(point), toHex(point.subarray(1)));
  for (const bad of [point.subarray(1), p256.getPublicKey(secret, true), Uint8Array.of(5, ...point.subarray(1)), new Uint8Array(92)]) {
    assert.throws(() => pointOf(bad), reason("not_p256"));
  }
});

test("a key of WebCrypto that nothing can extract signs, also after it was kept", async () => {
  const made = await P256Signer.generate({ number: 1n });
  await assert.rejects(crypto.subtle.exportKey("pkcs8", made.keys!.privateKey), "it cannot be extracted");
  const again = await P256Signer.of(structuredClone(made.keys!), { number: 1n });
  assert.equal(again.account, made.account);
  assert.notEqual((await P256Signer.of(made.keys!)).account, made.account, "another number is another account");
  for (let nonce = 0n; nonce < 20n; nonce++) assert.equal(fault(await signTransaction(transaction(made.account, undefined, { nonce }), again)), undefined);
  const false1 = new P256Signer((made.signer as { point: Hex }).point, async () => new Uint8Array(64).fill(1));
  await assert.rejects(false1.sign(transaction(false1.account), "sender"), reason("does_not_hold"));
});

test("passkeys sign, and an authenticator that the chain would not take gets no account", async () => {
  const extra = ',"crossOrigin":false,"other_keys_can_be_added_here":"do not compare clientDataJSON against a template. See https://goo.gl/yabPex"';
  const usual: Habits[] = [{}, { high: true }, { high: false }, { flags: 0x1d }, { members: "" }, { members: extra }];
  for (const habits of usual) {
    const credentials = new Authenticator("https://wallet.example", habits);
    const signer = await createPasskeyAccount("me", { credentials });
    assert.equal(credentials.asked, 2, "made, and tried once");
    assert.deepEqual(signer.policy, singlePolicy(signer.signer));
    assert.equal(signer.account, policyHash(signer.policy));
    const kept = JSON.parse(JSON.stringify(signer.passkey));
    const tx = transaction(signer.account);
    assert.equal(fault(await signTransaction(tx, new PasskeySigner(kept, { credentials }))), undefined);
  }
  const strange: [Habits, string][] = [
    [{ refuses: true }, "refused"], [{ flags: 0x85, extension: Uint8Array.of(0xa0) }, "bad_assertion"], [{ flags: 0x85 }, "does_not_hold"],
    [{ flags: 0x45 }, "does_not_hold"], [{ flags: 0x04 }, "does_not_hold"], [{ flags: 0x01 }, "does_not_hold"],
  ];
  for (const [habits, wanted] of strange) {
    await assert.rejects(createPasskeyAccount("me", { credentials: new Authenticator("https://wallet.example", habits) }), reason(wanted), JSON.stringify(habits));
  }
  const unverified = await createPasskeyAccount("me", { credentials: new Authenticator("https://wallet.example", { flags: 0x01 }), verified: false });
  assert.equal(fault(await signTransaction(transaction(unverified.account), unverified)), undefined);
});

test("SimpleWebAuthn gives the same verdict on the same assertions", async () => {
  const credentials = new Authenticator("https://wallet.example");
  const signer = await createPasskeyAccount("me", { credentials });
  const { passkey } = signer;
  const point = fromHex(passkey.point);
  const cose = Uint8Array.of(0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32, ...point.subarray(0, 32), 0x22, 0x58, 32, ...point.subarray(32));
  const url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
  for (const habits of [{}, { high: true }, { flags: 0x04 }, { flags: 0x01 }, { members: ',"crossOrigin":false,"extra":1' }] as Habits[]) {
    credentials.habits = habits;
    const challenge = transactionHash(transaction(signer.account, undefined, { nonce: BigInt(habits.flags ?? 9) }));
    const given: any = await credentials.get({ publicKey: { challenge: Uint8Array.from(fromHex(challenge)) } });
    const { authenticatorData, clientDataJSON, signature } = given.response;
    const id = url(new Uint8Array(given.rawId));
    const theirs = await verifyAuthenticationResponse({
      response: {
        id, rawId: id, type: "public-key", clientExtensionResults: {},
        response: { authenticatorData: url(new Uint8Array(authenticatorData)), clientDataJSON: url(new Uint8Array(clientDataJSON)), signature: url(new Uint8Array(signature)) },
      },
      expectedChallenge: url(fromHex(challenge)), expectedOrigin: "https://wallet.example", expectedRPID: "wallet.example", requireUserVerification: true,
      credential: { id, publicKey: cose, counter: 0 },
    }).then(({ verified }) => verified, () => false);
    const ours = await new PasskeySigner(passkey, { credentials: { ...credentials, get: async () => given, create: async () => null } })
      .evidence({ hash: challenge }).then(() => true, () => false);
    assert.equal(ours, theirs, JSON.stringify(habits));
  }
});

/** nodeOf returns a node whose chain knows the given accounts. */
function nodeOf(known: readonly Account[]): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const call = async (_: string, account: Account): Promise<object> => {
    asked.push(account);
    return { balance: known.includes(account) ? 5n : 0n, nonce: 0n };
  };
  return { client: { call } as unknown as Client, asked };
}

test("a synced passkey finds its account on another device", async () => {
  for (let i = 0; i < 20; i++) {
    const credentials = new Authenticator("https://wallet.example");
    const { account } = await createPasskeyAccount("me", { credentials });
    credentials.asked = 0;
    const { client, asked } = nodeOf([account]);
    const found = await findPasskeyAccount(client, { credentials });
    assert.equal(found.account, account);
    assert.equal(credentials.asked, 1, "one signature is enough for an account that the chain knows");
    assert.ok(asked.length <= 4 && asked.includes(account));
    assert.equal(fault(await signTransaction(transaction(account), found)), undefined);
    assert.equal((await findPasskeyAccount(nodeOf([]).client, { credentials })).account, account, "two are, for one that it does not know");
    assert.equal((await findPasskeyAccount(nodeOf(asked as Account[]).client, { credentials })).account, account, "also where somebody paid to the other");
  }
  const credentials = new Authenticator("https://wallet.example");
  const second = await createPasskeyAccount("me", { credentials, number: 1n });
  assert.equal((await findPasskeyAccount(nodeOf([second.account]).client, { credentials, number: 1n })).account, second.account);
  const [one, other] = [new Authenticator("https://wallet.example"), new Authenticator("https://wallet.example")];
  await createPasskeyAccount("me", { credentials: one });
  await createPasskeyAccount("me", { credentials: other });
  let turn = 0;
  const both = { create: async () => null, get: async (o?: CredentialRequestOptions) => [one, other][turn++]!.get({ publicKey: { ...o!.publicKey!, allowCredentials: [] } }) };
  await assert.rejects(findPasskeyAccount(nodeOf([]).client, { credentials: both }), reason("not_found"));
  const given: any = await one.get({ publicKey: { challenge: new Uint8Array(32) } });
  const bytes = (of: ArrayBuffer): Uint8Array => new Uint8Array(of);
  const { authenticatorData, clientDataJSON, signature } = given.response;
  assert.ok(candidatesOf({ authenticatorData: bytes(authenticatorData), clientDataJSON: bytes(clientDataJSON), signature: bytes(signature) }).length === 2);
});

test("a policy asks the cosigners that it needs, by the rule that signs", async () => {
  const recovery = { rule: makeRule(1, [key(5).signer]), delay: 604_800_000n };
  const policy: Policy = { number: 0n, owner: makeRule(2, [key(1).signer, key(2).signer, key(3).signer]), recovery };
  const account = policyHash(policy);
  const owners = new PolicySigner(network, policy, [key(9), key(3), key(3), key(1), key(2)]);
  const signed = await signTransaction(transaction(account), owners);
  assert.equal(fault(signed), undefined);
  const { witness } = decodeTransaction(signed.raw);
  assert.ok(witness.type === "policy" && witness.proofs.length === 2);
  await assert.rejects(new PolicySigner(network, policy, [key(1), key(5)]).sign(transaction(account), "sender"), reason("missing_proofs"));
  const recover: Action = { type: "set_policy", recovery: true, policy: singlePolicy(key(8).signer) };
  const payer = { payer: key(7).account, validUntil: BigInt(Date.now()) };
  const recovering = new PolicySigner(network, policy, [key(1), key(5)]);
  assert.equal(fault(await signTransaction(transaction(account, recover, payer), recovering, key(7))), undefined);
  await assert.rejects(owners.sign(transaction(account, recover, payer), "sender"), reason("missing_proofs"), "the owner is not the recovery");
  const without = new PolicySigner(network, { ...policy, recovery: null }, [key(1), key(2)]);
  await assert.rejects(without.sign(transaction(without.account, recover, payer), "sender"), reason("not_a_signer"));
  const old = new PolicySigner(network, policy, [key(1), key(2)], key(6).account);
  assert.equal(fault(await signTransaction(transaction(key(6).account), old)), undefined, "an account of a key that set the policy");
  const liar: Cosigner = { signer: key(1).signer, evidence: (what) => key(2).evidence(what) };
  await assert.rejects(new PolicySigner(network, policy, [liar, key(2)]).sign(transaction(account), "sender"), reason("does_not_hold"));
  const sampled = policyAccount(policy).sample({ type: "transfer", memo: null }, "sender");
  assert.ok(sampled.type === "policy" && sampled.proofs.length === 2);
});

const policyOf = (threshold: number, ...members: Cosigner[]): Policy => {
  return { number: 0n, owner: makeRule(threshold, members.map(({ signer }) => signer)), recovery: null };
};

test("a draft goes from signer to signer as a file, and each signature in it is checked", async () => {
  const [text, p256key] = [new TextSigner(network, key(2).account, wallet(2)), await P256Signer.generate()];
  const policy = policyOf(2, key(1), text, p256key);
  const payerPolicy = policyOf(1, key(4), key(5));
  const [sender, payer] = [policyHash(policy), policyHash(payerPolicy)];
  const tx = transaction(sender, undefined, { payer, validUntil: BigInt(Date.now() + 60_000) });
  const begin = (): Draft => new Draft(network, tx, { sender: policy, payer: payerPolicy });
  const pass = (draft: Draft): Draft => Draft.parse(JSON.stringify(draft));

  let draft = pass(begin());
  assert.deepEqual(draft.missing("sender"), { count: 2, from: policy.owner.signers });
  assert.throws(() => draft.signed(), reason("missing_proofs"));
  await draft.sign("sender", p256key);
  draft = pass(draft);
  assert.equal(draft.missing("sender").count, 1);
  await draft.attach("sender", key(2).account, await wallet(2)(draft.statement("sender").text!));
  draft = pass(draft);
  assert.deepEqual(draft.missing("sender"), { count: 0, from: [] });
  const half = decodeTransaction(draft.signed().raw);
  assert.equal(half.payerWitness, null, "the payer's comes last");
  await draft.sign("payer", key(5));
  const { raw, hash } = pass(draft).signed();
  assert.equal(fault({ raw }), undefined);
  assert.equal(hash, transactionHash(tx));

  const [one, other] = [begin(), begin()];
  await one.sign("sender", key(1));
  await other.sign("sender", p256key);
  one.merge(pass(other));
  await one.sign("payer", key(4));
  assert.equal(fault(one.signed()), undefined, "what two signed apart is put together");
  await one.sign("sender", text);
  assert.equal(fault(one.signed()), undefined, "of three signatures two are taken");

  await assert.rejects(begin().sign("sender", key(9)), reason("not_a_signer"));
  await assert.rejects(begin().attach("sender", key(2).account, await wallet(3)(begin().statement("sender").text!)), reason("does_not_hold"));
  assert.throws(() => one.merge(new Draft(network, { ...tx, nonce: 1n }, { sender: policy, payer: payerPolicy })), reason("bad_draft"));
  assert.throws(() => one.merge(new Draft(network, tx, { sender: policy })), reason("bad_draft"));
  const lies: [string, string, (json: any) => void][] = [
    ["another format", "bad_draft", (json) => (json.format = "x")],
    ["another network", "bad_draft", (json) => (json.network = "x")], ["another transaction", "does_not_hold", (json) => (json.transaction = json.transaction.replace(/^0x02..../, "0x020000"))],
    ["no transaction", "bad_draft", (json) => (json.transaction = "0x02")], ["proofs twice", "does_not_hold", (json) => json.sender.proofs.push(json.sender.proofs[0])],
    ["no policy", "bad_draft", (json) => delete json.sender.policy], ["a witness too", "bad_draft", (json) => (json.sender.witness = toHex(encodeWitness(keyAccount(to).sample({} as Payload, "sender"))))],
    ["a policy that is not valid", "bad_draft", (json) => (json.sender.policy = toHex(encodePolicy({ ...policy, owner: { ...policy.owner, threshold: 0 } })))],
    ["the text of another network", "does_not_hold", (json) => (json.network = "mainnet")],
  ];
  for (const [name, wanted, change] of lies) {
    const json = JSON.parse(JSON.stringify(one));
    change(json);
    assert.throws(() => Draft.parse(JSON.stringify(json)), reason(wanted), name);
  }
  for (const bad of ["", "{", "null", "[]", JSON.stringify(one).padEnd(2 ** 21, " ")]) assert.throws(() => Draft.parse(bad), reason("bad_draft"));
});

test("the draft of a key's account has its witness", async () => {
  const draft = new Draft(network, transaction(key(1).account));
  await assert.rejects(draft.sign("sender", key(2)), reason("not_a_signer"));
  await draft.sign("sender", key(1));
  assert.equal(fault(Draft.parse(JSON.stringify(draft)).signed()), undefined);
  const text = new Draft(network, transaction(key(2).account));
  await text.attach("sender", key(2).account, await wallet(2, 1)(text.statement("sender").text!));
  const read = Draft.parse(JSON.stringify(text));
  assert.equal(fault(read.signed()), undefined);
  assert.equal(read.toJSON().payer, undefined);
  assert.throws(() => read.missing("payer"), reason("bad_draft"));
});

test("a sponsor signs for ten minutes at most, and only what names it", async () => {
  const payer = key(7);
  const now = 1_800_000_000_000;
  const signed = async (validUntil: bigint | null, of: Account = payer.account): Promise<Signed> => {
    return signTransaction(transaction(key(1).account, undefined, { payer: of, validUntil }), key(1));
  };
  const paid = await sponsor(payer, await signed(BigInt(now + 600_000)), now);
  assert.equal(fault(paid), undefined);
  assert.equal(paid.hash, (await signed(BigInt(now + 600_000))).hash, "the payer changes no id");
  for (const end of [null, BigInt(now + 600_001)]) await assert.rejects(sponsor(payer, await signed(end), now), reason("sponsored_too_long"));
  await assert.rejects(sponsor(payer, await signed(BigInt(now), key(8).account), now), reason("other_account"));
  const taken = { ...decodeTransaction(paid.raw), nonce: 5n };
  assert.equal(transactionFault(decodeTransaction(encodeTransaction(taken)), network)?.rule, 18);
  assert.deepEqual(parseTextSignature(await wallet(1)("x")).sighash, 0);
  assert.equal(statementOf(transaction(key(1).account), network, "sender").hash, transactionHash(transaction(key(1).account)));
});
