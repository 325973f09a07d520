// Tests the features of protocol 2 in the pages: policies, recoveries, payers, batches, upgrades, blocks checked in the
// page, and the wallet of passkeys.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test, type TestContext } from "node:test";
import {
  batch, formatAddress, fromHex, makeRule, memo, parseCoins, policyHash, signTransaction, succeeded, type Account, type Action, type Policy, type Signer, type rpc,
} from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { P256Signer, PolicySigner } from "@cairn-chain/sdk/signers";
import { Browser, type Tab } from "./chromium.js";
import { startNode, type Node } from "./node.js";
import { fill, localhost, page, press, quiet } from "./page.js";
import { onlyPasskey } from "./passkey.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const keys = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8")) as { account: Account; private: `0x${string}` }[];
const dev = (n: number): KeySigner => new KeySigner(fromHex(keys[n]!.private));
const STOPPED = ["--block-time", "0", "--prove", "off"];

let browser: Browser;
before(() => {
  browser = Browser.start();
});
after(() => browser.close());

async function opened(t: TestContext): Promise<{ node: Node; tab: Tab }> {
  const node = await startNode(t, ...STOPPED);
  const tab = await browser.open();
  await tab.look(1280, 900);
  return { node, tab };
}

/** send executes an action of a signer's account, with a payer if one is given. */
async function send(node: Node, signer: Signer, action: Action, payer?: Signer): Promise<rpc.Receipt> {
  const tx = await node.client.build(signer, action, payer ? { payer } : {});
  return succeeded(await node.client.sendAndWait(await signTransaction(tx, signer, payer)));
}

async function accessible(tab: Tab, what: string): Promise<void> {
  await tab.run(axe);
  const found = await tab.run("axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((v) => v.id + ': ' + v.nodes[0].html))");
  assert.deepEqual(found, [], what);
}

const main = "document.querySelector('main').innerText";

test("a batch, its memo and its payer are shown, and the page verifies that it is in its block", async (t) => {
  const { node, tab } = await opened(t);
  const [a, b] = [keys[1]!.account, keys[2]!.account];
  const steps = batch({ type: "transfer", to: a, value: 5n, memo: memo("invoice <b>7</b>") }, { type: "transfer", to: b, value: parseCoins("2") });
  const receipt = await send(node, dev(0), steps, dev(3));
  await page(tab, node, `tx/${receipt.transactionHash}`);
  await tab.until(`/Steps 2[^]*pays 0\\.00000005 coins to\\s+dev1[^]*“invoice <b>7<.b>”[^]*pays 2 coins to\\s+dev2/.test(${main})`);
  await tab.until(`/Fee paid by[^]*dev3[^]*signed by\\s+its own key/.test(${main}) && /Valid until/.test(${main})`);
  await tab.until("/✓ verified here/.test(document.querySelector('.verified')?.textContent)");
  await tab.run("document.querySelector('.verified summary').click()");
  await tab.until(`/✓ Header[^]*✓ Block[^]*✓ Receipt[^]*success[^]*✓ Signatures/.test(${main})`);
  await tab.until("/NativeTransfer[^]*the protocol/.test([...document.querySelectorAll('.card')].map((c) => c.innerText).join())");
  await accessible(tab, "a batch");
  await page(tab, node, `account/${b}`);
  await tab.until(`/← in\\s+2\\s+dev0[^]*step of a batch/.test(${main})`);
  await page(tab, node, `account/${a}`);
  await tab.until(`/step of a batch\\s+“invoice <b>7<.b>”/.test(${main})`);
  await page(tab, node, `account/${keys[3]!.account}?tab=transactions`);
  await tab.until(`/its fee/.test(${main})`);
  await quiet(tab, node);
});

test("a page finds out a node that lies of a transaction's receipt", async (t) => {
  const { node, tab } = await opened(t);
  const receipt = await send(node, dev(0), { type: "transfer", to: keys[1]!.account, value: 5n });
  const changed = async (change: (given: rpc.Inclusion) => object): Promise<void> => {
    await tab.standIn(async (body) => {
      if (!body.includes("svc_getInclusionProof")) return undefined;
      const answer = await (await fetch(node.url, { method: "POST", headers: { "Content-Type": "application/json" }, body })).json() as any;
      for (const item of Array.isArray(answer) ? answer : [answer]) if (item.result?.rawReceipt) item.result = { ...item.result, ...change(item.result) };
      return { status: 200, body: JSON.stringify(answer) };
    });
    await page(tab, node, `tx/${receipt.transactionHash}`);
  };
  await changed(({ rawReceipt }) => ({ rawReceipt: `0x00${rawReceipt.slice(4)}` }));
  await tab.until("/✗ .*the proof is refused: witness: the receipt/.test(document.querySelector('[role=alert]')?.textContent)");
  await changed(({ receipt }) => ({ receipt: { ...receipt, n: 2 } }));
  await tab.until("/✗ .*the proof is refused: witness/.test(document.querySelector('[role=alert]')?.textContent)");
});

test("a block is checked in the page, and one that was changed is found out", async (t) => {
  const { node, tab } = await opened(t);
  await send(node, dev(0), { type: "transfer", to: keys[1]!.account, value: 5n });
  const check = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Check the block').click()";
  await page(tab, node, "block/1");
  await tab.run(check);
  await tab.until(`/✓ Hash[^]*✓ Seal[^]*✓ Transactions[^]*✓ Receipts[^]*✓ Gas[^]*✓ Signatures\\s+of 1 of 1 transaction/.test(${main})`);
  await accessible(tab, "a checked block");
  await tab.standIn(async (body) => {
    if (!body.includes("svc_getBlockReceipts")) return undefined;
    const answer = await (await fetch(node.url, { method: "POST", headers: { "Content-Type": "application/json" }, body })).json() as any;
    for (const receipt of answer.result ?? []) receipt.status = "0x0";
    return { status: 200, body: JSON.stringify(answer) };
  });
  await page(tab, node, "block/1");
  await tab.run(check);
  await tab.until(`/✓ Transactions[^]*✗ Receipts/.test(${main})`);
  await tab.standIn();
  await quiet(tab, node);
});

test("an account says who may sign for it, and a recovery that is under way is an alarm", async (t) => {
  const { node, tab } = await opened(t);
  const [owner, other] = [dev(4), await P256Signer.generate()];
  const policy: Policy = {
    number: 0n, owner: makeRule(1, [owner.signer, other.signer]), recovery: { rule: makeRule(1, [dev(5).signer]), delay: 604_800_000n },
  };
  const account = policyHash(policy);
  await page(tab, node, `account/${account}`);
  await tab.until(`/Cairn only/.test(${main})`);
  await send(node, dev(0), { type: "transfer", to: account, value: parseCoins("3") });
  await send(node, new PolicySigner("regtest", policy, [other]), { type: "transfer", to: keys[1]!.account, value: 1n });
  await page(tab, node, `account/${account}`);
  await tab.until(`/Cairn only[^]*Bitcoin that is sent to this address on Bitcoin is lost/.test(${main})`);
  await tab.until(`/Owner: 1 of 2[^]*P-256 key[^]*Recovery, after 7 d 0 h: 1 of 1/.test(${main})`);
  assert.equal(await tab.run("document.querySelector('.recovering')"), null);
  const recovering = new PolicySigner("regtest", policy, [dev(5)]);
  const next: Policy = { number: 0n, owner: makeRule(1, [dev(6).signer]), recovery: null };
  const receipt = await send(node, recovering, { type: "set_policy", recovery: true, policy: next }, dev(0));
  await page(tab, node, `account/${account}`);
  await tab.until(`/A recovery is under way: from 20\\d\\d-[^]*in 6 d/.test(document.querySelector('.recovering[role=alert]')?.innerText)`);
  await accessible(tab, "a recovery");
  await page(tab, node, `tx/${receipt.transactionHash}`);
  await tab.until(`/Set policy\\s+recovery/.test(${main}) && /a policy, by its recovery: 1 of 1[^]*✓ signed/.test(${main}) && /RecoveryStarted/.test(${main})`);
  await send(node, new PolicySigner("regtest", policy, [owner]), { type: "set_policy", policy: null });
  await page(tab, node, `account/${account}`);
  await tab.until(`/Who may sign/.test(${main}) && !document.querySelector('.recovering')`);
  await page(tab, node, `account/${keys[0]!.account}`);
  await tab.until(`/good on Bitcoin too/.test(${main}) && /Who may sign\\s+its own key/.test(${main})`);
  await quiet(tab, node);
});

test("a recovery that is over has new signers, on pages of every width, light and dark", async (t) => {
  const { node, tab } = await opened(t);
  const policy: Policy = {
    number: 0n, owner: makeRule(1, [dev(4).signer]), recovery: { rule: makeRule(1, [dev(5).signer]), delay: 604_800_000n },
  };
  const account = policyHash(policy);
  await send(node, dev(0), { type: "transfer", to: account, value: parseCoins("3") });
  const next: Policy = { number: 0n, owner: makeRule(1, [dev(6).signer]), recovery: null };
  await send(node, new PolicySigner("regtest", policy, [dev(5)]), { type: "set_policy", recovery: true, policy: next }, dev(0));
  await page(tab, node, `account/${account}`);
  await tab.until("document.querySelector('.recovering')");
  await node.client.call("dev_increaseTime", 604_800);
  await node.client.call("dev_mine", 1);
  await tab.until(`/Who may sign[^]*Owner: 1 of 1\\s+key\\s+dev6/.test(${main}) && !document.querySelector('.recovering')`);
  await send(node, new PolicySigner("regtest", next, [dev(6)], account), { type: "transfer", to: keys[1]!.account, value: 1n });
  await assert.rejects(send(node, new PolicySigner("regtest", policy, [dev(4)], account), { type: "transfer", to: keys[1]!.account, value: 1n }), /no longer, control the account/);
  for (const [width, dark] of [[390, false], [390, true], [768, false], [768, true], [1200, false], [1200, true]] as const) {
    await tab.look(width, 900, dark);
    await page(tab, node, `account/${account}`);
    await tab.until(`/Owner: 1 of 1\\s+key\\s+dev6/.test(${main})`);
    assert.ok(Number(await tab.run("document.documentElement.scrollWidth")) <= width, `it is wider than ${width}`);
    const rows = await tab.run("[...document.querySelectorAll('.words')].every((e) => e.textContent.includes(' ') || e.getClientRects().length === 1)");
    assert.equal(rows, true, `a word is broken at ${width}`);
    await accessible(tab, `a recovery that is over, ${width} wide`);
    if (process.env["PICTURES"]) await tab.picture(`${process.env["PICTURES"]}/recovered-${width}-${dark ? "dark" : "light"}.png`);
  }
  await quiet(tab, node);
});

test("an announced upgrade is above every page, and an alarm where the node does not know it", async (t) => {
  const { node, tab } = await opened(t);
  for (const known of [true, false]) {
    await tab.standIn(async (body) => {
      if (!body.includes("svc_getNodeInfo")) return undefined;
      const answer = await (await fetch(node.url, { method: "POST", headers: { "Content-Type": "application/json" }, body })).json() as any;
      for (const item of Array.isArray(answer) ? answer : [answer]) {
        if (item.result?.genesis_hash) item.result.upgrade = { version: 3, from: Date.now() + 3 * 86_400_000, known };
      }
      return { status: 200, body: JSON.stringify(answer) };
    });
    await page(tab, node, "fees");
    const banner = `document.querySelector('.banner${known ? "[role=status]" : ".bad[role=alert]"}')`;
    await tab.until(`/version 3 of the protocol at 20\\d\\d-/.test(${banner}?.innerText) && /${known ? "This node knows it" : "does not know it"}/.test(${banner}.innerText)`);
    await accessible(tab, "an upgrade");
  }
  await tab.standIn();
  await page(tab, node, "node");
  await tab.until(`/Admin[^]*Notice of an upgrade[^]*none is announced/.test(${main})`);
});

/** card returns the part of the page under a heading. */
const card = (title: string): string => `[...document.querySelectorAll('.card')].find((c) => c.querySelector('h2')?.textContent === ${JSON.stringify(title)})`;

test("a passkey makes an account, pays, is paid for, pays for others, gets a second signer, and is found again", async (t) => {
  const { node, tab } = await opened(t);
  await page(tab, node, "wallet");
  await tab.until(`/opened by a number/.test(${main})`);
  const at = localhost(node);
  const authenticator = await tab.authenticator();
  await page(tab, node, "wallet", at);
  await accessible(tab, "an empty wallet");
  const passkeys = async (): Promise<{ credentialId: string; isResidentCredential: boolean }[]> => (await tab.call("WebAuthn.getCredentials", { authenticatorId: authenticator }))["credentials"];

  const begun = Date.now();
  await fill(tab, "form.inline", { name: "Ada" });
  await tab.until(card("Ada"));
  const [ada, ...others] = await passkeys();
  assert.equal(others.length, 0);
  await tab.until(`/Cairn only[^]*Owner: 1 of 1[^]*passkey/.test(${card("Ada")}.innerText)`);
  const address = await tab.run<string>(`${card("Ada")}.querySelector('.mono').textContent`);
  assert.match(address, /^bcrt1p/);

  // Somebody else pays the first fee, because the account has no coins.
  await fill(tab, "form.send", { to: "dev1", amount: "0", memo: "hello", payer: "dev0" });
  await tab.until("document.querySelector('.review .text')");
  const text = await tab.run<string>("document.querySelector('.review .text').textContent");
  assert.match(text, /^Cairn transaction on regtest, chain 31337\npay: 0 coins\nto: bcrt1p.*\nmemo: hello\nfee: at most .* coins, paid by bcrt1p.*\nfrom: /);
  assert.ok(text.includes(`from: ${address}\n`));
  await press(tab, "Sign with the passkey and send");
  await tab.until("/✓ in block/.test(document.querySelector('.review').innerText)");
  t.diagnostic(`from the open page to the first sponsored payment: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  const [first] = await node.client.call("svc_listRecentTransactions", 1);
  assert.ok(first!.witness.type === "policy" && first!.witness.proofs[0]!.evidence.type === "passkey");
  assert.deepEqual([first!.memo, first!.payer], [memo("hello"), keys[0]!.account]);
  assert.equal(formatAddress(first!.from, "regtest"), address);

  await page(tab, node, "wallet", at);
  await press(tab, "Get 10 coins");
  await tab.until(`/10 coins\\s+✓ verified here/.test(${card("Ada")}.innerText)`);
  await fill(tab, "form.send", { to: "dev1", amount: "1.5" });
  await tab.until("/fee: at most [^,]*\\nfrom/.test(document.querySelector('.review .text')?.textContent)");
  await accessible(tab, "a review");
  await press(tab, "Sign with the passkey and send");
  await tab.until("/✓ in block/.test(document.querySelector('.review').innerText)");
  await tab.until(`/8\\.49\\d* coins\\s+✓ verified here/.test(${card("Ada")}.innerText)`);

  // Ada pays for Bob, who has no coins. His signed transaction goes to her as text.
  await fill(tab, "form.inline", { name: "Bob" });
  await tab.until(card("Bob"));
  assert.equal((await passkeys()).length, 2);
  await tab.until(`${card("Bob")}.querySelector('form.send')`);
  await tab.run(`${card("Bob")}.querySelector('form.send').id = 'bob'`);
  await tab.run("(() => { const s = document.querySelector('#bob select'); s.value = 'other'; s.dispatchEvent(new Event('change', { bubbles: true })); })()");
  await tab.until("document.querySelector('#bob [name=sponsor]')");
  await fill(tab, "#bob", { to: "dev2", amount: "0", sponsor: address });
  await tab.until(`${card("Bob")}.querySelector('.review')`);
  await press(tab, "Sign with the passkey", card("Bob"));
  await tab.until(`${card("Bob")}.querySelector('.bytes')`);
  const handover = await tab.run<string>(`${card("Bob")}.querySelector('.bytes').textContent`);
  assert.match(handover, /^0x02/);
  const sponsoring = card("Pay another’s fee");
  await tab.run(`(() => { const form = ${sponsoring}.querySelector('form'); form.querySelector('textarea').value = ${JSON.stringify(handover)}; form.requestSubmit(); })()`);
  await tab.until(`/^Cairn fee payment on regtest/.test(${sponsoring}.querySelector('.text')?.textContent)`);
  await press(tab, "Sign with the passkey and send", sponsoring);
  await tab.until(`/✓ in block/.test(${sponsoring}.innerText)`);
  const [paid] = await node.client.call("svc_listRecentTransactions", 1);
  assert.equal(formatAddress(paid!.payer!, "regtest"), address);

  await tab.run(`${card("Ada")}.querySelector('.second summary').click()`);
  await tab.run(`(() => { const form = ${card("Ada")}.querySelector('.second form'); form.querySelector('input').value = 'dev3'; form.requestSubmit(); })()`);
  await tab.until(`/policy: bcrt1p[^]*owner: 1 of 2 signers/.test(${card("Ada")}.querySelector('.second .text')?.textContent)`);
  await press(tab, "Sign with the passkey and send", `${card("Ada")}.querySelector('.second')`);
  await tab.until(`/Owner: 1 of 2[^]*key\\s+dev3/.test(${card("Ada")}.innerText)`);
  await tab.run(`${card("Ada")}.querySelector('form.send').id = 'ada'`);
  await fill(tab, "#ada", { to: "dev1", amount: "1" });
  await tab.until(`${card("Ada")}.querySelector('.review')`);
  await press(tab, "Sign with the passkey and send", card("Ada"));
  await tab.until(`/✓ in block/.test(${card("Ada")}.querySelector('.review').innerText)`);

  // Another browser of the same person has only the passkey.
  const bob = (await passkeys()).find((p) => p.credentialId !== ada!.credentialId); // Chromium lists them in any order
  await tab.call("WebAuthn.removeCredential", { authenticatorId: authenticator, credentialId: bob!.credentialId });
  await tab.run("localStorage.clear()");
  await page(tab, node, "wallet", at);
  await tab.until(`/No account is kept/.test(${main})`);
  await press(tab, "Find one that I have");
  await tab.until(`document.querySelectorAll('form.send').length === 1 && /Owner: 1 of 2/.test(${main})`);
  assert.ok((await tab.text()).includes(address));
  await press(tab, "Forget here…");
  await press(tab, "Forget it");
  await tab.until(`/No account is kept/.test(${main})`);

  await tab.call("WebAuthn.setUserVerified", { authenticatorId: authenticator, isUserVerified: false });
  await fill(tab, "form.inline", { name: "Eve" });
  await tab.until(`/✗ the passkey was not used/.test(${main})`);
  await tab.until(`/No account is kept/.test(${main})`);
  await quiet(tab, node);
});

test("a wallet shows a recovery with its time, stops it with the passkey, and keeps it when a second signer is added", async (t) => {
  const { node, tab } = await opened(t);
  const at = localhost(node);
  const authenticator = await tab.authenticator();
  await page(tab, node, "wallet", at);
  await fill(tab, "form.inline", { name: "Ada" });
  await tab.until(card("Ada"));
  assert.equal(await tab.run("document.querySelector('form.inline input').value"), "");
  const passkey = await onlyPasskey(tab, authenticator, at);
  succeeded(await node.client.receipt(await node.client.call("dev_fund", passkey.account, parseCoins("10"))));
  const policy: Policy = { number: 0n, owner: makeRule(1, [passkey.signer]), recovery: { rule: makeRule(1, [dev(5).signer]), delay: 604_800_000n } };
  await send(node, passkey, { type: "set_policy", policy });
  const next: Policy = { number: 0n, owner: makeRule(1, [dev(6).signer]), recovery: null };
  await send(node, new PolicySigner("regtest", policy, [dev(5)], passkey.account), { type: "set_policy", recovery: true, policy: next }, dev(0));

  // The browser learns of the policy when it finds the account again.
  await press(tab, "Forget here");
  await press(tab, "Forget it");
  await tab.until(`/No account is kept/.test(${main})`);
  await press(tab, "Find one that I have");
  await tab.until(`/under way: from 20\\d\\d-[^]*in 6 d[^]*key\\s+dev6[^]*Stop the recovery[^]*Owner: 1 of 1[^]*passkey[^]*Recovery, after 7 d 0 h: 1 of 1\\s+key\\s+dev5/.test(${main})`);
  await accessible(tab, "a recovery in the wallet");
  await press(tab, "Stop the recovery");
  await tab.until("/policy: /.test(document.querySelector('.review .text')?.textContent)");
  await press(tab, "Sign with the passkey and send");
  await tab.until(`/Recovery, after 7 d/.test(${main}) && !document.querySelector('.recovering')`);
  assert.equal((await node.client.call("svc_getAccount", passkey.account)).recovery, null);

  await tab.run("document.querySelector('.second summary').click()");
  await tab.run("(() => { const form = document.querySelector('.second form'); form.querySelector('input').value = 'dev3'; form.requestSubmit(); })()");
  await tab.until("/owner: 1 of 2 signers/.test(document.querySelector('.second .text')?.textContent)");
  await press(tab, "Sign with the passkey and send", "document.querySelector('.second')");
  await tab.until(`/Owner: 1 of 2[^]*key\\s+dev3[^]*Recovery, after 7 d 0 h: 1 of 1/.test(${main})`);
  await quiet(tab, node);
});
