// The program of a worker that makes view calls.
import { parentPort } from "node:worker_threads";
import { answer } from "@cairn-chain/sdk/view/worker";

parentPort!.once("message", (message) => parentPort!.postMessage(answer(message)));
