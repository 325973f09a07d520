import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { authority, trustProducer } from "../authority";
import { Bars, Line } from "../charts";
import { bytes, chainText, coins, counted, percent, span, thousands } from "../format";
import { blocks, client, info, now, sync } from "../node";
import { useLoad } from "../load";
import { Coins, Empty, Fields, Hex, Link, Section, Show, Table, Title, TxLink, Who } from "../parts";
import { What } from "../transactions";
import { ParametersOf } from "./parameters";
import { Authority } from "./verified";

export function Fees(): JSX.Element {
  const loaded = useLoad(`fees@${blocks.value[0]?.hash}`, () =>
    Promise.all([
      client.call("svc_gasPrice"),
      client.call("svc_getFeeMarket"),
      client.call("svc_getFeeHistory", 300),
    ]),
  );
  return (
    <>
      <Title>Fees</Title>
      <Show of={loaded} what="The fees">
        {([price, market, history]) => {
          const at = (i: number): string => `block ${thousands(history.oldestBlock + i)}`;
          const base = history.baseFeePerGas;
          return (
            <>
              <dl class="tiles">
                <div>
                  <dt>A transfer now</dt>
                  <dd class="num">{coins((price.base_fee + price.suggested_priority_fee) * 21_000n)}</dd>
                  <dd class="muted">coins</dd>
                </div>
                <div>
                  <dt>Base fee of the next block</dt>
                  <dd class="num">{thousands(price.base_fee)}</dd>
                  <dd class="muted">
                    {thousands(market.min_base_fee)} to {thousands(market.max_base_fee)}
                  </dd>
                </div>
                <div>
                  <dt>Priority fee</dt>
                  <dd class="num">{thousands(price.suggested_priority_fee)}</dd>
                  <dd class="muted">the median of late</dd>
                </div>
                <div>
                  <dt>Latest block</dt>
                  <dd class="num">{percent(market.utilization)}</dd>
                  <dd class="muted">full; the fee stands still at {percent(market.target_utilization)}</dd>
                </div>
              </dl>
              <section class="card">
                <Line
                  title="How did the base fee move?"
                  answer={
                    <>
                      Over the last {counted(history.gasUsedRatio.length, "block")}{" "}
                      {base.every((fee) => fee === base[0])
                        ? `it stayed at ${thousands(base[0] ?? 0n)}`
                        : `from ${thousands(base[0] ?? 0n)} to ${thousands(base.at(-1) ?? 0n)}`}{" "}
                      units a gas.
                    </>
                  }
                  points={base.map((fee, i) => ({
                    label: i === base.length - 1 ? "next" : at(i),
                    value: Number(fee),
                    shown: thousands(fee),
                  }))}
                />
              </section>
              <section class="card">
                <Bars
                  title="How full were blocks?"
                  answer="The share of the gas limit that transactions used; the top is 100 %."
                  most={1}
                  points={history.gasUsedRatio.map((ratio, i) => ({
                    label: at(i),
                    value: ratio,
                    shown: percent(ratio),
                  }))}
                />
              </section>
            </>
          );
        }}
      </Show>
    </>
  );
}

/** histogram counts offers by max fee, in buckets of doubling width. */
export function histogram(offers: readonly bigint[]): { label: string; value: number; shown: string }[] {
  const counts = new Map<number, number>();
  for (const fee of offers) counts.set(fee.toString(2).length, (counts.get(fee.toString(2).length) ?? 0) + 1);
  const bits = [...counts.keys()].sort((a, b) => a - b);
  if (bits.length === 0) return [];
  return Array.from({ length: bits.at(-1)! - bits[0]! + 1 }, (_, i) => {
    const bit = bits[0]! + i;
    const count = counts.get(bit) ?? 0;
    return {
      label: `${thousands(1n << BigInt(bit - 1))} to ${thousands((1n << BigInt(bit)) - 1n)}`,
      value: count,
      shown: thousands(count),
    };
  });
}

export function Mempool(): JSX.Element {
  const loaded = useLoad(`mempool@${now.value}`, () =>
    Promise.all([client.call("svc_getMempoolStats"), client.call("svc_getPendingTransactions", { limit: 500 })]),
  );
  return (
    <>
      <Title sub="Refreshed each second">Mempool</Title>
      <Show of={loaded} what="The mempool">
        {([stats, list]) => (
          <>
            <dl class="tiles">
              <div>
                <dt>Pending</dt>
                <dd class="num">{thousands(stats.pending_count)}</dd>
              </div>
              <div>
                <dt>Their gas limits</dt>
                <dd class="num">{thousands(stats.total_gas)}</dd>
              </div>
              <div>
                <dt>Oldest</dt>
                <dd>{stats.pending_count ? span(stats.oldest_tx_age_secs) : "–"}</dd>
              </div>
              <div>
                <dt>State</dt>
                <dd>
                  {stats.backpressure_active ? (
                    <span class="failed">full: refuses more</span>
                  ) : (
                    <span class="ok">takes transactions</span>
                  )}
                </dd>
              </div>
            </dl>
            {list.length === 0 ? (
              <section class="card">
                <Empty>Nothing waits for a block.</Empty>
              </section>
            ) : (
              <>
                <section class="card">
                  <Bars
                    title="What do they offer?"
                    answer={
                      <>
                        How many offer at most so many units a gas{list.length === 500 && ", of the newest 500"}; the
                        offers are in ranges that double.
                      </>
                    }
                    points={histogram(list.map((tx) => tx.maxFeePerGas))}
                  />
                </section>
                <Section title="The newest">
                  <Table
                    caption="The newest pending transactions"
                    columns={["Hash", "What", "From", "To", "Max fee ", "Value "]}
                    rows={list.slice(0, 50).map((tx) => ({
                      key: tx.hash,
                      cells: [
                        <TxLink hash={tx.hash} />,
                        <>
                          <What tx={tx} />
                          {!tx.executable && <span class="waiting"> held</span>}
                        </>,
                        <Who id={tx.from} />,
                        <Who id={tx.to} />,
                        <span class="num">{thousands(tx.maxFeePerGas)}</span>,
                        <Coins amount={tx.value} />,
                      ],
                    }))}
                  />
                </Section>
              </>
            )}
          </>
        )}
      </Show>
    </>
  );
}

/** StateSnapshot makes a single request, because a development chain makes the files of a snapshot on request. */
function StateSnapshot(): JSX.Element {
  const loaded = useLoad("state", () => client.call("svc_getStateSnapshot"));
  return (
    <Section title="State">
      <Show of={loaded} what="The state">
        {(state) => (
          <Fields
            rows={[
              ["After block", thousands(state.height)],
              ["Accounts", thousands(state.accounts)],
              ["Contracts", thousands(state.contracts)],
              ["Storage entries", thousands(state.storage_entries)],
              [
                "Snapshot",
                state.newest_files === null ? (
                  <>
                    none (<code>--snapshot-interval</code>)
                  </>
                ) : state.chunk_count > 0 ? (
                  bytes(state.size_bytes)
                ) : (
                  <>of block {thousands(state.newest_files)}</>
                ),
              ],
            ]}
          />
        )}
      </Show>
    </Section>
  );
}

export function Node(): JSX.Element {
  const head = blocks.value[0]?.hash;
  const loaded = useLoad(`node@${head}`, () =>
    Promise.all([
      client.call("svc_getNodeInfo"),
      client.call("svc_getSyncStatus"),
      client.call("svc_getParameters"),
    ]),
  );
  return (
    <>
      <Title
        sub={
          info.value && (
            <>
              {info.value.mode} · {info.value.network} · chain {info.value.chain_id}
            </>
          )
        }
      >
        Node
      </Title>
      <Show of={loaded} what="The node">
        {([node, status, parameters]) => (
          <>
            {(status.state === "halted" || status.state === "holding") && (
              <p class="banner bad" role="alert">
                This node {status.state === "halted" ? "takes no more blocks" : "waits"}:{" "}
                {chainText(status.reason ?? "", 300)}
              </p>
            )}
            <dl class="tiles">
              <div>
                <dt>State</dt>
                <dd>{(sync.value ?? status).state}</dd>
                <dd class="muted">
                  {status.synced
                    ? "has every block"
                    : status.blocks_behind === null
                      ? "no upstream says how far behind"
                      : `${thousands(status.blocks_behind)} behind`}
                </dd>
              </div>
              <div>
                <dt>Latest block</dt>
                <dd class="num">{thousands(node.block_height)}</dd>
                <dd class="muted">states from {thousands(node.oldest_height)}</dd>
              </div>
              <div>
                <dt>Replicas</dt>
                <dd class="num">{thousands(node.peer_count)}</dd>
                <dd class="muted">{node.primary === null ? "follow this node" : "or upstreams in use"}</dd>
              </div>
              <div>
                <dt>Proofs</dt>
                <dd class="num">
                  {node.proofs ? (
                    <>
                      {thousands(node.proofs.oldest)}–{thousands(node.proofs.newest)}
                    </>
                  ) : (
                    "none"
                  )}
                </dd>
                {node.proofs && (
                  <dd class="muted">
                    <Link to={`proof/${node.proofs.newest}`}>verify the newest</Link>
                  </dd>
                )}
              </div>
            </dl>
            <Section title="Software and chain">
              <Fields
                rows={[
                  ["Version", chainText(node.version, 80)],
                  ["Verification", node.verification],
                  ["Genesis", <Hex of={node.genesis_hash} what="the hash of genesis" />],
                  ["Protocol version", String(node.protocol_version)],
                  ["Versions known", node.known_versions.join(", ")],
                  ["Gas schedule", <Hex of={node.schedule_digest} what="the digest of the gas schedule" />],
                  ["Producer", <Who id={`0x${node.protocol_public_key}`} plain />],
                  [
                    "Override",
                    node.parameters_override ? <>from block {thousands(node.parameters_override.height)}</> : null,
                  ],
                ]}
              />
            </Section>
            <Section title="Which key signs this chain’s blocks?">
              <ProducerKey told={`0x${node.protocol_public_key}`} />
            </Section>
            {node.cluster && (
              <Section title="Cluster">
                <p>
                  Several nodes that are one producer.{" "}
                  {node.cluster.leader === "" ? (
                    <span class="waiting">This one hears of no leader at present.</span>
                  ) : (
                    <>
                      <strong>{chainText(node.cluster.leader)}</strong> makes the blocks, in term{" "}
                      <span class="num">{thousands(node.cluster.term)}</span>.
                    </>
                  )}
                </p>
                <Table
                  caption="The members of the cluster"
                  columns={["Member", "Address", "Part"]}
                  rows={node.cluster.members.map((member) => ({
                    key: member.name,
                    cells: [
                      chainText(member.name),
                      <span class="mono whole">{member.url === "" ? "not told" : chainText(member.url, 200)}</span>,
                      member.name === node.cluster!.leader ? (
                        <span class="ok">✓ leads</span>
                      ) : member.voter ? (
                        "votes"
                      ) : (
                        <span class="muted">catches up, without a vote</span>
                      ),
                    ],
                  }))}
                />
              </Section>
            )}
            {status.upstreams.length > 0 && (
              <Section title="Upstreams">
                <Table
                  caption="The nodes that blocks come from"
                  columns={["Address", "Latest block ", "State"]}
                  rows={status.upstreams.map((up) => ({
                    key: up.url,
                    cells: [
                      <span class="mono whole">{chainText(up.url, 200)}</span>,
                      <span class="num">{up.height === null ? "unknown" : thousands(up.height)}</span>,
                      up.fault ? (
                        <span class="failed">✗ {up.fault.replace(/_/g, " ")}</span>
                      ) : up.in_use ? (
                        <span class="ok">✓ in use</span>
                      ) : (
                        <span class="muted">in reserve</span>
                      ),
                    ],
                  }))}
                />
              </Section>
            )}
            <Section title="Parameters in force">
              <ParametersOf of={parameters} />
            </Section>
            <StateSnapshot />
          </>
        )}
      </Show>
    </>
  );
}

/** ProducerKey shows the key for the pages' signature checks, and lets the user enter another. */
function ProducerKey({ told }: { told: string }): JSX.Element {
  const [wrong, setWrong] = useState(false);
  const known = authority.value;
  return (
    <>
      <p>
        What these pages call verified counts by this key: <Authority />
      </p>
      {known && known.producer !== told && (
        <p class="failed" role="alert">
          ✗ This node names another: <span class="mono whole">{chainText(told, 80)}</span>. Either the chain’s parameters
          were changed by its old producer, or it is not your chain. Ask whoever runs it before you enter the new key.
        </p>
      )}
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault();
          setWrong(!trustProducer(String(new FormData(event.currentTarget).get("key") ?? "")));
        }}
      >
        <input name="key" aria-label="The producer’s key" placeholder="64 digits, from your genesis" size={40} />{" "}
        <button type="submit">Trust this key</button>{" "}
        <span role="status">{wrong && <span class="failed">✗ A key has 64 hex digits.</span>}</span>
      </form>
    </>
  );
}
