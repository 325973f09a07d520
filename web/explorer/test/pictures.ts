// Makes the pictures of docs/explorer.md, light and dark, from a chain with varied content. CAIRN names the program.
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { formatAddress, fromHex, makeRule, signTransaction, succeeded, type Action, type Hex, type Policy } from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { P256Signer, PolicySigner } from "@cairn-chain/sdk/signers";
import { Browser } from "./chromium.js";
import { startNode } from "./node.js";
import { fill, localhost, press } from "./page.js";

const out = new URL("../../../../docs/explorer/", import.meta.url).pathname;
const contracts = new URL("../../../../contracts/wasm/", import.meta.url).pathname;
const dev = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8")) as { account: string; private: Hex }[];

test("pictures", async (t) => {
  const node = await startNode(t, "--block-time", "0");
  const browser = Browser.start();
  t.after(() => browser.close());
  const token = ["token", "deploy", `${contracts}nep20.wasm`, "--name", "Gold", "--symbol", "GLD", "--decimals", "2"];
  await node.cairn(...token, "--supply", "1000000", "--from", "dev0", "--alias", "gold");
  for (const [to, amount] of [["dev1", "125000.5"], ["dev2", "81000"], ["dev3", "40250.25"], ["dev4", "9000"], ["dev5", "120"]]) {
    await node.cairn("token", "transfer", "gold", to!, amount!, "--from", "dev0");
  }
  const [transfer] = await node.client.call("svc_listRecentTransactions", 1);
  await node.cairn("deploy", `${contracts}bank.wasm`, "--name", "Bank", "--from", "dev0", "--alias", "bank");
  await node.client.call("dev_mine", 40);
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  await node.cairn("call", "bank", "deposit", "--value", "2", "--from", "dev1");
  await node.client.call("dev_mine", 7);
  await node.cairn("call", "bank", "withdraw", "--from", "dev1");
  await node.cairn("send", "dev2", "0.25", "--from", "dev1");
  const height = Number(await node.client.call("svc_blockNumber"));
  await node.client.proven(height, { signal: AbortSignal.timeout(120_000) });
  const [owner, guardian] = [new KeySigner(fromHex(dev[6]!.private)), new KeySigner(fromHex(dev[7]!.private))];
  const policy: Policy = {
    number: 0n, owner: makeRule(1, [owner.signer, (await P256Signer.generate()).signer]), recovery: { rule: makeRule(1, [guardian.signer]), delay: 604_800_000n },
  };
  const safe = new PolicySigner("regtest", policy, [guardian]);
  await node.cairn("send", formatAddress(safe.account, "regtest"), "40", "--from", "dev0");
  const begin: Action = { type: "set_policy", recovery: true, policy: { ...policy, owner: makeRule(1, [guardian.signer]) } };
  const recovery = await node.client.build(safe, begin, { payer: guardian });
  succeeded(await node.client.sendAndWait(await signTransaction(recovery, safe, guardian)));
  const gold = (await node.client.call("svc_listContracts"))[0]!.contract_id;
  const tab = await browser.open();
  const shot = async (name: string, path: string, [width, height, dark]: [number, number, boolean], until: string, click?: string): Promise<void> => {
    await tab.look(width, height, dark);
    await tab.go(`${node.url}/explorer/${path}`);
    await tab.until(`document.querySelector('h1') && !document.querySelector('[aria-busy=true], .checking') && (${until})`, 60_000);
    if (click) {
      await tab.run(click);
      await tab.until("!document.querySelector('button[disabled]') && !document.querySelector('[aria-busy=true], .checking')", 60_000);
    }
    await tab.picture(`${out}${name}.png`);
  };
  const wide: [number, number, boolean] = [1200, 860, false];
  await shot("blocks", "", wide, "document.querySelectorAll('tbody tr').length > 8");
  await shot("transaction", `tx/${transfer!.hash}`, [1200, 1420, false], "document.querySelector('.tree')");
  await shot("account", `account/${dev[1]!.account}`, [1200, 1240, false], "document.querySelectorAll('tbody tr').length > 3",
    "document.querySelector('.verified summary').click(); document.querySelector('.by-proof button').click()");
  await shot("token", `token/${gold}`, [1200, 1000, true], "document.querySelectorAll('.verified').length > 5");
  await shot("proof", `proof/${height}`, [1200, 800, true], "document.querySelector('button.primary')", "document.querySelector('button.primary').click()");
  await shot("phone", `account/${dev[1]!.account}`, [390, 844, false], "document.querySelectorAll('tbody tr').length > 3");
  await shot("recovery", `account/${safe.account}`, [1200, 860, false], "document.querySelector('.recovering')");
  await tab.authenticator();
  await tab.look(1200, 1180, false);
  await tab.go(`${localhost(node)}/explorer/wallet`);
  await tab.until("document.querySelector('form.inline')");
  await fill(tab, "form.inline", { name: "Savings" });
  await tab.until("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Get 10 coins')", 60_000);
  await press(tab, "Get 10 coins");
  await tab.until("/10 coins\\s+✓ verified here/.test(document.body.innerText)", 60_000);
  await fill(tab, "form.send", { to: "dev1", amount: "1.5", memo: "invoice 7" });
  await tab.until("document.querySelector('.review .text')", 60_000);
  await tab.picture(`${out}wallet.png`);
});
