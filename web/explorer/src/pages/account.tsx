import { formatAddress, type rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { devName } from "../dev";
import { chainText, thousands } from "../format";
import { abiOf, blocks, client, contractOf, network } from "../node";
import { useLoad } from "../load";
import {
  Coins,
  Copy,
  Empty,
  Fields,
  Hex,
  Link,
  Name,
  Section,
  Show,
  Table,
  Tabs,
  Title,
  TxLink,
  Who,
} from "../parts";
import { Transactions } from "../transactions";
import { isToken } from "../decode";
import { checkBalance } from "../check";
import { Label } from "./labels";
import { Payments } from "./payments";
import { SendCoins } from "./sendcoins";
import { Held, tokenFacts } from "./token";
import { Verified } from "./verified";

type Id = `0x${string}`;
const PAGE = 25;

const TABS = ["Payments", "Transactions", "Tokens", "Pending"] as const;

export function Account({ id }: { id: Id }): JSX.Element {
  const [tab, setTab] = useState<(typeof TABS)[number]>("Payments");
  const head = blocks.value[0]?.hash ?? "";
  const loaded = useLoad(`account ${id}@${head}`, () =>
    Promise.all([client.balance(id), client.nonce(id), client.call("svc_getPendingTransactions", { sender: id })]),
  );
  const checked = useLoad(`checked ${id}@${head}`, () => checkBalance(id));
  const contract = contractOf(id);
  const address = formatAddress(id, network());
  return (
    <>
      <Title
        sub={
          contract && (
            <>
              This is the contract{" "}
              <Link to={`contract/${id}`}>
                <Name text={contract.name} />
              </Link>
            </>
          )
        }
      >
        Account {devName(id) && <span class="chip">{devName(id)}</span>}
      </Title>
      <Section title="Overview">
        <Fields
          rows={[
            [
              "Address",
              <span class="whole">
                <span class="mono">{address}</span> <Copy text={address} what="the address" />
              </span>,
            ],
            ["Key", <Hex of={id} what="the key" />],
            ["Label", <Label id={id} />],
          ]}
        />
        <Show of={loaded} what="The account">
          {([balance, nonce, pending]) => (
            <Fields
              rows={[
                [
                  "Balance",
                  <>
                    <strong class="big">
                      <Coins amount={checked.value?.value ?? balance} /> coins
                    </strong>{" "}
                    <Verified
                      of={checked}
                      what="the balance"
                      how="a Merkle proof shows the account’s record"
                      again={(height) => checkBalance(id, height)}
                      show={(amount) => <Coins amount={amount} />}
                    />
                  </>,
                ],
                ["Transactions sent", <span class="num">{thousands(nonce)}</span>],
                ["Pending", pending.length ? <span class="waiting">{pending.length}</span> : "none"],
              ]}
            />
          )}
        </Show>
      </Section>
      <SendCoins id={id} />
      <section class="card">
        <Tabs names={TABS} at={tab} go={setTab} />
        {tab === "Payments" && <Payments id={id} />}
        {tab === "Transactions" && <Sent id={id} />}
        {tab === "Tokens" && <Tokens id={id} />}
        {tab === "Pending" && (
          <Show of={loaded} what="What is pending">
            {([, , pending]) =>
              pending.length === 0 ? (
                <Empty>Nothing of this account waits for a block.</Empty>
              ) : (
                <Table
                  caption="Pending transactions of the account"
                  columns={["Hash", "Nonce", "What", "To", "Value "]}
                  rows={pending.map((tx) => ({
                    key: tx.hash,
                    cells: [
                      <TxLink hash={tx.hash} />,
                      <span class="num">{thousands(tx.nonce)}</span>,
                      <>
                        {tx.type}
                        {!tx.executable && <span class="waiting"> held</span>}
                      </>,
                      <Who id={tx.to} />,
                      <Coins amount={tx.value} />,
                    ],
                  }))}
                />
              )
            }
          </Show>
        )}
      </section>
    </>
  );
}

/** Sent lists an account's transactions, newest first, a page more at a time. */
export function Sent({ id }: { id: Id }): JSX.Element {
  const [cursors, setCursors] = useState<string[]>([]);
  const before = cursors.at(-1);
  const head = before === undefined ? blocks.value[0]?.hash : "";
  const list = useLoad(`sent ${id} ${before}@${head}`, () =>
    client.call("svc_getTransactionsByAddress", id, { limit: PAGE, before }),
  );
  return (
    <Show of={list} what="The transactions">
      {(txs) =>
        txs.length === 0 && cursors.length === 0 ? (
          <Empty>
            No transactions yet. <code>cairn fund</code> sends some coins on a development chain.
          </Empty>
        ) : (
          <>
            <Transactions list={txs} caption="Transactions of the account, newest first" from={id} />
            <p class="more">
              {cursors.length > 0 && (
                <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                  Newer
                </button>
              )}
              {txs.length === PAGE && (
                <button type="button" onClick={() => setCursors([...cursors, txs.at(-1)!.cursor!])}>
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

/** Tokens are those of which the account was ever sent some, by what their contracts say now. */
function Tokens({ id }: { id: Id }): JSX.Element {
  const list = useLoad(`tokens ${id}@${blocks.value[0]?.hash}`, async () => {
    const events = await client.call("svc_getEvents", {
      event_name: "Transfer",
      topics: [null, null, id],
      limit: 1000,
    });
    const tokens = [...new Set(events.map((event: rpc.Event) => event.contract_id))].slice(0, 50);
    return (
      await Promise.all(
        tokens.map(async (token) => {
          if (!isToken(await abiOf(token))) return null;
          const [facts, held] = await Promise.all([
            tokenFacts(token),
            client.call("svc_getTokenBalance", token, id).catch(() => null),
          ]);
          return held && held.balance > 0n ? { token, facts, balance: held.balance } : null;
        }),
      )
    ).flatMap((row) => (row ? [row] : []));
  });
  return (
    <Show of={list} what="The tokens">
      {(rows) =>
        rows.length === 0 ? (
          <Empty>No token of which this account was sent any is held.</Empty>
        ) : (
          <Table
            caption="Tokens of the account"
            columns={["Token", "Symbol", "Balance "]}
            rows={rows.map(({ token, facts, balance }) => ({
              key: token,
              cells: [
                <Link to={`token/${token}`}>
                  <Name text={facts.name} />
                </Link>,
                <bdi>{chainText(facts.symbol, 16)}</bdi>,
                <Held token={token} facts={facts} of={id} told={balance} />,
              ],
            }))}
          />
        )
      }
    </Show>
  );
}
