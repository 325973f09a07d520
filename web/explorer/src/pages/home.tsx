import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { checkBlock } from "../check";
import { bytes, chainText, coins, counted, percent, span, thousands, utc } from "../format";
import { blocks, client, info, isDevelopment, older, stream, sync } from "../node";
import type { rpc } from "@cairn-chain/sdk";
import { useLoad } from "../load";
import { BlockLink, Coins, Empty, Fields, Hex, Link, Section, Show, Time, Title, explain } from "../parts";
import { Transactions } from "../transactions";
import { fold, type Header as Listed } from "../rows";
import { DevelopmentOr, Producer } from "./signed";
import { Authority, Steps } from "./verified";

const opened = signal<ReadonlySet<number>>(new Set());
/** the blocks shown while new ones wait; null if none wait */
export const held = signal<readonly Listed[] | null>(null);
const MOST = 50;

function Gas({ block }: { block: Listed }): JSX.Element {
  const share = Number(block.gasUsed) / Number(block.gasLimit);
  return (
    <span class="gas">
      <meter min={0} max={1} value={share} aria-label={`Gas of block ${block.height}`} />{" "}
      <span class="num">{percent(share)}</span>
    </span>
  );
}

export function Home(): JSX.Element {
  const [more, setMore] = useState(0);
  const live = blocks.value;
  const list = held.value ?? live;
  const head = live[0];
  const waiting = held.value && head ? head.height - (held.value[0]?.height ?? 0) : 0;
  const hold = (): void => {
    if (!held.value && window.scrollY > 120) held.value = blocks.peek();
  };
  const rows = fold(list, opened.value, MOST * (more + 1));
  const proofs = info.value?.proofs;
  return (
    <>
      <Title
        sub={
          stream.value.state === "reconnecting" ? "These are the last blocks that this page has heard of." : undefined
        }
      >
        Blocks
      </Title>
      {head && (
        <dl class="tiles">
          <div>
            <dt>Latest block</dt>
            <dd>
              <BlockLink height={head.height} />
            </dd>
            <dd class="muted">
              <Time at={head.timestamp} />
            </dd>
          </div>
          <div>
            <dt>Transactions in it</dt>
            <dd class="num">{thousands(head.txCount)}</dd>
            <dd class="muted">{bytes(head.size)}</dd>
          </div>
          <div>
            <dt>Base fee</dt>
            <dd class="num">{thousands(head.baseFee)}</dd>
            <dd class="muted">a transfer: {coins((head.baseFee + 1n) * 21_000n)}</dd>
          </div>
          <div>
            <dt>State</dt>
            <dd>{sync.value?.state ?? "…"}</dd>
            <dd class="muted">{proofs ? <>proofs to {thousands(proofs.newest)}</> : "no proofs"}</dd>
          </div>
        </dl>
      )}
      <Section
        title="Latest blocks"
        extra={
          waiting > 0 && (
            <button type="button" class="new" onClick={() => (held.value = null)}>
              ▲ {thousands(waiting)} new — show
            </button>
          )
        }
      >
        <table class="blocks" onFocusCapture={hold} onPointerEnter={hold}>
          <caption class="sr">The newest blocks, empty ones folded</caption>
          <thead>
            <tr>
              <th scope="col">Block</th>
              <th scope="col">Time</th>
              <th scope="col" class="right">
                Transactions
              </th>
              <th scope="col">Gas</th>
              <th scope="col" class="right">
                Base fee
              </th>
              <th scope="col" class="right">
                Size
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) =>
              "block" in row ? (
                <tr key={row.block.hash} class={row.block.txCount === 0 ? "empty-block" : ""}>
                  <td data-label="Block">
                    <BlockLink height={row.block.height} />
                  </td>
                  <td data-label="Time">
                    <Time at={row.block.timestamp} />
                  </td>
                  <td data-label="Transactions" class="right num">
                    {thousands(row.block.txCount)}
                  </td>
                  <td data-label="Gas">
                    <Gas block={row.block} />
                  </td>
                  <td data-label="Base fee" class="right num">
                    {thousands(row.block.baseFee)}
                  </td>
                  <td data-label="Size" class="right num">
                    {bytes(row.block.size)}
                  </td>
                </tr>
              ) : (
                <tr key={row.from.hash} class="fold">
                  <td colSpan={6}>
                    <button
                      type="button"
                      onClick={() => (opened.value = new Set([...opened.value, row.from.height]))}
                      aria-expanded="false"
                    >
                      <span aria-hidden="true">▸</span>{" "}
                      <span class="num">
                        {thousands(row.from.height)}–{thousands(row.to.height)}
                      </span>
                      <span class="muted">
                        {" "}
                        · {thousands(row.count)} empty blocks in {span(row.to.timestamp - row.from.timestamp)}
                      </span>
                    </button>
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
        {list.length > 0 && list.at(-1)!.height > (info.value?.oldest_height ?? 0) && (
          <p class="more">
            <button type="button" onClick={() => void older().then(() => setMore(more + 1), () => undefined)}>
              Older blocks
            </button>
          </p>
        )}
      </Section>
      <Recent />
    </>
  );
}

/** Recent reloads when a block with transactions arrives. */
function Recent(): JSX.Element {
  const last = blocks.value.find(({ txCount }) => txCount > 0)?.hash ?? "none";
  const list = useLoad(`recent@${last}`, () => client.call("svc_listRecentTransactions", 12));
  return (
    <Section title="Recent transactions">
      <Show of={list} what="Recent transactions">
        {(txs) =>
          txs.length === 0 ? (
            <Empty>
              No transactions yet.
              {isDevelopment() && (
                <>
                  {" "}
                  <code>cairn send dev1 1.5 --from dev0</code> makes one.
                </>
              )}
            </Empty>
          ) : (
            <Transactions list={txs} caption="The newest transactions" />
          )
        }
      </Show>
    </Section>
  );
}

/**
 * blockOf reads a block without its transactions, which may be tens of thousands. The block's page loads only those
 * that it shows.
 */
function blockOf(ref: number | `0x${string}`): Promise<rpc.Block | null> {
  return typeof ref === "number"
    ? client.call("svc_getBlockByNumber", ref, false, true)
    : client.call("svc_getBlockByHash", ref, false, true);
}

export function Block({ refTo }: { refTo: number | `0x${string}` }): JSX.Element {
  const [page, setPage] = useState(0);
  const reached = typeof refTo === "number" && (blocks.value[0]?.height ?? -1) >= refTo;
  const held = typeof refTo === "number" ? (blocks.value.find(({ height }) => height === refTo)?.hash ?? "") : "";
  const loaded = useLoad(`block ${refTo}@${reached}${held}`, () => blockOf(refTo));
  return (
    <Show of={loaded} what="The block" title={`Block ${refTo}`}>
      {(block) => {
        if (!block) {
          return (
            <>
              <Title>Block {String(refTo)}</Title>
              <Empty>
                {typeof refTo === "number"
                  ? `There is no such block yet: the latest is ${thousands(blocks.value[0]?.height ?? 0)}. It is shown here when it is made.`
                  : "This node knows no block of that hash."}
              </Empty>
            </>
          );
        }
        const burned = block.baseFee * block.gasUsed;
        return (
          <>
            <Title
              sub={
                <>
                  <Time at={block.timestamp} /> · {counted(block.txCount, "transaction")} · {bytes(block.size)}
                </>
              }
            >
              Block {thousands(block.height)}
              <span class="steps">
                {block.height > 0 && (
                  <Link to={`block/${block.height - 1}`} aria-label="The block before" data-key="[">
                    ‹
                  </Link>
                )}
                {block.height < (blocks.value[0]?.height ?? 0) && (
                  <Link to={`block/${block.height + 1}`} aria-label="The block after" data-key="]">
                    ›
                  </Link>
                )}
              </span>
            </Title>
            <Header block={block} burned={burned} />
            <CheckBlock key={block.hash} block={block} />
            <Section
              title={`Transactions ${thousands(block.txCount)}`}
              extra={
                block.txCount > MOST && <Pager page={page} pages={Math.ceil(block.txCount / MOST)} go={setPage} />
              }
            >
              {block.txCount === 0 ? (
                <Empty>This block is empty.</Empty>
              ) : (
                <Included block={block} page={page} />
              )}
            </Section>
          </>
        );
      }}
    </Show>
  );
}

type Check = null | "loading" | Awaited<ReturnType<typeof checkBlock>> | { failed: unknown };

/** CheckBlock checks the whole block in the browser, on request. */
function CheckBlock({ block }: { block: rpc.Block }): JSX.Element {
  const [state, setState] = useState<Check>(null);
  const run = async (): Promise<void> => {
    setState("loading");
    setState(await checkBlock(block.height).catch((failed: unknown) => ({ failed })));
  };
  return (
    <Section title="Check in this page">
      <p>
        <button type="button" onClick={() => void run()} disabled={state === "loading"}>
          {state === "loading" ? "Checking…" : "Check the block"}
        </button>{" "}
        <span class="muted">reads the block, {bytes(block.size)}, and its receipts</span>
      </p>
      <div aria-live="polite" aria-busy={state === "loading"}>
        {state === null || state === "loading" ? null : "failed" in state ? (
          <p class="waiting">– Not checked: {explain(state.failed)}</p>
        ) : "refused" in state ? (
          <p class="failed" role="alert">
            ✗ {chainText(state.refused, 300)}
          </p>
        ) : (
          <CheckSteps block={block} of={state} />
        )}
      </div>
    </Section>
  );
}

const order = ["seal", "transactions", "receipts", "gas", "signatures"] as const;

function CheckSteps({ block, of }: { block: rpc.Block; of: Extract<Awaited<ReturnType<typeof checkBlock>>, { verdict: unknown }> }): JSX.Element {
  const { verdict, transactions, took } = of;
  const failed = verdict.failed ? order.indexOf(verdict.failed.step) : order.length;
  const said: Record<(typeof order)[number], string> = {
    seal: block.height === 0 ? "nobody seals block 0" : "the producer that the header names sealed it",
    transactions: `the header’s root is that of these ${counted(transactions, "transaction")} and their witnesses`,
    receipts: "the header’s root is that of the receipts that the node gives",
    gas: "the receipts’ gas adds up to the header’s",
    signatures: `of ${thousands(verdict.signatures)} of ${counted(transactions, "transaction")}`,
  };
  const steps = order.slice(0, failed + 1).map((step, i) => ({
    name: step[0]!.toUpperCase() + step.slice(1),
    holds: i < failed,
    says: i < failed ? said[step] : (verdict.failed?.message ?? ""),
  }));
  return (
    <>
      <Steps
        steps={[
          {
            name: "Hash",
            holds: verdict.hash === block.hash,
            says: `it is the block of this page, in ${thousands(Math.round(took))} ms`,
          },
          ...steps,
        ]}
        rest="that the transactions lead to these receipts and to the state root: the block’s proof and a replica show that"
      />
      <p>
        <strong>Authority.</strong> <Authority />
      </p>
    </>
  );
}

function Pager({ page, pages, go }: { page: number; pages: number; go: (page: number) => void }): JSX.Element {
  return (
    <span class="pager">
      <button type="button" disabled={page === 0} onClick={() => go(page - 1)} aria-label="Page before">
        ‹
      </button>
      <span class="num">
        page {thousands(page + 1)} of {thousands(pages)}
      </span>
      <button type="button" disabled={page + 1 >= pages} onClick={() => go(page + 1)} aria-label="Page after">
        ›
      </button>
    </span>
  );
}

function Included({ block, page }: { block: rpc.Block; page: number }): JSX.Element {
  const loaded = useLoad(`txs ${block.hash} ${page}`, async () => {
    const [from, end] = [page * MOST, Math.min(block.txCount, (page + 1) * MOST)];
    const list: rpc.Transaction[] = [];
    while (from + list.length < end) {
      const rest = { from: from + list.length, limit: end - from - list.length };
      const more = await client.call("svc_getBlockTransactions", block.height, rest);
      if (more.length === 0 || more[0]!.blockHash !== block.hash) break; // the chain was reverted meanwhile
      list.push(...more);
    }
    return list;
  });
  return (
    <Show of={loaded} what="The transactions">
      {(list) => <Transactions list={list} caption="Transactions of the block" timed={false} />}
    </Show>
  );
}

function Header({ block, burned }: { block: rpc.Block; burned: bigint }): JSX.Element {
  const proofs = info.value?.proofs;
  const proven = proofs && proofs.oldest <= block.height && block.height <= proofs.newest;
  return (
    <Section title="Header">
      <Fields
        rows={[
          ["Hash", <Hex of={block.hash} what="the block's hash" />],
          [
            "Parent",
            block.height === 0 ? (
              <Hex of={block.parentHash} what="the digest of genesis" />
            ) : (
              <Link to={`block/${block.height - 1}`} class="mono">
                {block.parentHash}
              </Link>
            ),
          ],
          [
            "Time",
            <span class="num">
              {utc(block.timestamp)}, {block.timestampMs % 1000} ms
            </span>,
          ],
          ["Sealed by", <Producer height={block.height} hash={block.hash} producer={block.producer} />],
          ["Final", <DevelopmentOr />],
          [
            "Proof",
            proven ? (
              <Link to={`proof/${block.height}`}>There is one: verify it here</Link>
            ) : (
              <span class="muted">This node has none of this block{block.height > 0 ? " (yet)" : ""}.</span>
            ),
          ],
          [
            "Gas",
            <>
              <span class="num">{thousands(block.gasUsed)}</span> of {thousands(block.gasLimit)} (
              {percent(Number(block.gasUsed) / Number(block.gasLimit))})
            </>,
          ],
          [
            "Base fee",
            <>
              <span class="num">{thousands(block.baseFee)}</span> units a gas
            </>,
          ],
          [
            "Burned",
            <>
              <Coins amount={burned} /> coins
            </>,
          ],
          ["State root", <Hex of={block.stateRoot} what="the state root" />],
          ["Transactions root", <Hex of={block.transactionsRoot} what="the root of the transactions" />],
          ["Receipts root", <Hex of={block.receiptsRoot} what="the root of the receipts" />],
        ]}
      />
    </Section>
  );
}
