// Checks whole blocks in a worker, because each signature takes milliseconds.
import { chainReceipt, parseBlock } from "@cairn-chain/sdk";
import { checkBlock } from "@cairn-chain/sdk/verify";
import type { BlockAnswer, BlockTask } from "./check";

/** The maximum number of signatures checked: about a minute of work. */
const MOST = 10_000;

function check({ raw, receipts, network }: BlockTask): BlockAnswer {
  const begun = performance.now();
  try {
    const block = parseBlock(raw);
    const verdict = checkBlock(block, receipts.map(chainReceipt), network, MOST);
    return { verdict, transactions: block.transactions.length, took: performance.now() - begun };
  } catch (error) {
    return { refused: error instanceof Error ? error.message : "the block could not be checked" };
  }
}

onmessage = ({ data }: MessageEvent<BlockTask>) => postMessage(check(data));
