// Accounts as people write them: the same everywhere in these pages, and as on the command line.
import { parseAccount, type Account } from "@cairn-chain/sdk";
import { devAccounts } from "./dev";
import { labels } from "./labels";
import { client, isDevelopment, network } from "./node";

/** readAccount reads an address, a key in hex, dev0 to dev9 of a development chain, or a label of this browser's. */
export function readAccount(text: string): Account {
  const typed = text.trim();
  const dev = isDevelopment() && /^dev([0-9])$/.exec(typed);
  if (dev) return devAccounts[Number(dev[1])]!;
  const named = Object.entries(labels.peek()).filter(([, name]) => name === typed);
  if (named.length > 1) throw new Error(`${named.length} accounts have the label “${typed}”`);
  return (named[0]?.[0] as Account | undefined) ?? parseAccount(typed, network());
}

/** readRecipient is readAccount for who gets coins: hex has no checksum, so nobody is sent anything by a wrong digit of it. */
export async function readRecipient(text: string): Promise<Account> {
  const account = readAccount(text);
  if (/^(0x)?[0-9a-f]{64,66}$/i.test(text.trim())) await client.checkRecipient(account);
  return account;
}
