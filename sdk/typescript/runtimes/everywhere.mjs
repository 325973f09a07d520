// The smallest program that imports all of the SDK, connects, sends and subscribes. It runs in each runtime, and from
// each bundler's output.
import { createClient, formatCoins, parseCoins, watchBlocks } from "@cairn-chain/sdk";
import { keyFromMnemonic } from "@cairn-chain/sdk/keys";
import * as proofs from "@cairn-chain/sdk/proofs";
import { createSender } from "@cairn-chain/sdk/sender";
import * as signers from "@cairn-chain/sdk/signers";
import * as verify from "@cairn-chain/sdk/verify";
import * as view from "@cairn-chain/sdk/view";
import * as worker from "@cairn-chain/sdk/view/worker";

const words = "test test test test test test test test test test test junk";

/** everywhere pays a coin, waits for the block with the payment, and reports it. */
export async function everywhere(url, options = {}, store = undefined) {
  for (const part of [proofs, signers, verify, view, worker]) if (Object.keys(part).length === 0) throw new Error("an import is empty");
  const client = createClient(url, options);
  const [from, to] = [0, 1].map((index) => keyFromMnemonic(words, { network: "regtest", index }));
  const sender = await createSender(client, from, { poll: 50, ...(store && { store }) });
  const before = await client.balance(to.account);
  const head = Number(await client.call("svc_blockNumber"));
  const sent = sender.send({ type: "transfer", to: to.account, value: parseCoins("1") });
  const { blockHeight } = await sent.receipt;
  for await (const block of watchBlocks(client, head + 1)) if (block.height === blockHeight) break;
  const paid = (await client.balance(to.account)) - before;
  await sender.close();
  return `paid ${formatCoins(paid)}`;
}
