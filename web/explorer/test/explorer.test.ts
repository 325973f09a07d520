// The explorer in a real Chromium, against the real node.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { fromHex } from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { createSender } from "@cairn-chain/sdk/sender";
import { Browser, type Tab } from "./chromium.js";
import { startNode, type Node } from "./node.js";
import { page, quiet } from "./page.js";

const browser = Browser.start();
after(() => browser.close());

const contracts = new URL("../../../../contracts/wasm/", import.meta.url).pathname;
const axe = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const DEV = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8")) as {
  account: `0x${string}`;
  private: `0x${string}`;
}[];
const HOSTILE = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>".slice(0, 64);
const STOPPED = ["--block-time", "0", "--prove", "off"]; // only transactions and dev_mine make blocks

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
  await tab.run(`(() => { const form = [...document.querySelectorAll('.functions form')].find((f) => f.querySelector('h3').textContent.startsWith('“transfer”'));
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
    if (path.startsWith("account/"))
      await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Transactions').click()");
    await tab.until("document.body.innerText.includes('<script>window.pwned=1</script>')");
    assert.equal(await tab.run("document.querySelectorAll('main script, main img, main iframe').length"), 0, path);
    assert.ok(!(await tab.text()).includes("\u202e"), path);
  }
  await page(tab, node, `block/${encodeURIComponent("<img src=x onerror=pwned=1>")}`);
  await tab.until("document.querySelector('h1').textContent === 'No such page'");
  await quiet(tab, node);
});

/** answers changes the node's answers to the named methods, or refuses them if a code is given. */
async function answers(
  tab: Tab,
  node: Node,
  change: Record<string, (result: any) => unknown | { refused: Record<string, unknown> }>,
): Promise<void> {
  await tab.standIn(async (body) => {
    const asked = JSON.parse(body);
    const calls: { id: unknown; method: string }[] = Array.isArray(asked) ? asked : [asked];
    if (!calls.some(({ method }) => change[method])) return undefined;
    const answer = await fetch(node.url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const got = (await answer.json()) as any;
    for (const item of Array.isArray(got) ? got : [got]) {
      const changed = change[calls.find(({ id }) => id === item.id)!.method]?.(item.result) as any;
      if (changed?.refused) {
        delete item.result;
        item.error = changed.refused;
      } else if (changed !== undefined) item.result = changed;
    }
    return { status: 200, body: JSON.stringify(got) };
  });
}

const verified = (places: string): string =>
  `document.querySelectorAll(${JSON.stringify(places)}).length > 0 && [...document.querySelectorAll(${JSON.stringify(places)})].every((e) => /✓ verified here/.test(e.textContent))`;

test("a page connects, verifies balances with no node believed, signs and sends", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const gold = await deploy(node, "Gold", "GLD");
  await node.cairn("token", "transfer", gold, "dev1", "123.45", "--from", "dev0");
  const [dev0, dev1] = [DEV[0]!.account, DEV[1]!.account];
  await page(tab, node, `account/${dev1}`);
  await tab.until(verified(".verified"));
  await tab.run("document.querySelector('.verified summary').click()");
  const said = await tab.run<string>("document.querySelector('.verified').innerText");
  for (const part of [/Header/, /State/, /Not shown/, /Authority/, /first saw the chain/]) assert.match(said, part);
  await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Tokens').click()");
  await tab.until(`document.querySelectorAll('.verified').length === 2 && ${verified(".verified")}`);
  assert.match(await tab.text(), /123\.45/);

  await page(tab, node, `account/${dev0}`);
  await tab.run(`(() => { const form = document.querySelector('form.send');
    form.querySelector('[name=to]').value = 'dev1'; form.querySelector('[name=amount]').value = '2.5'; form.requestSubmit(); })()`);
  await tab.until("/✓ in block/.test(document.querySelector('form.send output').textContent)");
  await tab.until("/→ out\\s+2\\.5\\s+dev1/.test(document.body.innerText)");
  assert.equal(await node.client.balance(dev1), 10_002n * 100_000_000n + 50_000_000n);
  await tab.run(`(() => { const form = document.querySelector('form.send'); form.querySelector('[name=to]').value = 'nobody'; form.requestSubmit(); })()`);
  await tab.until("/✗/.test(document.querySelector('form.send output').textContent)");

  await page(tab, node, `token/${gold}`);
  await tab.until(`document.querySelectorAll('.verified').length === 3 && ${verified(".verified")}`); // supply, two holders
  await quiet(tab, node);
});

test("a lying node is found out, and a page counts by the key that a person enters", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const gold = await deploy(node, "Gold", "GLD");
  const dev1 = DEV[1]!.account;
  await page(tab, node, `account/${dev1}`);
  await tab.until(verified(".verified"));
  await answers(tab, node, { svc_getAccount: (account) => ({ ...account, balance: "0x1" }), svc_getTokenHolders: () => [{ address: dev1, balance: "0x5", balanceDecimal: 1 }] });
  await page(tab, node, `account/${dev1}`);
  await tab.until(verified(".verified"));
  assert.match(await tab.text(), /10,000 coins\s+✓ verified here/); // not the node's answer
  await page(tab, node, `token/${gold}`);
  await tab.until(`document.querySelectorAll('.verified').length === 2 && ${verified(".verified")}`);
  assert.match(await tab.run("document.querySelector('td .verified').parentElement.innerText"), /^0\s+✓/);
  await answers(tab, node, { svc_getStateProof: (proof) => ({ ...proof, value: "0xff".padEnd(34, "0") }) });
  await page(tab, node, `account/${dev1}`);
  await tab.until("/✗ .*the proof is refused: witness/.test(document.querySelector('[role=alert]')?.textContent)");
  await answers(tab, node, { svc_getStateProof: () => ({ refused: { code: -32021, message: "x", data: { reason: "stateless" } } }) });
  await page(tab, node, `account/${dev1}`);
  await tab.until("/not verified, the node’s word: This node verifies blocks by their proofs/.test(document.body.innerText)");
  await tab.standIn();
  await page(tab, node, "node");
  const key = "ab".repeat(32);
  await tab.run(`(() => { const form = document.querySelector('form.inline'); form.querySelector('input').value = '${key}'; form.requestSubmit(); })()`);
  await tab.until("/you entered/.test(document.body.innerText) && /This node names another/.test(document.body.innerText)");
  await page(tab, node, `account/${dev1}`);
  await tab.until("/✗ .*its producer is 0x/.test(document.querySelector('[role=alert]')?.textContent)");
});

test("a token of one each shows who holds how many, and which one was transferred", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await node.cairn("deploy", `${contracts}nft.wasm`, "--name", "Cats", "--args", '{"symbol":"CAT"}', "--from", "dev0", "--alias", "cats");
  for (const id of ["0x746f6d", "0x01"]) {
    await node.cairn("call", "cats", "mint", "--to", "dev1", "--tokenId", id, "--properties", "{}", "--from", "dev0");
  }
  await node.cairn("call", "cats", "transfer", "--to", "dev2", "--tokenId", "0x746f6d", "--from", "dev1");
  const cats = (await node.client.call("svc_listContracts")).at(-1)!.contract_id;
  await page(tab, node, `token/${cats}`);
  await tab.until(`document.querySelectorAll('.verified').length === 3 && ${verified(".verified")}`); // the supply and two holders
  const rows = "[...document.querySelectorAll('main tbody tr')].map((r) => r.innerText.replace(/\\s+/g, ' '))";
  const list = await tab.run<string[]>(rows);
  assert.match(list[0]! + list[1]!, /dev[12].* 1 ✓.* 50 %.*dev[12].* 1 ✓.* 50 %/);
  assert.match(list[2]!, /dev1\S* dev2\S* 0x746f6d “tom” 1$/);
  assert.match(list[3]!, /nobody dev1\S* 0x01 1$/);
  await page(tab, node, `account/${DEV[2]!.account}`);
  await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Tokens').click()");
  await tab.until("/“Cats”.*CAT.*1/s.test(document.querySelector('main tbody tr')?.innerText)");
  await quiet(tab, node);
});

test("a token that declares nothing is one where the node says so: in the list, on its pages and an account's", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const code = readFileSync(`${contracts}nep20.wasm`);
  code.write("cairn_abx", code.indexOf("cairn_abi")); // a section with another name
  const dir = mkdtempSync(join(tmpdir(), "bare"));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, "bare.wasm"), code);
  const terms = '{"name":"Bare","symbol":"BAR","decimals":2,"initialSupply":1000}';
  await node.cairn("deploy", join(dir, "bare.wasm"), "--name", "b", "--args", terms, "--from", "dev0", "--alias", "bare");
  await node.cairn("call", "bare", "transfer", "--args", `{"to":"${DEV[1]!.account}","amount":150}`, "--from", "dev0");
  const bare = (await node.client.call("svc_listContracts")).at(-1)!.contract_id;
  await page(tab, node, "tokens");
  await tab.until("/“Bare”.*BAR.*10/s.test(document.querySelector('main tbody tr')?.innerText)");
  await page(tab, node, `contract/${bare}`);
  await tab.until("/It is a token/.test(document.body.innerText)");
  await page(tab, node, `token/${bare}`);
  await tab.until("/BAR.*2 decimals/s.test(document.body.innerText) && document.querySelectorAll('main tbody tr').length === 4");
  const rows = await tab.run<string[]>("[...document.querySelectorAll('main tbody tr')].map((r) => r.innerText.replace(/\\s+/g, ' '))");
  assert.match(rows.join("\n"), /dev1.*1\.5/);
  await page(tab, node, `account/${DEV[1]!.account}`);
  await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Tokens').click()");
  await tab.until("/“Bare”.*BAR.*1\\.5/s.test(document.querySelector('main tbody tr')?.innerText)");
  await quiet(tab, node);
});

test("payments of every kind are one list, labels name accounts, and search knows both symbols and labels", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await deploy(node, "Gold", "GLD");
  const dev1 = DEV[1]!.account;
  await node.cairn("deploy", `${contracts}bank.wasm`, "--name", "Bank", "--from", "dev0", "--alias", "bank");
  const bank = (await node.client.call("svc_listContracts")).at(-1)!.contract_id;
  await node.cairn("call", "bank", "deposit", "--value", "2", "--from", "dev1");
  await node.cairn("call", "bank", "withdraw", "--from", "dev1");
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  await page(tab, node, `account/${dev1}`);
  const rows = "[...document.querySelectorAll('main tbody tr')].map((r) => [...r.children].slice(1, 5).map((c) => c.innerText.replace(/\\s+/g, ' ')).join('|'))";
  await tab.until("document.querySelectorAll('main tbody tr').length === 3");
  await tab.until(`${rows}.every((row) => !/bcrt1/.test(row) || /dev0/.test(row))`); // the contract's name has arrived
  const list = await tab.run<string[]>(rows);
  assert.match(list[0]!, /^← in\|1\.5\|dev0.*\|transfer$/);
  assert.match(list[1]!, /^← in\|2\|“Bank”.*\|by a contract$/);
  assert.match(list[2]!, /^→ out\|2\|“Bank”.*\|value of a call$/);
  await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Out').click()");
  await tab.until("document.querySelectorAll('main tbody tr').length === 1");
  await page(tab, node, `contract/${bank}`);
  await tab.run("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Name it').click()");
  await tab.until("document.querySelector('form.inline')");
  await tab.run("(() => { const form = document.querySelector('form.inline'); form.querySelector('input').value = 'my <b>bank</b>'; form.requestSubmit(); })()");
  await page(tab, node, `account/${dev1}`);
  await tab.until("[...document.querySelectorAll('td .chip')].some((e) => e.textContent === 'my <b>bank</b>')");
  for (const [query, found] of [["gld", "“Gold” “GLD”"], ["my <b>", "my <b>bank</b>"]] as const) {
    await page(tab, node, `search?q=${encodeURIComponent(query)}`);
    await tab.until(`[...document.querySelectorAll('.found li')].some((e) => e.innerText.replace(/\\s+/g, ' ').includes(${JSON.stringify(found)}))`);
  }
  await page(tab, node, "labels");
  await tab.run("[...document.querySelectorAll('main button')].find((b) => b.textContent === 'Remove').click()");
  await tab.until("/None yet/.test(document.body.innerText)");
  await quiet(tab, node);
});

type Answer = { result?: any; error?: unknown };

/** altered answers the page like the node, except for the given methods. */
async function altered(tab: Tab, node: Node, methods: Record<string, (answer: Answer) => Answer>): Promise<void> {
  await tab.standIn(async (body) => {
    const asked = JSON.parse(body);
    const calls: { id: number; method: string }[] = Array.isArray(asked) ? asked : [asked];
    if (!calls.some(({ method }) => methods[method])) return undefined;
    const answers = await Promise.all(calls.map(async (call) => {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(node.url, { method: "POST", headers, body: JSON.stringify(call) });
      const answer = (await response.json()) as Answer;
      return methods[call.method] ? { jsonrpc: "2.0", id: call.id, ...methods[call.method]!(answer) } : answer;
    }));
    return { status: 200, body: JSON.stringify(Array.isArray(asked) ? answers : answers[0]) };
  });
}

test("storage has its names and types where the ABI gives them, and is raw elsewhere", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  const shown = async (): Promise<string[]> => {
    await tab.until("document.querySelector('.tree')");
    await tab.run("document.querySelectorAll('details').forEach((d) => (d.open = true))");
    return tab.run("[...document.querySelectorAll('.tree .writes li')].map((li) => li.innerText.replace(/\\s+/g, ' ').trim())");
  };
  for (const [file, named] of [["registry", true], ["as-registry", true], ["counter", false]] as const) {
    const init = named ? ["--args", '{"delay":5}'] : [];
    await node.cairn("deploy", `${contracts}${file}.wasm`, "--name", file, "--from", "dev0", "--alias", file, ...init);
    if (named) await node.cairn("call", file, "announce", "--name", "<b>shop</b>", "--contract", file, "--from", "dev0");
    else await node.cairn("call", file, "add", "--amount", "3", "--from", "dev0");
    const { hash } = (await node.client.call("svc_listRecentTransactions", 1))[0]!;
    await page(tab, node, `tx/${hash}`);
    if (named) await tab.until("document.querySelector('.tree .writes .type')");
    const writes = await shown();
    if (named) {
      assert.match(writes.join("\n"), /^next\[“<b>shop<\/b>”\] Next: nothing → \{contract: 0x[0-9a-f]{64}, from: \d+\}$/, file);
    } else {
      assert.ok(writes.length > 0 && writes.every((write) => /^0x[0-9a-f]+ .*raw ?: /.test(write)), writes.join("\n"));
    }
    const id = (await node.client.call("svc_listContracts")).at(-1)!.contract_id;
    await page(tab, node, `contract/${id}`);
    await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Storage').click()");
    await tab.until(named ? "/delay u64[^]*5[^]*next string → Next[^]*values by key/.test(document.querySelector('main').innerText)"
      : "/does not say what is in its storage/.test(document.querySelector('main').innerText)");
    await tab.run(axe);
    const found = await tab.run("axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((v) => v.id + ': ' + v.nodes[0].html))");
    assert.deepEqual(found, [], file);
  }
  await quiet(tab, node);
});

test("a hostile description of storage is text, and what does not fit it is raw", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await node.cairn("deploy", `${contracts}registry.wasm`, "--name", "R", "--from", "dev0", "--alias", "reg", "--args", '{"delay":5}');
  await node.cairn("call", "reg", "announce", "--name", "shop", "--contract", "reg", "--from", "dev0");
  const [call, made] = await node.client.call("svc_listRecentTransactions", 2);
  const id = (await node.client.call("svc_listContracts"))[0]!.contract_id;
  const record = (name: string, type: string) => ({ name, kind: "record", fields: [{ name: "f", type }] });
  const hostile = [
    { encoding: "prefixed", cells: [{ name: "next", kind: "map", key: "string", value: HOSTILE }, { name: "delay", kind: "cell", value: "u64" }, { name: HOSTILE, kind: "cell", value: "A" }] },
    { encoding: "prefixed", cells: [{ name: "next", kind: "map", key: "A", value: "A" }, { name: "delay", kind: "cell", value: "string" }] },
    { encoding: HOSTILE, cells: 5 }, { encoding: "prefixed", cells: [null, { name: "next", kind: 7 }] },
  ];
  for (const [i, storage] of hostile.entries()) {
    const types = [record("A", "A"), record(HOSTILE, "u8")];
    await altered(tab, node, { svc_getContractAbi: () => ({ result: { abi: 2, functions: [], events: [], types, storage } }) });
    for (const { hash } of [call!, made!]) {
      await page(tab, node, `tx/${hash}`);
      await tab.until("document.querySelector('.tree')");
      await tab.run("document.querySelectorAll('details').forEach((d) => (d.open = true))");
      await tab.until("/raw/.test(document.querySelector('.tree .writes').innerText)");
    }
    if (i === 0) await tab.until("/delay u64: nothing → 5/.test(document.querySelector('.tree .writes').innerText)"); // beside raw ones
    if (i < 2) {
      await page(tab, node, `contract/${id}`);
      await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Storage').click()");
      await tab.until("document.querySelector('dl.values')");
    }
    await quiet(tab, node);
  }
});

test("a proof is offered once there is one, and what there is instead is said before", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  for (const [height, says] of [[1, "This node has no proofs"], [9, "There is no block 9 yet"]] as const) {
    await page(tab, node, `proof/${height}`);
    await tab.until(`document.querySelector('main .empty')?.innerText.includes(${JSON.stringify(says)})`);
    assert.equal(await tab.run("document.querySelector('main button.primary')"), null);
  }
  await page(tab, node, `account/${DEV[1]!.account}`);
  await tab.until(verified(".verified"));
  await tab.run("document.querySelector('.verified summary').click()");
  await tab.until("/has no STARK proof of a block/.test(document.querySelector('.by-proof').innerText)");
  assert.equal(await tab.run("document.querySelector('.by-proof button')"), null);
  let status: "queued" | "proving" | "here" = "queued";
  await altered(tab, node, {
    svc_getProof: () => ({ error: { code: -32020, message: "not ready", data: { reason: "proof_not_ready", status, position: 3 } } }),
    svc_getNodeInfo: ({ result }) => ({ result: { ...result, proofs: status === "here" ? { oldest: 1, newest: 1 } : null } }),
  });
  await page(tab, node, "proof/1");
  await tab.until("/no proof of this block yet: it waits for its turn, 3 blocks before it/.test(document.querySelector('main').innerText)");
  status = "proving";
  await tab.until("/no proof of this block yet: it is being made/.test(document.querySelector('main').innerText)");
  assert.equal(await tab.run("document.querySelector('main button.primary')"), null);
  status = "here";
  await tab.until("document.querySelector('main button.primary')?.textContent === 'Verify in this page'");
  await page(tab, node, "block/1");
  await tab.until("/There is one: verify it here/.test(document.querySelector('main').innerText)");
  await quiet(tab, node);
});

test("a block of many transactions is read by pages, and no list of all is asked for", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await node.client.call("dev_setBlockTime", null);
  const sender = await createSender(node.client, new KeySigner(fromHex(DEV[0]!.private)), { poll: 20 });
  const to = DEV[1]!.account;
  const sent = Array.from({ length: 120 }, (_, i) => sender.send({ type: "transfer", to, value: BigInt(i + 1) }));
  await Promise.all(sent.map(({ accepted }) => accepted));
  await node.client.call("dev_mine", 1);
  await Promise.all(sent.map(({ receipt }) => receipt));
  await sender.close();
  await page(tab, node, "");
  const calls: [string, unknown[]][] = [];
  await tab.standIn(async (body) => {
    const asked = JSON.parse(body);
    for (const { method, params } of Array.isArray(asked) ? asked : [asked]) calls.push([method, params]);
    return undefined;
  });
  await page(tab, node, "block/1");
  await tab.until("document.querySelectorAll('main tbody tr').length === 50 && /page 1 of 3/.test(document.body.innerText)");
  const block = await node.client.block(1);
  const shown = async (): Promise<string[]> => tab.run("[...document.querySelectorAll('main tbody tr td:first-child a')].map((a) => a.title)");
  assert.deepEqual(await shown(), block!.transactions.slice(0, 50));
  await tab.run("document.querySelector('[aria-label=\"Page after\"]').click()");
  await tab.until("/page 2 of 3/.test(document.body.innerText)");
  await tab.run("document.querySelector('[aria-label=\"Page after\"]').click()");
  await tab.until("document.querySelectorAll('main tbody tr').length === 20");
  assert.deepEqual(await shown(), block!.transactions.slice(100));
  await page(tab, node, `block/${block!.hash}`);
  await tab.until("document.querySelectorAll('main tbody tr').length === 50");
  const blocks = calls.filter(([method]) => /^svc_getBlock(ByNumber|ByHash)$/.test(method));
  assert.ok(blocks.length >= 2 && blocks.every(([, params]) => params[2] === true), JSON.stringify(blocks));
  await quiet(tab, node);
});

test("pages say that they load, that there is nothing, and what went wrong, and try again", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await node.cairn("send", "dev1", "1.5", "--from", "dev0");
  const [unused, dev1] = [`0x${"77".repeat(32)}`, DEV[1]!.account];
  await page(tab, node, "");
  const findings = async (what: string): Promise<void> => {
    await tab.run(axe);
    const found = await tab.run("axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map((v) => v.id + ': ' + v.nodes[0].html))");
    assert.deepEqual(found, [], what);
  };
  for (const [path, method] of [
    [`account/${dev1}`, "svc_getPayments"], ["block/1", "svc_getBlockByNumber"], ["fees", "svc_getFeeHistory"],
    ["node", "svc_getParameters"], ["contracts", "svc_listContracts"], ["mempool", "svc_getMempoolStats"],
  ] as const) {
    let hangs = true;
    await tab.standIn(async (body) => {
      if (!body.includes(method)) return undefined;
      if (hangs) return null;
      const refusal = { code: -32021, message: "gone", data: { reason: "pruned", oldestHeight: 7 } };
      const asked = JSON.parse(body);
      const refused = (Array.isArray(asked) ? asked : [asked]).map(({ id }) => ({ jsonrpc: "2.0", id, error: refusal }));
      return { status: 200, body: JSON.stringify(Array.isArray(asked) ? refused : refused[0]) };
    });
    await tab.go(`${node.url}/explorer/${path}`);
    await tab.until("/^Loading ./.test(document.querySelector('main [aria-busy=true] .sr')?.textContent)");
    await findings(`${path} while it loads`);
    hangs = false;
    await tab.go(`${node.url}/explorer/${path}`);
    await tab.until("/could not be loaded.*This node keeps blocks from 7/s.test(document.querySelector('.failure')?.innerText)");
    await findings(`${path} refused`);
    await tab.standIn();
    await tab.run("document.querySelector('.failure button').click()");
    await tab.until("!document.querySelector('.failure, [aria-busy=true]')");
  }
  for (const [path, empty] of [
    [`account/${unused}`, "No payments yet"], ["block/0", "This block is empty"], ["contracts", "No contracts yet"],
    ["tokens", "No tokens among"], ["mempool", "Nothing waits"], [`tx/${unused}`, "Not known to this node"],
    [`token/${unused}`, "There is no token"], [`contract/${unused}`, "There is no contract"], ["labels", "None yet"], ["wallet", "No account is kept"],
  ] as const) {
    await page(tab, node, path);
    await tab.until(`document.querySelector('.empty')?.textContent.includes(${JSON.stringify(empty)})`);
    await findings(`${path}, empty`);
  }
  await tab.standIn(async () => ({ status: 401, body: "" }));
  await tab.go(`${node.url}/explorer/`);
  await tab.until("/The node asks for an API key/.test(document.body.innerText)");
  await findings("refused as a whole");
});

test("the page survives dev_revert and the end of its node", async (t) => {
  const { node, tab } = await opened(t, ...STOPPED);
  await page(tab, node, "");
  const snapshot = await node.client.call("dev_snapshot");
  await node.client.call("dev_mine", 4);
  await tab.until("/0–4/.test(document.body.innerText)");
  await node.client.call("dev_revert", snapshot);
  await node.client.call("dev_increaseTime", 1000);
  await node.client.call("dev_mine", 7); // older than the page's blocks, so only the node can report these
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
    "labels",
    "wallet",
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
  await tab.until("document.querySelector('main button.primary')");
  await tab.run("document.querySelector('main button.primary').click()");
  await tab.until("document.querySelectorAll('.steps-list li').length === 5", 60_000);
  assert.equal(await tab.run("document.querySelectorAll('.steps-list .ok').length"), 4, await tab.text());
  await page(tab, node, `account/${DEV[1]!.account}`);
  await tab.until(verified(".verified"));
  await tab.run("document.querySelector('.verified summary').click()");
  await tab.run("document.querySelector('.by-proof button').click()");
  await tab.until("/After the newest block with a proof, the balance is 10,001.5:[^]*✓ Proof/.test(document.body.innerText)", 60_000);
  await quiet(tab, node);
});
