// View calls on what was verified, apart from the page: one that takes too long is ended with its worker.
import { answer } from "@cairn-chain/sdk/view/worker";

onmessage = ({ data }: MessageEvent) => postMessage(answer(data));
