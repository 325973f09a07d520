// Makes view calls on verified state in a worker. A call that takes too long is ended with its worker.
import { answer } from "@cairn-chain/sdk/view/worker";

onmessage = ({ data }: MessageEvent) => postMessage(answer(data));
