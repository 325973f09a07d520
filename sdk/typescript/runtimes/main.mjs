// Runs everywhere.mjs in a runtime with files. The arguments are the node's URL and the path of the sender's journal.
import { FileStore } from "@cairn-chain/sdk/node";
import { everywhere } from "./everywhere.mjs";

const [url, journal] = process.argv.slice(2);
const options = "WebSocket" in globalThis ? {} : { WebSocket: (await import("ws")).default }; // Node.js 20
console.log(await everywhere(url, options, new FileStore(journal)));
