// What tests do with a page of the explorer.
import assert from "node:assert/strict";
import type { Tab } from "./chromium.js";
import type { Node } from "./node.js";

/** READY holds once a page shows what it was opened for. */
export const READY = "document.querySelector('h1') && !document.querySelector('[aria-busy=true]')";

/** page opens a path of the explorer, and waits until it has loaded. */
export async function page(tab: Tab, node: Node, path: string): Promise<void> {
  await tab.go(`${node.url}/explorer/${path}`);
  await tab.until(READY);
}

/** quiet holds a tab to its policy: no complaint, nobody asked but the node, nothing of the chain's was run. */
export async function quiet(tab: Tab, node: Node): Promise<void> {
  assert.deepEqual(tab.complaints.splice(0), []);
  const others = [...tab.asked].filter(
    (url) => new URL(url).host !== new URL(node.url).host && url !== "about:blank",
  );
  assert.deepEqual(others, []);
  assert.equal(await tab.run("window.pwned ?? 0"), 0);
}
