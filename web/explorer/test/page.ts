// Actions of tests on a page of the explorer.
import assert from "node:assert/strict";
import type { Tab } from "./chromium.js";
import type { Node } from "./node.js";

/** READY is true once a page shows its content. */
export const READY = "document.querySelector('h1') && !document.querySelector('[aria-busy=true]')";

/** localhost is the node's address with a host name, because passkeys need a domain name. */
export const localhost = (node: Node): string => node.url.replace("127.0.0.1", "localhost");

/** page opens a path of the explorer, and waits until it has loaded. */
export async function page(tab: Tab, node: Node, path: string, at: string = node.url): Promise<void> {
  await tab.go(`${at}/explorer/${path}`);
  await tab.until(READY);
}

/** quiet checks a tab: no complaint, no request except to the node, and no code from the chain was run. */
export async function quiet(tab: Tab, node: Node): Promise<void> {
  assert.deepEqual(tab.complaints.splice(0), []);
  const others = [...tab.asked].filter(
    (url) => ![node.url, localhost(node)].some((own) => new URL(own).host === new URL(url).host) && url !== "about:blank",
  );
  assert.deepEqual(others, []);
  assert.equal(await tab.run("window.pwned ?? 0"), 0);
}

/** fill fills a form's fields by their names and submits it. */
export async function fill(tab: Tab, form: string, fields: Record<string, string>): Promise<void> {
  await tab.until(`document.querySelector(${JSON.stringify(form)})`);
  for (const [name, value] of Object.entries(fields)) {
    await tab.run(`(() => { const field = document.querySelector(${JSON.stringify(form)}).querySelector('[name=${name}]'); field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event('change', { bubbles: true })); })()`);
    await tab.run("new Promise((r) => setTimeout(r, 50))");
  }
  await tab.run(`document.querySelector(${JSON.stringify(form)}).requestSubmit()`);
}

/** press presses a button that begins with a text. */
export const press = (tab: Tab, text: string, within = "document"): Promise<unknown> =>
  tab.run(`[...${within}.querySelectorAll('button')].find((b) => b.textContent.startsWith(${JSON.stringify(text)})).click()`);
