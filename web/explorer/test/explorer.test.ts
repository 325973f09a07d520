// The explorer in a real Chromium, against the real node.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { Browser, type Tab } from "./chromium.js";
import { startNode, type Node } from "./node.js";

const browser = Browser.start();
after(() => browser.close());

const contracts = new URL("../../../../contracts/wasm/", import.meta.url).pathname;
const axe = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const HOSTILE = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>".slice(0, 64);
const STOPPED = ["--block-time", "0", "--prove", "off"]; // a block for each transaction, else only by dev_mine

async function deploy(node: Node, name: string, symbol: string): Promise<string> {
  await node.cairn(
    "token",
    "deploy",
    `${contracts}nep20.wasm`,
    "--name",
    name,
    "--symbol",
    symbol,
    "--decimals",
    "2",
    "--supply",
    "1000",
    "--from",
    "dev0",
  );
  return (await node.client.call("svc_listContracts")).at(-1)!.contract_id;
}

/** page opens a path of the explorer, and waits for its heading. */
async function page(tab: Tab, node: Node, path: string): Promise<void> {
  await tab.go(`${node.url}/explorer/${path}`);
  await tab.until("document.querySelector('h1') && !document.querySelector('[aria-busy=true]')");
}

/** quiet holds a tab to its policy: no complaint, nobody asked but the node, nothing of the chain's was run. */
async function quiet(tab: Tab, node: Node): Promise<void> {
  assert.deepEqual(tab.complaints.splice(0), []);
  const others = [...tab.asked].filter(
    (url) => new URL(url).host !== new URL(node.url).host && url !== "about:blank",
  );
  assert.deepEqual(others, []);
  assert.equal(await tab.run("window.pwned ?? 0"), 0);
}

async function opened(t: TestContext, ...flags: string[]): Promise<{ node: Node; tab: Tab }> {
  const node = await startNode(t, ...flags);
  const tab = await browser.open();
  await tab.look(1280, 900);
  return { node, tab };
}

test("blocks appear, empty ones folded, and the keyboard leads to what is searched for", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await page(tab, node, "");
  await node.client.call("dev_mine", 5);
  await tab.until("/0–5\\s*· 6 empty blocks/.test(document.body.innerText)");
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  await tab.until("document.querySelector('.blocks tbody tr td a')?.textContent === '6'");
  await tab.until("/dev0[^]*dev1[^]*1\\.5/.test(document.body.innerText)"); // the recent transactions
  const { transactions } = (await node.client.block(6))!;
  for (const [text, at] of [
    ["6", "/block/6"],
    [String(transactions[0]), `/tx/${transactions[0]}`],
    ["dev3", "/account/0x"],
    [(await node.client.block(2))!.hash, "/block/0x"],
  ]) {
    await tab.type("/");
    await tab.until("document.activeElement?.id === 'search'");
    await tab.run("document.activeElement.value = ''");
    await tab.type(...text!, "Enter");
    await tab.until(`location.pathname.includes(${JSON.stringify(at)}) && document.querySelector('h1')`);
  }
  await tab.type("g", "f");
  await tab.until("document.querySelector('h1')?.textContent === 'Fees'");
  await tab.type("?");
  await tab.until("document.querySelector('dialog').open");
  await tab.type("Escape");
  await tab.until("!document.querySelector('dialog').open");
  await page(tab, node, `search?q=${"bcrt1pfewlxm8meyyvgjydfu7v8j4ej64symj6ut8sf66h9germp94qgzs92e5zz"}`);
  await tab.until("document.querySelector('mark')?.textContent === 'z'");
  await quiet(tab, node);
});

test("a transaction is decoded by its ABI, and the gas of its trace adds up", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const gold = await deploy(node, "Gold", "GLD");
  await node.cairn("token", "transfer", gold, "dev1", "123.45", "--from", "dev0");
  const { hash } = (await node.client.call("svc_listRecentTransactions", 1))[0]!;
  await page(tab, node, `tx/${hash}`);
  await tab.until("/to account\\s+dev1[^]*amount u64\\s+12,345/.test(document.body.innerText)");
  await tab.until("document.querySelectorAll('.tree .sum').length > 0");
  const sums = await tab.run<string[]>("[...document.querySelectorAll('.card .sum')].map((e) => e.textContent)");
  assert.ok(sums.length >= 2);
  for (const sum of sums) {
    const [whole, ...parts] = sum.replace(/,/g, "").match(/-?\d+/g)!.map(Number);
    assert.equal(
      parts.reduce((a, b) => a + b, 0),
      whole,
      sum,
    );
    assert.ok(
      parts.every((part) => part >= 0),
      sum,
    );
  }
  await page(tab, node, `contract/${gold}`);
  await tab.run(
    "[...document.querySelectorAll('.functions form')].find((f) => f.textContent.includes('balanceOf')).querySelector('input').value = 'bcrt1p6g8r5e8jvnvukaqgdauwag8lfkzvz3dng4057kv7avnpxpkghdkszxhwd4'",
  );
  await tab.run(
    "[...document.querySelectorAll('.functions form')].find((f) => f.textContent.includes('balanceOf')).requestSubmit()",
  );
  await tab.until("/→ 12,345/.test(document.body.innerText)");
  await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Write').click()");
  await tab.until("document.querySelector('.functions select, .note select')");
  await tab.run(`(() => { const form = [...document.querySelectorAll('.functions form')].find((f) => f.querySelector('h3').textContent.startsWith('transfer '));
    const [to, amount] = form.querySelectorAll('input'); to.value = '${"0x" + "22".repeat(32)}'; amount.value = '5'; form.requestSubmit(); })()`);
  await tab.until("/✓ in block/.test(document.body.innerText)");
  await quiet(tab, node);
});

test("a page tells what a code says of its source, and that it has verified nothing", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const source = "document.querySelector('.card').innerText";
  await page(tab, node, `contract/${await deploy(node, "Gold", "GLD")}`);
  await tab.until(`/the code does not say what it was compiled from/.test(${source})`);
  const directory = mkdtempSync(join(tmpdir(), "cairn-explorer-source-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const section = [12, ...Buffer.from("cairn_source"), 1, ...new Array<number>(32).fill(0xab)];
  const file = join(directory, "said.wasm");
  writeFileSync(file, Buffer.from([...readFileSync(`${contracts}counter.wasm`), 0, section.length, ...section]));
  await node.cairn("deploy", file, "--from", "dev0");
  await page(tab, node, `contract/${(await node.client.call("svc_listContracts")).at(-1)!.contract_id}`);
  await tab.until(`/the code says 0x(ab){32}/.test(${source})`);
  const text = String(await tab.run(source));
  assert.match(text, /not published at this node/);
  assert.match(text, /not verified by this page/);
});

test("names, symbols and revert words of the chain are text", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const evil = await deploy(node, HOSTILE, HOSTILE.slice(0, 32) + "\u202e");
  const [deployed] = await node.client.call("svc_listRecentTransactions", 1);
  for (const path of [
    "",
    "contracts",
    "tokens",
    `contract/${evil}`,
    `token/${evil}`,
    `tx/${deployed!.hash}`,
    `account/${deployed!.from}`,
    `search?q=${encodeURIComponent(HOSTILE)}`,
  ]) {
    await page(tab, node, path);
    await tab.until("document.body.innerText.includes('<script>window.pwned=1</script>')");
    assert.equal(await tab.run("document.querySelectorAll('main script, main img, main iframe').length"), 0, path);
    assert.ok(!(await tab.text()).includes("\u202e"), path);
  }
  await page(tab, node, `block/${encodeURIComponent("<img src=x onerror=pwned=1>")}`);
  await tab.until("document.querySelector('h1').textContent === 'No such page'");
  await quiet(tab, node);
});

test("the page survives dev_revert and the end of its node", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await page(tab, node, "");
  const snapshot = await node.client.call("dev_snapshot");
  await node.client.call("dev_mine", 4);
  await tab.until("/0–4/.test(document.body.innerText)");
  await node.client.call("dev_revert", snapshot);
  await node.client.call("dev_increaseTime", 1000);
  await node.client.call("dev_mine", 7); // beyond what the page has: the node may tell of these alone
  await tab.until("/The chain was taken back to block \\d/.test(document.body.innerText)");
  await tab.until("/0–7/.test(document.body.innerText)");
  assert.equal(await tab.run("document.querySelector('.tiles a').textContent"), "7");
  await node.kill();
  await tab.until("/reconnecting/.test(document.querySelector('.live').textContent)");
  await node.start();
  await tab.until("/live/.test(document.querySelector('.live').textContent)", 30_000);
  await node.client.call("dev_mine", 3);
  await tab.until("/0–10/.test(document.body.innerText)");
});

test("axe finds nothing on any page, wide and narrow, light and dark", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const gold = await deploy(node, "Gold", "GLD");
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  const [sent, deployed] = await node.client.call("svc_listRecentTransactions", 2);
  const paths = [
    "",
    "block/1",
    "block/99",
    `tx/${sent!.hash}`,
    `tx/${deployed!.hash}`,
    `account/${sent!.from}`,
    `contract/${gold}`,
    `token/${gold}`,
    "contracts",
    "tokens",
    "fees",
    "mempool",
    "node",
    "proof/1",
    "search?q=gold",
    "nothing",
  ];
  let pages = 0;
  for (const [width, height, dark] of [
    [1280, 900, false],
    [390, 844, true],
    [1280, 900, true],
    [320, 640, false],
  ] as const) {
    await tab.look(width, height, dark);
    for (const path of paths) {
      await page(tab, node, path);
      const wide = await tab.run<number>(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      assert.ok(wide <= 0, `${path} scrolls sideways by ${wide} at ${width}`);
      await tab.run(axe);
      const findings = await tab.run<string[]>(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html + n.failureSummary).slice(0, 3).join('\\n')))",
      );
      assert.deepEqual(findings, [], `${path} at ${width}, ${dark ? "dark" : "light"}`);
      pages++;
    }
  }
  t.diagnostic(`axe-core: ${pages} looks at ${paths.length} pages, no findings`);
  await quiet(tab, node);
});

test("a proof is verified in the page", async (t) => {
  const { node, tab } = await opened(t, "--block-time", "0");
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  await node.client.proven(1, { signal: AbortSignal.timeout(60_000) });
  await page(tab, node, "proof/1");
  await tab.run("document.querySelector('main button.primary').click()");
  await tab.until("document.querySelectorAll('.steps-list li').length === 5", 60_000);
  assert.equal(await tab.run("document.querySelectorAll('.steps-list .ok').length"), 4, await tab.text());
  await quiet(tab, node);
});
