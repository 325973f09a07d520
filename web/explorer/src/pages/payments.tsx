import { formatMemo, formatUnits, type Client, type rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { blocks, client, patient } from "../node";
import { useLoad } from "../load";
import { Coins, Empty, Memo, Nothing, Show, Table, Tabs, Time, TxLink, Who } from "../parts";
import { Jump, MOST, Save } from "./reach";

type Id = `0x${string}`;
const PAGE = 25;

const kinds: Record<rpc.Payment["kind"], string> = {
  transfer: "transfer",
  call: "value of a call",
  deploy: "value of a deploy",
  contract: "by a contract",
  batch: "step of a batch",
  instantiate: "value of an instantiate",
};

/** Payments lists all payments to and by an account, newest first. */
export function Payments({ id }: { id: Id }): JSX.Element {
  const [shown, show] = useState<"All" | "In" | "Out">("All");
  const [to, setTo] = useState<number | null>(null);
  return (
    <>
      <div class="filter">
        <Tabs names={["All", "In", "Out"] as const} at={shown} go={show} />
        <Jump at={to} go={setTo} />
      </div>
      <List key={`${shown} ${to}`} id={id} to={to} direction={shown === "All" ? "both" : shown === "In" ? "in" : "out"} />
    </>
  );
}

/** pageOf reads until a page is full or there is no more. The node returns fewer items when it had to search far. */
async function pageOf(asked: Client, filter: rpc.PaymentFilter, most: number): Promise<{ payments: rpc.Payment[]; more: string | null }> {
  const payments: rpc.Payment[] = [];
  for (let cursor = filter.cursor; ;) {
    const page = await asked.call("svc_getPayments", { ...filter, cursor, limit: most - payments.length });
    payments.push(...page.payments);
    cursor = page.resume;
    if (page.complete || payments.length >= most) return { payments, more: page.complete ? null : page.resume };
  }
}

function List({ id, direction, to }: { id: Id; direction: "both" | "in" | "out"; to: number | null }): JSX.Element {
  const [cursors, setCursors] = useState<string[]>([]);
  const cursor = cursors.at(-1);
  const head = cursor === undefined && to === null ? blocks.value[0]?.hash : "";
  const filter: rpc.PaymentFilter = {
    accounts: [id],
    direction,
    order: "desc",
    ...(to !== null && { to_block: to }),
    ...(cursor !== undefined && { cursor }),
  };
  const list = useLoad(`payments ${id} ${direction} ${to} ${cursor}@${head}`, () => pageOf(client, filter, PAGE));
  const file = async (): Promise<string[][]> => {
    const { payments } = await pageOf(patient, filter, MOST);
    return [
      ["block", "time", "transaction", "how", "from", "to", "coins", "memo"],
      ...payments.map((one) => [
        String(one.block_height), new Date(one.timestamp * 1000).toISOString(), one.tx_hash, one.kind, one.from, one.to,
        formatUnits(one.amount, 8), one.memo === null ? "" : formatMemo(one.memo),
      ]),
    ];
  };
  return (
    <Show of={list} what="The payments">
      {({ payments, more }) =>
        payments.length === 0 && cursors.length === 0 ? (
          to === null ? <Nothing of="payments" id={id} /> : <Empty>No payments up to that block.</Empty>
        ) : (
          <>
            <Table
              caption="Payments of the account, the newest first"
              columns={["Time", "Direction", "Amount ", "With", "How", "Transaction"]}
              rows={payments.map((payment) => ({
                key: payment.cursor,
                cells: [
                  <Time at={payment.timestamp} exact />,
                  <Direction payment={payment} of={id} />,
                  <Coins amount={payment.amount} />,
                  <Who id={payment.from === id ? payment.to : payment.from} />,
                  <>
                    <span class="words">{kinds[payment.kind]}</span>
                    <Memo of={payment.memo} />
                  </>,
                  <TxLink hash={payment.tx_hash} />,
                ],
              }))}
            />
            <p class="more">
              {cursors.length > 0 && (
                <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                  Newer
                </button>
              )}
              {more !== null && (
                <button type="button" onClick={() => setCursors([...cursors, more])}>
                  Older
                </button>
              )}
              <Save name={`payments-${id.slice(0, 10)}`} rows={file} />
            </p>
          </>
        )
      }
    </Show>
  );
}

function Direction({ payment: { from, to }, of }: { payment: rpc.Payment; of: string }): JSX.Element {
  if (from === to) return <span class="dir">↻ self</span>;
  return from === of ? <span class="dir out">→ out</span> : <span class="dir in">← in</span>;
}
