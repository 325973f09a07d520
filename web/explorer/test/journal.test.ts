// Tests the sender's journal in IndexedDB in a real Chromium, with pages that are killed during their work, and with
// two pages at once.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { build, type Rolldown } from "vite";
import { Browser, type Tab } from "./chromium.js";
import { startNode } from "./node.js";

const PAYEE = "0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
const KILLS = Number(process.env["KILLS"] ?? 9);
const PAYMENTS = 12 * KILLS;
const MORE = PAYMENTS + 20; // including those paid by two tabs
const DEV = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8")) as {
  account: `0x${string}`;
  private: `0x${string}`;
}[];

/**
 * serve serves the page until the test ends, at an origin of its own like an application's, and returns its address.
 */
async function serve(t: TestContext): Promise<string> {
  const entry = new URL("../../test/journalpage.ts", import.meta.url).pathname;
  const [bundle] = (await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, lib: { entry, formats: ["es"], fileName: "page" } },
  })) as Rolldown.RolldownOutput[];
  const script = bundle!.output[0].code;
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><title>pay</title><script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function openPage(browser: Browser, page: string): Promise<Tab> {
  const tab = await browser.open();
  await tab.go(page);
  await tab.until("globalThis.start");
  return tab;
}

test(`what pages pay out is paid once, over ${KILLS} kills of the page or of the browser`, async (t) => {
  const node = await startNode(t, "--block-time", "200ms", "--prove", "off", "--cors-origin", "*");
  const page = await serve(t);
  let browser = Browser.start();
  t.after(() => browser.close());
  const start = (count: number): string => `start("${node.url}", "${DEV[0]!.private.slice(2)}", ${count})`;
  for (let kill = 0; kill < KILLS; kill++) {
    const tab = await openPage(browser, page);
    await tab.run(start(PAYMENTS));
    // Kills hit it at its start, between a post and its answer, or while it waits for blocks.
    const until = Math.floor(Math.random() * PAYMENTS);
    await tab.until(`state.failed || Math.max(state.accepted, state.paid) >= ${kill % 2 === 0 ? 0 : until}`);
    assert.equal(await tab.run("state.failed"), "");
    if (kill % 3 === 2) {
      await browser.kill();
      browser = Browser.start(browser.profile);
    } else {
      await tab.crash();
    }
  }
  const first = await openPage(browser, page);
  await node.client.call("dev_setBlockTime", null);
  await first.run(start(MORE));
  await first.until(`state.failed || state.accepted === ${MORE}`);
  const tab = await openPage(browser, page); // two pages at once: this one waits until the first is gone
  await tab.run(start(MORE));
  await tab.until("state.failed || state.locked > 0");
  assert.equal(await tab.run("state.accepted"), 0);
  await first.crash();
  await node.client.call("dev_setBlockTime", 200);
  await tab.until(`state.failed || state.paid === ${MORE}`, 60_000);
  assert.equal(await tab.run("state.failed"), "");
  const owed = BigInt(MORE) * 1_000_000n + BigInt((MORE * (MORE + 1)) / 2);
  assert.equal(await node.client.balance(PAYEE), owed);
  assert.equal(await node.client.nonce(DEV[0]!.account), BigInt(MORE));
});

test("a journal is read as it was written, by one tab at a time, for one account", async (t) => {
  const browser = Browser.start();
  t.after(() => browser.close());
  const page = await serve(t);
  const [one, two] = [await openPage(browser, page), await openPage(browser, page)];
  const entries = (ids: string): string => `[...${JSON.stringify(ids)}].map((id) => ({ type: "refused", id, reason: "x" }))`;
  const opened = "store.open(scope).then((all) => all.map((e) => e.id).join(''), isError)";
  for (const tab of [one, two]) await tab.run('globalThis.store = new IndexedDBStore("j"); 0');
  assert.equal(await one.run(`store.append(${entries("x")}).catch(isError)`), "closed");
  assert.equal(await one.run(opened), "");
  await one.run(`store.append(${entries("ab")})`);
  await one.run(`store.append(${entries("c")})`);
  assert.equal(await two.run(opened), "locked");
  assert.equal(await one.run(opened), "locked", "by the same store too");
  const bad = `store.append([...${entries("d")}, { type: "refused", id: () => 0 }]).catch((e) => e.name)`;
  assert.equal(await one.run(bad), "DataCloneError");
  assert.equal(await one.run(bad.replace("append", "replace")), "DataCloneError");
  await one.crash();
  let read = "locked";
  while (read === "locked") read = await two.run(opened); // waits until the browser knows that the first is gone
  assert.equal(read, "abc", "all of an append or of a journal that is written anew, or nothing");
  const many = "x".repeat(20_000);
  await two.run(`store.replace(${entries("bc")}).then(() => void store.replace(${entries(many)})); 0`);
  await two.crash(); // during the payments
  const three = await openPage(browser, page);
  await three.run('globalThis.store = new IndexedDBStore("j"); 0');
  for (read = "locked"; read === "locked"; ) read = await three.run(opened);
  assert.ok(["abc", "bc", many].includes(read), `one of the journals as a whole, not ${read.length} of its entries`);
  await three.run(`store.replace(${entries("bc")})`);
  await three.run(`store.append(${entries("d")})`);
  await three.run("store.close()");
  assert.equal(await three.run(opened), "bcd");
  await three.run("store.close()");
  assert.equal(await three.run(opened.replace("(scope)", "({ ...scope, account: scope.genesis })")), "other_scope");
  assert.equal(await three.run(opened), "bcd", "what failed to open holds no lock");
});
