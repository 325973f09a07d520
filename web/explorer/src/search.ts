// The possible meanings of a search text.
import { AddressError, parseAccount, type Account, type Network } from "@cairn-chain/sdk";

export type Query =
  | { kind: "height"; height: number }
  | { kind: "hash"; hash: Account } // a transaction, block, contract or account
  | { kind: "account"; account: Account }
  | { kind: "name"; text: string }
  | { kind: "wrong"; reason: string; at: number[] }
  | { kind: "nothing" };

/** readQuery returns the meaning of a text. Only names are ambiguous, because anybody may choose any name. */
export function readQuery(text: string, network: Network): Query {
  const query = text.trim();
  if (query === "") return { kind: "nothing" };
  if (/^[\d,]{1,21}$/.test(query) || /^0x[0-9a-fA-F]{1,13}$/.test(query)) {
    const height = Number(query.replace(/,/g, ""));
    if (Number.isSafeInteger(height)) return { kind: "height", height };
  }
  const hex = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(query);
  if (hex) return { kind: "hash", hash: `0x${hex[1]!.toLowerCase()}` };
  if (/^(?:0x)?0[23][0-9a-fA-F]{64}$/.test(query)) return { kind: "account", account: parseAccount(query, network) };
  if (/^(bc|tb|bcrt)1p/i.test(query)) {
    try {
      return { kind: "account", account: parseAccount(query, network) };
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      return { kind: "wrong", reason: error.message, at: error.at ?? [] };
    }
  }
  return { kind: "name", text: query };
}
