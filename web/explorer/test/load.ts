// Measures the cost of five open explorers for a node under load, and the cost of the load for the pages. It asserts
// results that are independent of the machine, and prints the rest.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Browser, type Tab } from "./chromium.js";
import { startNode, type Node } from "./node.js";

const dev = JSON.parse(readFileSync(new URL("../../src/devkeys.json", import.meta.url), "utf8")) as { account: string }[];
const SECONDS = Number(process.env["LOAD_SECONDS"] ?? 30);
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** first returns the time from a page's navigation to its first block, in milliseconds. */
async function first(tab: Tab, node: Node, slowed: number): Promise<number> {
  await tab.call("Emulation.setCPUThrottlingRate", { rate: slowed });
  await tab.go("about:blank");
  await tab.go(`${node.url}/explorer/`);
  await tab.until("window.firstShown", 60_000);
  return tab.run<number>("window.firstShown");
}

/** load sends 1,000 transfers a second, and returns the times of blocks and the delays until inclusion. */
async function load(node: Node): Promise<string> {
  const from = Number(await node.client.call("svc_blockNumber"));
  const flags = ["--rate", "1000", "--senders", "400", "--per-sender", String(Math.ceil(2.5 * SECONDS)), "--json"];
  const { result } = JSON.parse(await node.cairn("bench", ...flags)) as { result: Record<string, unknown> };
  const to = Number(await node.client.call("svc_blockNumber"));
  const items = await node.client.call("svc_getBlocks", { from_height: from, to_height: to, headers_only: true });
  const blocks = items.flatMap(({ block }) => (block ? [block] : []));
  const gaps = blocks.slice(1).map((block, i) => block.timestamp - blocks[i]!.timestamp);
  const sent = blocks.reduce((sum, { txCount }) => sum + txCount, 0);
  assert.ok(sent >= SECONDS * 1000, `${sent} transfers are in blocks`);
  return `${gaps.length} blocks, ${gaps.filter((gap) => gap > 1).length} of them over 1 s after the one before, ${sent} transfers; ${JSON.stringify(result)}`;
}

test("five explorers and 1,000 transactions a second", async (t) => {
  const node = await startNode(t, "--block-time", "1s", "--prove", "off");
  const browser = Browser.start();
  t.after(() => browser.close());
  const one = await browser.open();
  await one.call("Page.addScriptToEvaluateOnNewDocument", {
    source: "new MutationObserver(() => { if (document.querySelector('.blocks tbody tr')) window.firstShown ??= performance.now(); }).observe(document, { childList: true, subtree: true })",
  });
  for (const slowed of [1, 4]) {
    const times: number[] = [];
    for (let i = 0; i < 6; i++) times.push(await first(one, node, slowed));
    console.log(`first block shown, processor slowed ${slowed} times: least ${Math.min(...times).toFixed(0)} ms, median ${median(times).toFixed(0)} ms`);
  }
  await one.call("Target.closeTarget", { targetId: one.target });
  console.log(`no page open: ${await load(node)}`);
  const tabs: Tab[] = [];
  for (const path of ["", "", "mempool", "fees", `account/${dev[0]!.account}`]) {
    const tab = await browser.open();
    await tab.go(`${node.url}/explorer/${path}`);
    await tab.until("document.querySelector('h1') && !document.querySelector('[aria-busy=true]')", 60_000);
    await tab.run("window.long = []; new PerformanceObserver((list) => window.long.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask' })");
    tab.received = 0;
    tabs.push(tab);
  }
  console.log(`five pages open: ${await load(node)}`);
  for (const tab of tabs) {
    const long = await tab.run<number[]>("window.long");
    const heap = await tab.run<number>("performance.memory.usedJSHeapSize");
    const page = await tab.run<string>("location.pathname + ': ' + document.querySelector('.live').textContent.trim()");
    console.log(`${page}; ${long.length} tasks over 50 ms, the longest ${Math.max(0, ...long).toFixed(0)} ms; ${(tab.received / 1000 / SECONDS).toFixed(1)} KB/s; heap ${(heap / 1e6).toFixed(1)} MB`);
    assert.match(page, /live$/);
  }
});
