// Calls of contracts, signed with a development key. It is loaded when the first one is made.
import { fromHex, succeeded, type Payload, type rpc } from "@cairn-chain/sdk";
import { Key } from "@cairn-chain/sdk/keys";
import { createSender } from "@cairn-chain/sdk/sender";
import keys from "./devkeys.json";
import { isDevelopment, patient } from "./node";

/** send sends a payload as a development account, and gives the receipt. It throws where the transaction failed, and on other chains. */
export async function send(account: number, payload: Payload): Promise<rpc.Receipt> {
  const secret = keys[account];
  if (!isDevelopment() || !secret) throw new Error("development keys are for development chains only");
  const sender = await createSender(patient, new Key(fromHex(secret.private)), { poll: 250 });
  try {
    return succeeded(await sender.send(payload).receipt);
  } finally {
    await sender.close();
  }
}
