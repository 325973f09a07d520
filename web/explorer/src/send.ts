// Signs with development keys. This module is loaded at the first use.
import { fromHex, succeeded, type Action, type rpc } from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { createSender } from "@cairn-chain/sdk/sender";
import keys from "./devkeys.json";
import { isDevelopment, patient } from "./node";

/** devSigner is the signer of a development account. It throws on other chains. */
export function devSigner(account: number): KeySigner {
  const secret = keys[account];
  if (!isDevelopment() || !secret) throw new Error("development keys are for development chains only");
  return new KeySigner(fromHex(secret.private));
}

/**
 * send executes an action as a development account, and returns the receipt. It throws if the transaction failed, and
 * on other chains.
 */
export async function send(account: number, action: Action): Promise<rpc.Receipt> {
  const sender = await createSender(patient, devSigner(account), { poll: 250 });
  try {
    return succeeded(await sender.send(action).receipt);
  } finally {
    await sender.close();
  }
}
