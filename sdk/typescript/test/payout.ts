// Pays out ids 1 to COUNT: the amount of each is its id in smallest units. It is killed at random moments and
// restarted. Usage: payout.js URL JOURNAL TARGET COUNT. It prints a line whenever something happens.
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
for (let at = 0; at < ids.length; at += 3) { // a few at a time, so that each kill interrupts something
  await Promise.all(ids.slice(at, at + 3).map(async (id) => {
    const sent = sender.send({ type: "transfer", to: target, value: BigInt(id) }, { id: String(id) });
    const { status } = await sent.receipt;
    if (status !== 1n) throw new Error(`${id} failed`);
  }));
  console.log("paid", at);
}
await sender.close();
