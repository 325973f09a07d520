// everywhere in a runtime with files: its argument is the node's URL, and the second one where the sender's journal goes.
import { FileStore } from "@cairn-chain/sdk/node";
import { everywhere } from "./everywhere.mjs";

const [url, journal] = process.argv.slice(2);
const options = "WebSocket" in globalThis ? {} : { WebSocket: (await import("ws")).default }; // Node.js 20
console.log(await everywhere(url, options, new FileStore(journal)));
