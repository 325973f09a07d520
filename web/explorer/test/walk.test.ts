// Opens every page of the explorer on a chain with extreme content: names and numbers of the greatest length, and a
// node that becomes unreachable.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, test, type TestContext } from "node:test";
import type { Route } from "../src/route.js";
import { Browser } from "./chromium.js";
import { startNode, type Node } from "./node.js";
import { READY, page, quiet } from "./page.js";

const browser = Browser.start();
after(() => browser.close());

const contracts = new URL("../../../../contracts/wasm/", import.meta.url).pathname;
const DEV = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8")) as { account: string }[];
const LONG = "W".repeat(64);
const MOST = "18446744073709551615";
const WIDTHS = [390, 820, 1440] as const;

interface Walked {
  node: Node;
  /** the paths of each page with its tabs; TypeScript checks that none is missing */
  paths: Record<Route["page"], readonly string[]>;
}

/** spoiled runs a chain with long names, with tiny and huge amounts, and with empty accounts. */
async function spoiled(t: TestContext): Promise<Walked> {
  const node = await startNode(t, "--block-time", "0", "--prove", "off");
  const newest = async (): Promise<string> => (await node.client.call("svc_listContracts")).at(-1)!.contract_id;
  const deploy = (file: string, ...args: string[]) => node.cairn("deploy", `${contracts}${file}.wasm`, "--from", "dev0", ...args);
  const token = async (name: string, decimals: number, alias: string): Promise<string> => {
    const init = { name, symbol: "W".repeat(16), decimals, initialSupply: MOST };
    await deploy("nep20", "--name", name, "--alias", alias, "--args", JSON.stringify(init).replace(`"${MOST}"`, MOST));
    return newest();
  };
  await deploy("counter", "--name", LONG, "--alias", "counter");
  const huge = await token(LONG, 0, "huge");
  const tiny = await token("Gold", 18, "tiny");
  await token("Gold", 18, "other"); // a second contract with the same name
  await deploy("types", "--name", "types", "--alias", "types");
  const types = await newest();
  for (const alias of ["huge", "tiny"]) {
    await node.cairn("call", alias, "transfer", "--to", "dev1", "--amount", alias === "huge" ? "9223372036854775807" : "1", "--from", "dev0");
  }
  const [sent] = await node.client.call("svc_listRecentTransactions", 1);
  await node.cairn("call", "huge", "transfer", "--to", "dev1", "--amount", "1", "--from", "dev5", "--gas-limit", "3000000").catch(() => "");
  const [failed] = await node.client.call("svc_listRecentTransactions", 1);
  await node.cairn("send", "dev1", "1u", "--from", "dev0");
  const height = Number(await node.client.call("svc_blockNumber"));
  const tabs = (path: string, ...names: string[]): string[] => names.map((name) => `${path}?tab=${name}`);
  const unused = `0x${"77".repeat(32)}`;
  return {
    node,
    paths: {
      home: [""],
      contracts: ["contracts"],
      tokens: ["tokens"],
      fees: ["fees"],
      mempool: ["mempool"],
      node: ["node"],
      labels: ["labels"],
      wallet: ["wallet"],
      block: ["block/0", `block/${height}`, "block/99999"],
      tx: [`tx/${sent!.hash}`, `tx/${failed!.hash}`, `tx/${unused}`],
      account: [
        ...tabs(`account/${DEV[1]!.account}`, "payments", "transactions", "tokens", "pending"),
        `account/${unused}`,
      ],
      contract: [
        ...tabs(`contract/${huge}`, "read", "write", "storage", "events", "payments", "transactions"),
        ...tabs(`contract/${types}`, "read", "write"),
        `contract/${unused}`,
      ],
      token: [`token/${huge}`, `token/${tiny}`, `token/${unused}`],
      proof: [`proof/${height}`, "proof/99999"],
      search: [`search?q=${LONG}`, "search?q=gold", `search?q=${"9".repeat(60)}`],
      none: ["nothing/here"],
    },
  };
}

const WORDS = ["name", "function", "eventName", "event_name", "version", "symbol"];
const AMOUNTS = ["value", "amount", "balance", "fee", "maxFeePerGas", "maxPriorityFeePerGas", "total_gas"];

/** stretched returns an answer in which each text and amount has its greatest length. */
function stretched(value: any): any {
  if (Array.isArray(value)) return value.map(stretched);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => {
    if (WORDS.includes(name) && typeof of === "string") return [name, LONG];
    if (AMOUNTS.includes(name) && typeof of === "string" && of.startsWith("0x")) return [name, "0xffffffffffffffff"];
    if (name === "returnData") return [name, `0x${"57".repeat(1000)}`];
    return [name, stretched(of)];
  }));
}

/** tooWide lists the elements on a page that extend beyond the window or their card. */
const tooWide = `(() => {
  const out = [];
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) out.push('the page by ' + wide);
  for (const card of document.querySelectorAll('.card, .tiles, header.top')) {
    const right = card.getBoundingClientRect().right + 1;
    for (const e of card.querySelectorAll('*')) {
      const box = e.getBoundingClientRect();
      const hidden = e.closest('.sr, .name, .scroll, .bytes, svg');
      if (box.width > 0 && box.right > right && !hidden) { out.push(e.outerHTML.slice(0, 150) + ' by ' + (box.right - right)); break; }
    }
  }
  return out;
})()`;

test("no page is wider than its window, whatever is on the chain", async (t) => {
  const { node, paths } = await spoiled(t);
  const tab = await browser.open();
  let looks = 0;
  const wide: string[] = [];
  for (const stretch of [false, true]) {
    if (stretch) {
      await tab.standIn(async (body) => {
        const answer = await fetch(node.url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
        return { status: 200, body: JSON.stringify(stretched(await answer.json())) };
      });
    }
    for (const path of Object.values(paths).flat()) {
      await tab.look(WIDTHS[2], 900);
      await page(tab, node, path);
      await tab.run("document.querySelectorAll('main details').forEach((d) => (d.open = true))");
      for (const width of WIDTHS) {
        for (const dark of [false, true]) {
          await tab.look(width, 900, dark);
          for (const found of await tab.run<string[]>(tooWide)) wide.push(`${path} at ${width}, ${stretch ? "stretched" : "as it is"}: ${found}`);
          looks++;
        }
      }
      assert.deepEqual(tab.complaints.splice(0), [], path);
    }
  }
  t.diagnostic(`${looks} looks`);
  assert.deepEqual(wide, []);
  await quiet(tab, node);
});

/** between is a proxy in front of a node. After cut it ends all connections and accepts no others until mend. */
async function between(t: TestContext, node: Node): Promise<{ url: string; cut(): void; mend(): void }> {
  const open = new Set<Socket>();
  let whole = true;
  const server = createServer((from) => {
    if (!whole) return void from.destroy();
    const to = connect(Number(new URL(node.url).port), "127.0.0.1");
    for (const [one, other] of [[from, to], [to, from]] as const) {
      open.add(one);
      one.on("error", () => other.destroy()).on("close", () => (open.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    whole = false;
    for (const socket of open) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, mend: () => void (whole = true) };
}

test("every page that is opened while the node is away is there once it is back", async (t) => {
  const { node, paths } = await spoiled(t);
  const line = await between(t, node);
  const all = Object.values(paths).flat();
  const tabs = await Promise.all(all.slice(0, 6).map(() => browser.open()));
  let longest = 0;
  for (let from = 0; from < all.length; from += tabs.length) {
    const opened = all.slice(from, from + tabs.length).map((path, i) => [path, tabs[i]!] as const);
    for (const [, tab] of opened) await page(tab, { ...node, url: line.url }, "labels");
    for (const [, tab] of opened) await tab.until("/live/.test(document.querySelector('.live').textContent)");
    line.cut();
    for (const [path, tab] of opened) {
      await tab.until("/reconnecting/.test(document.querySelector('.live').textContent)");
      await tab.run(`(() => { const a = Object.assign(document.createElement('a'), { href: ${JSON.stringify(`/explorer/${path}`)} });
        document.body.append(a); a.click(); a.remove(); })()`);
      await tab.until("document.querySelector('h1')");
    }
    line.mend();
    for (const [path, tab] of opened) {
      await tab.until("/live/.test(document.querySelector('.live').textContent)", 30_000);
      const live = Date.now();
      const there = `${READY} && !document.querySelector('.failure') && !/does not answer/.test(document.body.innerText)`;
      await tab.until(there, 30_000).catch((error) => {
        throw new Error(`${path}: ${error.message}`);
      });
      longest = Math.max(longest, Date.now() - live);
    }
  }
  t.diagnostic(`${all.length} pages; the last was there ${longest} ms after the page was live`);
});

test("what is typed into a form becomes the call's arguments, of any type that an ABI has", async (t) => {
  const { node, paths } = await spoiled(t);
  const tab = await browser.open();
  await tab.look(1440, 900);
  const read = paths.contract.filter((one) => one.includes("tab=read")).at(-1)!;
  await page(tab, node, read);
  const form = (name: string): string =>
    `[...document.querySelectorAll('.functions form')].find((f) => f.querySelector('h3 a').textContent === '“${name}”')`;
  const [dev1, dev2] = [DEV[1]!.account, DEV[2]!.account];
  /**
   * each function returns its arguments. The steps name a button to press (!), a box to tick (?), an option to choose
   * (=), or text to type
   */
  for (const [name, steps, shows] of [
    ["u64_", ["18446744073709551615"], "18,446,744,073,709,551,615"],
    ["i128_", ["-5"], "-5"],
    ["bool_", ["=true"], "true"],
    ["text", ["<b>"], "“<b>”"],
    ["lists", ["[[1,2],[3]]"], "[[1, 2], [3]]"],
    ["optional", [], "none"],
    ["optional", ["?", "7"], "7"],
    ["options", ["!Add one", "!Add one", "?", "a, b"], "[a, b, none]"],
    ["pairs", ["!Add one", "9", "=true"], "[[9, true]]"],
    ["offer", ["dev1", "5", "?", "cheap"], `{seller: ${dev1}, price: 5, note: cheap}`],
    ["offers", ["!Add one", "dev1", "5", "!Add one", "!Remove", "dev2", "6"], `[{seller: ${dev2}, price: 6, note: none}]`],
    ["state", [], "Open"],
    ["state", ["=1", "dev2", "7"], `{Sold: {to: ${dev2}, price: 7}}`],
  ] as const) {
    const address = `${read}&function=${name}`;
    await page(tab, node, address);
    await tab.until(`${form(name)}?.closest('li.wanted')`);
    await tab.run("window.filled = new Set()");
    for (const step of steps) {
      const field = `[...${form(name)}.querySelectorAll('input:not([type=checkbox], [type=hidden])')].find((e) => e.value === '')`;
      const tick = `[...${form(name)}.querySelectorAll('[type=checkbox]')].find((e) => !e.checked)`;
      const choice = `[...${form(name)}.querySelectorAll('select')].at(-1)`;
      const button = `[...${form(name)}.querySelectorAll('button')].find((e) => e.textContent === ${JSON.stringify(step.slice(1))})`;
      const press = (of: string): string => `(() => { ${of}.click(); return new Promise((r) => setTimeout(r, 30)); })()`;
      await tab.until(step[0] === "!" ? button : step[0] === "?" ? tick : step[0] === "=" ? choice : field);
      if (step[0] === "!") await tab.run(press(button));
      else if (step[0] === "?") await tab.run(press(tick));
      else if (step[0] === "=")
        await tab.run(`(() => { const e = ${choice}; e.value = '${step.slice(1)}'; e.dispatchEvent(new Event('change', { bubbles: true })); return new Promise((r) => setTimeout(r, 30)); })()`);
      else await tab.run(`(() => { ${field}.value = ${JSON.stringify(step)}; })()`);
    }
    await tab.run(`${form(name)}.requestSubmit()`);
    await tab.until(`${form(name)}.querySelector('output').innerText.startsWith(${JSON.stringify(`→ ${shows}`)})`);
  }
  assert.equal(await tab.run("document.querySelector('.tabs [aria-pressed=true]').textContent"), "Read");
  await tab.run("[...document.querySelectorAll('.tabs button')].find((b) => b.textContent === 'Storage').click()");
  await tab.until("location.search === '?tab=storage' && document.querySelector('.tabs [aria-pressed=true]').textContent === 'Storage'");
  await quiet(tab, node);
});

test("a long list of an account begins where one asks, and is a file", async (t) => {
  const node = await startNode(t, "--block-time", "0", "--prove", "off");
  for (let i = 1; i <= 30; i++) {
    await node.client.call("dev_increaseTime", 86_400);
    await node.cairn("send", "dev1", `${i}u`, "--from", "dev0");
  }
  const tab = await browser.open();
  await tab.look(1440, 900);
  await tab.call("Page.addScriptToEvaluateOnNewDocument", {
    source: "const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => (window.saved = text)); return make.call(URL, blob); }",
  });
  const tenth = new Date((await node.client.block(10))!.timestamp * 1000).toISOString();
  for (const name of ["transactions", "payments"]) {
    await page(tab, node, `account/${DEV[1]!.account}?tab=${name}`);
    await tab.until(`${READY} && document.querySelectorAll('main tbody tr').length === 25`);
    for (const [until, newest] of [["10", 10], [tenth.slice(0, 10), 10], [tenth.slice(0, 16).replace("T", " "), 10], ["4", 4], ["", 30]] as const) {
      await tab.run(`(() => { const f = document.querySelector('form.inline'); f.querySelector('input').value = '${until}'; f.requestSubmit(); })()`);
      await tab.until(`${READY} && document.querySelectorAll('main tbody tr').length === ${Math.min(newest, 25)} && document.querySelector('main tbody tr').innerText.includes('0.${String(newest).padStart(8, "0").replace(/0+$/, "")}')`);
    }
    await tab.until(`document.querySelector('main tbody time').textContent.endsWith('UTC')`);
    await tab.run(`(() => { const f = document.querySelector('form.inline'); f.querySelector('input').value = '10'; f.requestSubmit(); })()`);
    await tab.until(`${READY} && document.querySelectorAll('main tbody tr').length === 10`);
    await tab.run("[...document.querySelectorAll('main button')].find((b) => b.textContent === 'Save as CSV').click()");
    await tab.until("window.saved");
    const lines = (await tab.run<string>("window.saved")).trim().split("\n").map((line) => line.split(","));
    assert.equal(lines.length, 11);
    assert.deepEqual(lines[1]!.slice(0, 2), ["10", tenth]);
    assert.ok(lines[1]!.includes("0.0000001"), lines[1]!.join());
  }
  await quiet(tab, node);
});
