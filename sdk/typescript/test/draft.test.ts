// A transaction that several people sign goes from program to program as a file: between this SDK and the command line, both ways.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { encodePolicy, formatAddress, makeRule, memo, parseAccount, parseCoins, succeeded, toHex, type Policy } from "@cairn-chain/sdk";
import { Draft, P256Signer, PolicySigner } from "@cairn-chain/sdk/signers";
import { directory, program, startNode } from "./node.js";

test("the file of a transaction is signed by this SDK and by the command line, in either order", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "0");
  const home = directory(t);
  const [file, another] = [join(home, "payment.json"), join(home, "another.json")];
  const password = join(home, "password");
  writeFileSync(password, "secret of a test\n");
  const cairn = async (...args: string[]): Promise<{ result: any }> => {
    const { stdout } = await promisify(execFile)(program!, [...args, "--json"], { env: { PATH: process.env["PATH"], XDG_DATA_HOME: home } }).catch((error) => {
      throw new Error(`cairn ${args.join(" ")}: ${error.stdout}${error.stderr}`);
    });
    return JSON.parse(stdout) as { result: any };
  };
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
