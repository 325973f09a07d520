// Pays ids 1 to COUNT out, the id's number in units each; it is killed at any moment and started again.
// Usage: payout.js URL JOURNAL TARGET COUNT. It prints a line whenever something happens.
import { createClient, type Account } from "@cairn-chain/sdk";
import { FileStore } from "@cairn-chain/sdk/node";
import { createSender } from "@cairn-chain/sdk/sender";
import { devKey } from "./node.js";

const [url, journal, target, count] = process.argv.slice(2) as [string, string, Account, string];
const loud: typeof fetch = async (...request) => {
  console.log("post");
  const response = await fetch(...request);
  console.log("answer");
  return response;
};
const sender = await createSender(createClient(url, { fetch: loud }), devKey(0), { store: new FileStore(journal), poll: 20 });
console.log("open");
const ids = Array.from({ length: Number(count) }, (_, i) => i + 1);
for (let at = 0; at < ids.length; at += 3) { // some at a time, so that there is always something to kill
  await Promise.all(ids.slice(at, at + 3).map(async (id) => {
    const sent = sender.send({ type: "transfer", to: target, value: BigInt(id) }, { id: String(id) });
    const { status } = await sent.receipt;
    if (status !== 1n) throw new Error(`${id} failed`);
  }));
  console.log("paid", at);
}
await sender.close();
