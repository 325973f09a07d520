// The paths of the pages.
export const BASE = "/explorer";

export type Route =
  | { page: "home" | "contracts" | "tokens" | "fees" | "mempool" | "node" | "labels" | "wallet" }
  | { page: "block"; ref: number | `0x${string}` }
  | { page: "tx" | "account" | "contract" | "token"; id: `0x${string}` }
  | { page: "proof"; height: number }
  | { page: "search"; query: string }
  | { page: "none" };

const id = /^0x[0-9a-f]{64}$/;
const height = /^(0|[1-9]\d{0,15})$/;
const plain = ["contracts", "tokens", "fees", "mempool", "node", "labels", "wallet"] as const;

/**
 * readRoute returns the page of a path. A parameter must be a height, hash or ID, so that nothing else gets into a link
 * or a call.
 */
export function readRoute(path: string, query: string): Route {
  const parts = path.replace(/\/+$/, "").split("/").slice(2);
  const [page = "", of = ""] = parts;
  if (parts.length === 0) return { page: "home" };
  if (parts.length === 1) {
    const found = plain.find((name) => name === page);
    if (found) return { page: found };
    if (page === "search") return { page: "search", query: new URLSearchParams(query).get("q") ?? "" };
  }
  if (parts.length === 2) {
    if (page === "block" && height.test(of)) return { page, ref: Number(of) };
    if (page === "block" && id.test(of)) return { page, ref: of as `0x${string}` };
    if (page === "proof" && height.test(of)) return { page, height: Number(of) };
    if ((page === "tx" || page === "account" || page === "contract" || page === "token") && id.test(of)) {
      return { page, id: of as `0x${string}` };
    }
  }
  return { page: "none" };
}
