// Appends numbers to a journal and rewrites it to keep the newest 5,000, until it is killed. It prints its actions, and
// each number after it is written. Usage: rewriter.js JOURNAL
import { FileStore } from "@cairn-chain/sdk/node";
import type { Entry } from "@cairn-chain/sdk/sender";

const store = new FileStore(process.argv[2]!);
let entries: Entry[] = await store.open({ genesis: `0x${"11".repeat(32)}`, account: `0x${"22".repeat(32)}` });
for (let number = Number(entries.at(-1)?.id ?? 0) + 1; ; ) {
  const some = Array.from({ length: 2500 }, (): Entry => ({ type: "refused", id: String(number++), reason: "x" }));
  await store.append(some);
  entries = [...entries, ...some];
  console.log(number - 1);
  if (entries.length < 7500) continue;
  entries = entries.slice(-5000);
  const written = store.replace(entries);
  console.log("rewriting"); // printed during the rewrite, so that a kill can hit it
  await written;
  console.log("anew");
}
