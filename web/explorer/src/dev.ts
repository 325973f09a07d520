// The accounts of every development chain (docs/operators.md). Their keys are public: they are shown and used on chain 31337 only.
import { isDevelopment } from "./node";
import keys from "./devkeys.json";

/** devName is dev0 to dev9 for the accounts of a development chain. */
export function devName(account: string): string | undefined {
  const at = isDevelopment() ? keys.findIndex((key) => key.account === account) : -1;
  return at < 0 ? undefined : `dev${at}`;
}
export const devAccounts = keys.map(({ account }) => account as `0x${string}`);
