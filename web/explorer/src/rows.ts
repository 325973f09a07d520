// The list of blocks: contiguous, the newest first, and with empty ones folded.
import type { rpc } from "@cairn-chain/sdk";

export type Header = Pick<
  rpc.Block,
  "height" | "hash" | "parentHash" | "timestamp" | "txCount" | "gasUsed" | "gasLimit" | "baseFee" | "size"
>;

/** MAX_HELD is how many blocks the page remembers. */
export const MAX_HELD = 5000;

/** Joined is a list after a block came: what it is, and whether the chain was taken back below that block. */
export interface Joined {
  blocks: Header[];
  reverted: boolean;
}

/**
 * join puts the next block before a list. Blocks at its height and above are gone then. Where its parent is not the list's newest, the
 * rest is of another branch or there is a gap: then the list begins anew.
 */
export function join(blocks: readonly Header[], next: Header): Joined {
  const kept = blocks.filter(({ height }) => height < next.height);
  const fits = kept.length === 0 || kept[0]!.hash === next.parentHash;
  const reverted = kept.length < blocks.length || (!fits && kept[0]!.height + 1 === next.height);
  return { blocks: [next, ...(fits ? kept : [])].slice(0, MAX_HELD), reverted };
}

/** Row is a block, or two and more empty ones in a row. */
export type Row = { block: Header } | { from: Header; to: Header; count: number };

/** fold makes rows of a list, at most so many. Runs whose newest height is in open are not folded. */
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
