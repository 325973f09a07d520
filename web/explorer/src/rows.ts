// The list of blocks: contiguous, newest first, with empty blocks folded.
import type { rpc } from "@cairn-chain/sdk";

export type Header = Pick<
  rpc.Block,
  "height" | "hash" | "parentHash" | "timestamp" | "txCount" | "gasUsed" | "gasLimit" | "baseFee" | "size"
>;

/** MAX_HELD is the number of blocks that the page keeps. */
export const MAX_HELD = 5000;

/** Joined is a list after adding a block, and whether the chain was reverted below that block. */
export interface Joined {
  blocks: Header[];
  reverted: boolean;
}

/**
 * join puts the next block before a list, and removes blocks at its height and above. If its parent is not the newest
 * block in the list, there is another branch or a gap, and the list starts again with this block.
 */
export function join(blocks: readonly Header[], next: Header): Joined {
  const kept = blocks.filter(({ height }) => height < next.height);
  const fits = kept.length === 0 || kept[0]!.hash === next.parentHash;
  const reverted = kept.length < blocks.length || (!fits && kept[0]!.height + 1 === next.height);
  return { blocks: [next, ...(fits ? kept : [])].slice(0, MAX_HELD), reverted };
}

/** Row is a block, or a run of two or more empty ones. */
export type Row = { block: Header } | { from: Header; to: Header; count: number };

/** fold makes rows of a list, up to a limit. It does not fold runs whose newest height is in open. */
export function fold(blocks: readonly Header[], open: ReadonlySet<number>, most: number): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < blocks.length && rows.length < most; at++) {
    let end = at;
    while (blocks[at]!.txCount === 0 && end + 1 < blocks.length && blocks[end + 1]!.txCount === 0) end++;
    const run = blocks.slice(at, end + 1);
    const opened = run.some(({ height }) => open.has(height));
    if (run.length < 2) rows.push({ block: blocks[at]! });
    else if (opened) for (const block of run.slice(0, most - rows.length)) rows.push({ block });
    else rows.push({ from: run[run.length - 1]!, to: run[0]!, count: run.length });
    at = end;
  }
  return rows;
}
