// A transaction with several signers passes as a file between this SDK and the command line, in both directions.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { encodePolicy, formatAddress, makeRule, memo, parseAccount, parseCoins, succeeded, toHex, type Policy } from "@cairn-chain/sdk";
import { Draft, P256Signer, PolicySigner, createPasskeyAccount } from "@cairn-chain/sdk/signers";
import { Authenticator } from "./authenticator.js";
import { directory, program, startNode } from "./node.js";
import { bitcoinWallet } from "./wallet.js";

/** commandLine is a user of the command line, with their own home directory. */
function commandLine(t: TestContext): { home: string; cairn: (...args: string[]) => Promise<{ result: any }> } {
  const home = directory(t);
  const cairn = async (...args: string[]): Promise<{ result: any }> => {
    const { stdout } = await promisify(execFile)(program!, [...args, "--json"], { env: { PATH: process.env["PATH"], XDG_DATA_HOME: home } }).catch((error) => {
      throw new Error(`cairn ${args.join(" ")}: ${error.stdout}${error.stderr}`);
    });
    return JSON.parse(stdout) as { result: any };
  };
  return { home, cairn };
}

test("the file of a transaction is signed by this SDK and by the command line, in either order", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  const { home, cairn } = commandLine(t);
  const [file, another] = [join(home, "payment.json"), join(home, "another.json")];
  const password = join(home, "password");
  writeFileSync(password, "secret of a test\n");
  await cairn("keys", "new", "alice", "--password-file", password);
  const alice = parseAccount((await cairn("keys", "show", "alice")).result.address, "regtest");
  const device = await P256Signer.generate();
  const policy: Policy = { number: 0n, owner: makeRule(2, [{ type: "key", key: alice }, device.signer]), recovery: null };
  const treasury = new PolicySigner("regtest", policy, [device]);
  await client.receipt(await client.call("dev_fund", treasury.account, parseCoins("10")));
  await cairn("account", "policy", "import", "treasury", toHex(encodePolicy(policy)));

  const ours = new Draft("regtest", await client.build(treasury, { type: "transfer", to: alice, value: 5n, memo: memo("rent") }), { sender: policy });
  await ours.sign("sender", device);
  assert.equal(ours.missing("sender").count, 1);
  writeFileSync(file, JSON.stringify(ours));
  await cairn("tx", "sign", file, "alice", "--yes", "--password-file", password);
  await cairn("tx", "send", file, "--rpc-url", url);
  assert.equal(await client.balance(alice), 5n);

  await cairn("send", formatAddress(alice, "regtest"), "7u", "--from", "treasury", "--draft", another, "--rpc-url", url);
  await cairn("tx", "sign", another, "alice", "--yes", "--password-file", password);
  const theirs = Draft.parse(readFileSync(another, "utf8"));
  assert.deepEqual(theirs.missing("sender"), { count: 1, from: [device.signer] });
  assert.match(theirs.statement("sender").text ?? "", /\npay: 0\.00000007 coins\n/);
  await theirs.sign("sender", device);
  succeeded(await client.sendAndWait(theirs.signed()));
  assert.equal(await client.balance(alice), 12n);
});

test("the command line prints what a Bitcoin wallet's library signs, and takes its signature: of an account, a cosigner and a payer", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  const { home, cairn } = commandLine(t);
  const [wallet, other] = [bitcoinWallet(3, "regtest"), bitcoinWallet(4, "regtest")];
  const account = parseAccount(wallet.address, "regtest");
  await client.receipt(await client.call("dev_fund", account, parseCoins("10")));
  await cairn("account", "policy", "new", "pair", "--signer", wallet.address, "--signer", other.address, "--threshold", "2");
  const payments: [from: string, payer: string[], signers: [typeof wallet, string[]][]][] = [
    [wallet.address, [], [[wallet, []]]],
    ["pair", ["--payer", wallet.address], [[other, []], [wallet, []], [wallet, ["--as-payer"]]]],
  ];
  for (const [at, [from, payer, signers]] of payments.entries()) {
    const file = join(home, `payment${at}.json`);
    await cairn("send", "dev1", "0", "--from", from, ...payer, "--draft", file, "--rpc-url", url);
    for (const [one, role] of signers) {
      const { text } = (await cairn("tx", "text", file, ...role)).result;
      await assert.rejects(cairn("tx", "attach", file, one.address, await one.sign(`${text}\n`), ...role), /with this address|does not hold/);
      await cairn("tx", "attach", file, one.address, await one.sign(text), ...role);
    }
    const { result } = await cairn("tx", "send", file, "--rpc-url", url);
    assert.equal(result.status, "0x1");
  }
});

test("a passkey signs what the command line wrote for it", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  const { home, cairn } = commandLine(t);
  const file = join(home, "payment.json");
  const passkey = await createPasskeyAccount("me", { credentials: new Authenticator("https://wallet.example") });
  const { result } = await cairn("account", "policy", "new", "phone", "--signer", `passkey:${passkey.passkey.point.slice(2)}:verified`);
  assert.equal(result.account, passkey.account);
  await client.receipt(await client.call("dev_fund", passkey.account, parseCoins("10")));
  await cairn("send", "dev1", "7u", "--from", "phone", "--draft", file, "--rpc-url", url);
  const draft = Draft.parse(readFileSync(file, "utf8"));
  await draft.sign("sender", passkey);
  writeFileSync(file, JSON.stringify(draft));
  assert.equal((await cairn("tx", "send", file, "--rpc-url", url)).result.status, "0x1");
});
