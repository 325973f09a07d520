// The node that served the pages: calls, and its changing state.
import { signal, type Signal } from "@preact/signals";
import { RpcError, UnreachableError, createClient, watchBlocks, watchSyncStatus, type Network, type StreamStatus, type rpc } from "@cairn-chain/sdk";
import { join, type Header } from "./rows";

/** client sends each request once. The page shows that the node is unreachable, and useLoad repeats the request. */
export const client = createClient(new URL("/", location.href).href, { retry: 0 });
/** patient repeats requests, so that a lost answer does not lose a sent transaction or half of a file */
export const patient = client.with({ retry: 30_000 });

export const info = signal<rpc.NodeInfo | null>(null);
/** the error that prevents the pages from starting */
export const refused = signal<unknown>(null);
export const blocks = signal<readonly Header[]>([]);
export const sync = signal<rpc.SyncStatus | null>(null);
export const stream = signal<StreamStatus>({ state: "catching-up" });
/** the height to which the chain was reverted, until it is read */
export const takenBack = signal<number | null>(null);
/** the current time in Unix seconds, updated once a second */
export const now = signal(Math.floor(Date.now() / 1000));

export const DEVELOPMENT = 31337;
export const network = (): Network => info.value?.network ?? "regtest";
export const isDevelopment = (): boolean => info.value?.chain_id === DEVELOPMENT;

const FIRST = 256;
const PROOFS = 3000; // milliseconds between checks for newer proofs
const RENDER = 250; // milliseconds between renderings of new blocks

/** headersOf returns the blocks of a range, without their transactions. */
export async function headersOf(from: number, to: number): Promise<rpc.Block[]> {
  if (to < from) return [];
  const items = await client.call("svc_getBlocks", { from_height: from, to_height: to, headers_only: true });
  return items.flatMap(({ block }) => (block ? [block] : []));
}

/** timesOf reads the times of blocks by height. It combines neighbours, to make few requests. */
export async function timesOf(heights: readonly number[]): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const sorted = [...new Set(heights)].sort((a, b) => a - b);
  for (let at = 0; at < sorted.length; ) {
    const from = sorted[at]!;
    while (at < sorted.length && sorted[at]! < from + FIRST) at++;
    const range = { from_height: from, to_height: sorted[at - 1]!, headers_only: true };
    for (const { block } of await patient.call("svc_getBlocks", range)) if (block) found.set(block.height, block.timestamp);
  }
  return found;
}

const times = new Map<number, Promise<rpc.Block | undefined>>();

/**
 * headerOf returns the block at a height without its transactions. It caches blocks, because lists show their times.
 */
export function headerOf(height: number): Promise<rpc.Block | undefined> {
  let found = times.get(height);
  if (!found) {
    found = headersOf(height, height).then(([block]) => block);
    found.catch(() => times.delete(height)); // asked again the next time
    if (times.size > 2000) times.clear();
    times.set(height, found);
  }
  return found;
}

/** older reads one page of blocks before the loaded ones. */
export async function older(): Promise<void> {
  const last = blocks.value.at(-1);
  if (!last || last.height <= (info.value?.oldest_height ?? 0)) return;
  const found = await headersOf(Math.max(info.value?.oldest_height ?? 0, last.height - FIRST), last.height - 1);
  const now = blocks.value.at(-1);
  if (now?.hash === last.hash && found.at(-1)?.hash === last.parentHash)
    blocks.value = [...blocks.value, ...found.reverse()];
}

/**
 * start requests the node's identity, and follows the node while the page exists. It retries until that succeeds. At
 * the same time it requests the newest block, separately, so that neither waits for the other. Earlier blocks are
 * loaded after that one is shown.
 */
export async function start(): Promise<void> {
  let newest: Promise<rpc.Block | null>;
  for (;;) {
    try {
      const node = client.call("svc_getNodeInfo");
      await null; // calls made together are one request
      newest = client.call("svc_getBlockByNumber", "latest", false, true).catch(() => null); // the stream delivers it
      info.value = await node;
      refused.value = null;
      break;
    } catch (error) {
      refused.value = error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  setInterval(() => (now.value = Math.floor(Date.now() / 1000)), 1000);
  setInterval(awaitProofs, PROOFS);
  void followSync();
  const head = await newest;
  if (head) blocks.value = [head];
  void fill();
  await followBlocks(head ? head.height + 1 : info.value.block_height);
}

/**
 * fill reads the blocks before the newest one, if they are missing. A refused request is repeated at the next block.
 */
async function fill(): Promise<void> {
  if (blocks.value.length < FIRST) await older().catch(() => undefined);
}

async function followBlocks(from: number): Promise<void> {
  const follow = watchBlocks(client, from, { headersOnly: true });
  follow.status.subscribe((status) => {
    const came = stream.value.state === "reconnecting" && status.state !== "reconnecting";
    stream.value = status;
    if (came) void refresh().then(fill);
  });
  let waiting: rpc.Block[] = [];
  let timer = 0;
  const draw = (): void => {
    timer = 0;
    let list = blocks.value;
    for (const block of waiting) {
      const joined = join(list, block);
      if (joined.reverted) backTo(block.height - 1);
      list = joined.blocks;
    }
    waiting = [];
    blocks.value = list;
    void fill(); // the other blocks may belong to another branch
  };
  for await (const block of follow) {
    waiting.push(block);
    if (!timer) timer = window.setTimeout(draw, document.hidden ? 2000 : RENDER);
  }
}

/** followSync detects a revert of the chain before the next block shows it. */
async function followSync(): Promise<void> {
  for await (const status of watchSyncStatus(client)) {
    sync.value = status;
    const head = blocks.value[0]?.height ?? 0;
    if (status.local_height < head) {
      const at = blocks.value.find(({ height }) => height === status.local_height);
      const there = await headersOf(status.local_height, status.local_height).catch(() => []);
      if (!at || there[0]?.hash === at.hash) {
        // otherwise the next block shows the revert
        blocks.value = blocks.value.filter(({ height }) => height <= status.local_height);
        backTo(status.local_height);
      }
    }
  }
}

function backTo(height: number): void {
  takenBack.value = height;
  times.clear();
}

/** awaitProofs asks the node for its proofs, while the newest block has none and the page is visible. */
function awaitProofs(): void {
  const head = blocks.value[0]?.height ?? 0;
  if (!document.hidden && stream.value.state !== "reconnecting" && (info.value?.proofs?.newest ?? 0) < head) void refresh();
}

async function refresh(): Promise<void> {
  const found = await client.call("svc_getNodeInfo").catch(() => null); // the stream shows whether the node answers
  if (found) info.value = found;
  for (const [id, of] of contracts) if (of.peek() === undefined) askContract(id as `0x${string}`, of); // still unknown
}

const contracts = new Map<string, Signal<rpc.Contract | null | undefined>>();

/** contractOf returns the chain's data about an ID: undefined until it is known, null if the ID is no contract. */
export function contractOf(id: `0x${string}`): rpc.Contract | null | undefined {
  let found = contracts.get(id);
  if (!found) {
    found = signal<rpc.Contract | null | undefined>(undefined);
    if (contracts.size > 5000) contracts.clear();
    contracts.set(id, found);
    askContract(id, found);
  }
  return found.value;
}

function askContract(id: `0x${string}`, of: Signal<rpc.Contract | null | undefined>): void {
  client.call("svc_getContract", id).then(
    (contract) => {
      if (contract === null) setTimeout(() => contracts.delete(id), 10_000); // it may be deployed yet
      of.value = contract;
    },
    (error: unknown) => {
      if (!(error instanceof UnreachableError)) contracts.delete(id);
    },
  );
}

const abis = new Map<string, Promise<rpc.ABI | null>>();

/**
 * abiOf returns a contract's declared ABI, which never changes; null if it declares none, or if there is no contract.
 */
export function abiOf(id: `0x${string}`): Promise<rpc.ABI | null> {
  let found = abis.get(id);
  if (!found) {
    found = client.call("svc_getContractAbi", id).catch((error: unknown) => {
      if (error instanceof RpcError && error.is("no_such_contract")) return null;
      throw error;
    });
    found.then(
      (abi) => abi === null && abis.delete(id),
      () => abis.delete(id),
    );
    if (abis.size > 500) abis.clear();
    abis.set(id, found);
  }
  return found;
}
