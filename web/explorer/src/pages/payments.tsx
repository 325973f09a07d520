import type { rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { blocks, client } from "../node";
import { useLoad } from "../load";
import { Coins, Empty, Show, Table, Tabs, Time, TxLink, Who } from "../parts";

type Id = `0x${string}`;
const PAGE = 25;

const kinds: Record<rpc.Payment["kind"], string> = {
  transfer: "transfer",
  call: "value of a call",
  deploy: "value of a deploy",
  contract: "by a contract",
};

/** Payments is what an account is paid and pays, however, the newest first. */
export function Payments({ id }: { id: Id }): JSX.Element {
  const [shown, show] = useState<"All" | "In" | "Out">("All");
  return (
    <>
      <div class="filter">
        <Tabs names={["All", "In", "Out"] as const} at={shown} go={show} />
      </div>
      <List key={shown} id={id} direction={shown === "All" ? "both" : shown === "In" ? "in" : "out"} />
    </>
  );
}

/** pageOf reads on until a page is full or nothing more is there: the node answers with less where it looked through much. */
async function pageOf(filter: rpc.PaymentFilter): Promise<{ payments: rpc.Payment[]; more: string | null }> {
  const payments: rpc.Payment[] = [];
  for (let cursor = filter.cursor; ;) {
    const page = await client.call("svc_getPayments", { ...filter, cursor, limit: PAGE - payments.length });
    payments.push(...page.payments);
    cursor = page.resume;
    if (page.complete || payments.length >= PAGE) return { payments, more: page.complete ? null : page.resume };
  }
}

function List({ id, direction }: { id: Id; direction: "both" | "in" | "out" }): JSX.Element {
  const [cursors, setCursors] = useState<string[]>([]);
  const cursor = cursors.at(-1);
  const head = cursor === undefined ? blocks.value[0]?.hash : "";
  const list = useLoad(`payments ${id} ${direction} ${cursor}@${head}`, () =>
    pageOf({ accounts: [id], direction, order: "desc", ...(cursor !== undefined && { cursor }) }),
  );
  return (
    <Show of={list} what="The payments">
      {({ payments, more }) =>
        payments.length === 0 && cursors.length === 0 ? (
          <Empty>
            No payments yet. <code>cairn fund</code> sends some coins on a development chain.
          </Empty>
        ) : (
          <>
            <Table
              caption="Payments of the account, the newest first"
              columns={["Time", "Direction", "Amount ", "With", "How", "Transaction"]}
              rows={payments.map((payment) => ({
                key: payment.cursor,
                cells: [
                  <Time at={payment.timestamp} />,
                  <Direction payment={payment} of={id} />,
                  <Coins amount={payment.amount} />,
                  <Who id={payment.from === id ? payment.to : payment.from} />,
                  kinds[payment.kind],
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
