// Accounts in the forms that people type, the same on all pages and on the command line.
import { parseAccount, type Account } from "@cairn-chain/sdk";
import { devAccounts } from "./dev";
import { labels } from "./labels";
import { client, isDevelopment, network } from "./node";

/** readAccount reads an address, a key in hex, dev0 to dev9 of a development chain, or a label kept in this browser. */
export function readAccount(text: string): Account {
  const typed = text.trim();
  const dev = isDevelopment() && /^dev([0-9])$/.exec(typed);
  if (dev) return devAccounts[Number(dev[1])]!;
  const named = Object.entries(labels.peek()).filter(([, name]) => name === typed);
  if (named.length > 1) throw new Error(`${named.length} accounts have the label “${typed}”`);
  return (named[0]?.[0] as Account | undefined) ?? parseAccount(typed, network());
}

/**
 * readRecipient is readAccount for a recipient of coins. It refuses hex that may contain a wrong digit, because hex has
 * no checksum.
 */
export async function readRecipient(text: string): Promise<Account> {
  const account = readAccount(text);
  if (/^(0x)?[0-9a-f]{64,66}$/i.test(text.trim())) await client.checkRecipient(account);
  return account;
}
