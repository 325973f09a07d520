// Every kind of signer signs for an account on a real node, and an owner learns of a recovery in time.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  ZERO, fromHex, makeRule, parseCoins, policyHash, signTransaction, succeeded, watchEvents, type Account, type Action, type Client, type Policy,
  type Signer, type rpc,
} from "@cairn-chain/sdk";
import { P256Signer, PolicySigner, TextSigner, createPasskeyAccount } from "@cairn-chain/sdk/signers";
import { Authenticator } from "./authenticator.js";
import { devKey, startNode } from "./node.js";
import { bitcoinWallet } from "./wallet.js";

const network = "regtest";
const DAY = 86_400_000n;
const pay = (value: bigint): Action => ({ type: "transfer", to: devKey(1).account, value });

async function opened(t: TestContext): Promise<Client> {
  return (await startNode(t, "--block-time", "0")).client;
}

async function fund(client: Client, account: Account): Promise<void> {
  succeeded(await client.receipt(await client.call("dev_fund", account, parseCoins("10"))));
}

/** send executes an action of a signer's account, with a payer if one is given. */
async function send(client: Client, signer: Signer, action: Action, payer?: Signer): Promise<rpc.Receipt> {
  const tx = await client.build(signer, action, payer ? { payer } : {});
  return succeeded(await client.sendAndWait(await signTransaction(tx, signer, payer)));
}

test("a Bitcoin wallet, a passkey and two of three sign on a chain, and a sponsor pays for an account without coins", async (t) => {
  const client = await opened(t);
  const wallet = bitcoinWallet(3, network);
  const text = new TextSigner(network, wallet.address, wallet.sign);
  const [passkey, machine] = [await createPasskeyAccount("me", { credentials: new Authenticator("https://wallet.example") }), await P256Signer.generate()];
  const policy: Policy = { number: 0n, owner: makeRule(2, [text.signer, passkey.signer, machine.signer]), recovery: null };
  const signers: [string, Signer, string[]][] = [
    ["a Bitcoin wallet", text, ["text"]], ["a passkey", passkey, ["passkey"]],
    ["two of three", new PolicySigner(network, policy, [machine, text]), ["p256", "text"]],
  ];
  for (const [name, signer, kinds] of signers) {
    const { gasUsed, payer } = await send(client, signer, pay(0n), devKey(0)); // its account has no entry yet
    assert.equal(payer, devKey(0).account, name);
    assert.equal(await client.balance(signer.account), 0n, name);
    await fund(client, signer.account);
    const receipt = await send(client, signer, pay(5n));
    assert.ok(receipt.gasUsed < gasUsed, `${name}: ${receipt.gasUsed} gas, and ${gasUsed} for the first`);
    const { witness } = (await client.call("svc_getTransactionByHash", receipt.transactionHash))!;
    const given = witness.type === "policy" ? witness.proofs.map(({ evidence }) => evidence.type) : [witness.type];
    assert.deepEqual([...given].sort(), kinds, name);
    assert.equal(await client.balance(signer.account), parseCoins("10") - 5n - receipt.gasUsed * receipt.effectiveGasPrice, name);
  }
});

test("an owner hears of a recovery and stops it, and one that nobody stops completes", async (t) => {
  const client = await opened(t);
  const [owner, rescuer, next] = [devKey(4), devKey(5), await P256Signer.generate()];
  const policy: Policy = { number: 0n, owner: makeRule(1, [owner.signer]), recovery: { rule: makeRule(1, [rescuer.signer]), delay: DAY } };
  const account = policyHash(policy);
  const [owning, recovering] = [new PolicySigner(network, policy, [owner]), new PolicySigner(network, policy, [rescuer])];
  await fund(client, account);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const heard = watchEvents(client, { contract_id: ZERO, topics: [null, account] }, { signal: stop.signal })[Symbol.asyncIterator]();
  const hear = async (): Promise<rpc.Event> => (await heard.next()).value;
  const recover: Action = { type: "set_policy", recovery: true, policy: next.policy };

  await send(client, recovering, recover, devKey(0));
  const started = await hear();
  assert.deepEqual([started.event_name, started.topics.slice(1)], ["RecoveryStarted", [account, next.account]]);
  const from = Number(Buffer.from(fromHex(started.data)).readBigUInt64LE());
  assert.deepEqual((await client.call("svc_getAccount", account)).recovery, { authority: next.account, policy: next.policy, from });
  await send(client, owning, { type: "set_policy", policy: null });
  const stopped = await hear();
  assert.deepEqual([stopped.event_name, stopped.topics.slice(1)], ["PolicySet", [account, account]]);
  assert.equal((await client.call("svc_getAccount", account)).recovery, null);

  await send(client, recovering, recover, devKey(0));
  assert.equal((await hear()).event_name, "RecoveryStarted");
  const recovered = new PolicySigner(network, next.policy, [next], account);
  const early = await client.build(owning, pay(1n));
  await assert.rejects(client.sendAndWait(await signTransaction(early, recovered)), { reason: "wrong_policy" });
  await client.call("dev_increaseTime", Number(DAY / 1000n));
  await client.call("dev_mine", 1);
  const { authority, recovery } = await client.call("svc_getAccount", account);
  assert.equal(authority, next.account, `a recovery that is over: ${JSON.stringify(recovery)}`);
  await send(client, recovered, pay(7n));
  await assert.rejects(send(client, owning, pay(1n)), { reason: "wrong_policy" });
});
