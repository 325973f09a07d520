// Lists of transactions.
import type { rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { thousands } from "./format";
import { BlockLink, Coins, Memo, Said, Table, TimeOf, TxLink, Who } from "./parts";

const verbs: Record<string, string> = {
  transfer: "Transfer",
  call: "Call",
  deploy: "Deploy",
  configure: "Configure",
  batch: "Batch",
  set_policy: "Set policy",
  instantiate: "Instantiate",
};

/** What describes a transaction in a few words. */
export function What({ tx }: { tx: Pick<rpc.Transaction, "type"> & Partial<rpc.Transaction> }): JSX.Element {
  return (
    <span class="what">
      {tx.type === "call" && tx.input?.function ? (
        <Said text={tx.input.function} most={24} code />
      ) : (
        (verbs[tx.type] ?? tx.type)
      )}
      {tx.steps && ` of ${thousands(tx.steps.length)}`}
      {tx.type === "set_policy" && tx.input?.recovery === true && <span class="failed"> recovery</span>}
      <Memo of={tx.memo ?? null} />
    </span>
  );
}

/** Transactions lists transactions, from the view of an account if one is given. */
export function Transactions({
  list,
  caption,
  from,
  timed = true,
}: {
  list: rpc.Transaction[];
  caption: string;
  from?: string;
  timed?: boolean;
}): JSX.Element {
  const columns = [
    "Hash",
    ...(timed ? ["Block", "Time"] : []),
    "What",
    from ? "Direction" : "From",
    from ? "With" : "To",
    "Value ",
  ];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={list.map((tx) => ({
        key: tx.hash,
        cells: [
          <TxLink hash={tx.hash} />,
          ...(timed
            ? [
                tx.blockHeight === null ? (
                  <span class="waiting">pending</span>
                ) : (
                  <BlockLink height={tx.blockHeight} />
                ),
                <TimeOf height={tx.blockHeight} exact={from !== undefined} />,
              ]
            : []),
          <>
            {<What tx={tx} />}
            {tx.status === "failed" && (
              <span class="failed" title={tx.error ?? ""}>
                {" "}
                ✗ {tx.error?.replace(/_/g, " ")}
              </span>
            )}
          </>,
          from ? <Direction tx={tx} of={from} /> : <Who id={tx.from} />,
          from ? <Who id={tx.from === from ? tx.to : tx.from} /> : <Who id={tx.to} />,
          <Coins amount={tx.value} />,
        ],
      }))}
    />
  );
}

function Direction({ tx, of }: { tx: rpc.Transaction; of: string }): JSX.Element {
  if (tx.from === of && tx.to === of) return <span class="dir">↻ self</span>;
  if (tx.payer === of && tx.from !== of && tx.to !== of) return <span class="dir out">→ its fee</span>;
  return tx.from === of ? <span class="dir out">→ out</span> : <span class="dir in">← in</span>;
}
