// The workers of the pages. Their Trusted Types policy allows no other addresses.
import blockPath from "./block.worker?worker&url";
import proofPath from "./verify.worker?worker&url";
import viewPath from "./view.worker?worker&url";

const paths = { block: blockPath, proof: proofPath, view: viewPath };

interface Policy {
  createScriptURL(text: string): unknown;
}
type Factory = { createPolicy(name: string, rules: { createScriptURL(text: string): string }): Policy };
let policy: Policy | undefined;

/** startWorker starts the worker for proofs, for view calls, or for blocks. */
export function startWorker(which: keyof typeof paths): Worker {
  const urls = Object.values(paths).map((path) => new URL(path, location.href).href);
  policy ??= (globalThis as { trustedTypes?: Factory }).trustedTypes?.createPolicy("cairn-worker", {
    createScriptURL: (text) => {
      if (!urls.includes(text)) throw new TypeError("no worker of these pages");
      return text;
    },
  });
  const url = new URL(paths[which], location.href).href;
  return new Worker((policy ? policy.createScriptURL(url) : url) as URL, { type: "module" });
}
