import { authorityAt, formatAddress, formatUnits, isKey, policyHash, type AccountRecord, type rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { devName } from "../dev";
import { thousands } from "../format";
import { blocks, client, contractOf, network, patient, timesOf } from "../node";
import { useLoad } from "../load";
import { useTab } from "../tab";
import {
  Coins,
  Copy,
  Empty,
  Fields,
  Hex,
  Link,
  Name,
  Nothing,
  Said,
  Section,
  Show,
  Table,
  Tabs,
  Title,
  TokenLink,
  TxLink,
  Who,
} from "../parts";
import { Transactions } from "../transactions";
import { tokenAbi } from "../token";
import { checkAccount } from "../check";
import { Label } from "./labels";
import { Payments } from "./payments";
import { Authority, Recovering } from "./policy";
import { Jump, MOST, Save } from "./reach";
import { SendCoins } from "./sendcoins";
import { Held, tokenFacts } from "./token";
import { Verified } from "./verified";

type Id = `0x${string}`;
const PAGE = 25;

const TABS = ["Payments", "Transactions", "Tokens", "Pending"] as const;

export function Account({ id }: { id: Id }): JSX.Element {
  const [tab, setTab] = useTab(TABS);
  const head = blocks.value[0]?.hash ?? "";
  const loaded = useLoad(`account ${id}@${head}`, () =>
    Promise.all([client.call("svc_getAccount", id), client.call("svc_getPendingTransactions", { sender: id })]),
  );
  const checked = useLoad(`checked ${id}@${head}`, () => checkAccount(id));
  const origin = useLoad(`origin ${id}@${loaded.value?.[0].nonce}`, () => originOf(id));
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
            ["In hex", <Hex of={id} what="the account in hex" />],
            ["On Bitcoin", <OnBitcoin id={id} account={loaded.value?.[0]} origin={origin.value} />],
            ["Label", <Label id={id} />],
          ]}
        />
        <Show of={loaded} what="The account">
          {([account, pending]) => (
            <>
            {account.recovery && <Recovering of={id} recovery={account.recovery} />}
            <Fields
              rows={[
                [
                  "Balance",
                  <>
                    <strong class="big">
                      <Coins amount={checked.value?.value.balance ?? account.balance} /> coins
                    </strong>{" "}
                    <Verified
                      of={checked}
                      what="the balance"
                      how="a Merkle proof shows the account’s record: its balance, its nonce and who may sign"
                      again={(height) => checkAccount(id, height)}
                      show={({ balance }) => <Coins amount={balance} />}
                    />
                  </>,
                ],
                [
                  "Who may sign",
                  <>
                    <Authority
                      of={account.authority}
                      policy={account.policy}
                      own={account.authority !== id ? undefined : <OwnAuthority account={account} origin={origin.value} />}
                    />
                    {checked.value && !agrees(account, checked.value.value) && (
                      <p class="failed" role="alert">
                        ✗ The state that this page verified says otherwise:{" "}
                        <span class="mono">{authorityAt(checked.value.value, checked.value.header.timestamp)}</span>
                      </p>
                    )}
                  </>,
                ],
                ["Transactions sent", <span class="num">{thousands(account.nonce)}</span>],
                ["Pending", pending.length ? <span class="waiting">{pending.length}</span> : "none"],
              ]}
            />
            </>
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
            {([, pending]) =>
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

/** Origin shows the kind of an account's 32 bytes, as far as its newest transactions reveal it. */
type Origin = "key" | "policy" | undefined;

async function originOf(id: Id): Promise<Origin> {
  if (devName(id)) return "key";
  const txs = await client.call("svc_getTransactionsByAddress", id, { limit: 20 });
  for (const { from, witness } of txs) {
    if (from !== id) continue;
    if (witness.type !== "policy") return "key";
    if (policyHash(witness.policy) === id) return "policy";
  }
  return undefined;
}

/**
 * agrees reports whether the node's data about an account's authority equals the verified data, perhaps of a
 * neighbouring block.
 */
function agrees(told: rpc.Account, { nonce, authority, pending }: AccountRecord): boolean {
  return told.nonce !== nonce || told.authority === authority || told.authority === pending?.next;
}

/** OwnAuthority describes an account whose own 32 bytes determine who signs: as a key, a policy or a contract. */
function OwnAuthority({ account, origin }: { account: rpc.Account; origin: Origin }): JSX.Element {
  if (account.contract) return <>nobody: its code moves its coins</>;
  if (origin === "key") return <>its own key</>;
  if (!isKey(account.account)) return <>the policy that its 32 bytes are the hash of; no transaction has shown it yet</>;
  return <>its own key, or a policy that it is the hash of: no transaction has shown which</>;
}

/** OnBitcoin says whether bitcoins sent to the same address on Bitcoin can ever be moved. */
function OnBitcoin({ id, account, origin }: { id: Id; account: rpc.Account | undefined; origin: Origin }): JSX.Element | null {
  if (!account) return null;
  const only = account.contract || !isKey(id) || origin === "policy" || (account.policy !== null && policyHash(account.policy) === id);
  if (origin === "key" && !only) return <span class="muted">the address of a key: it is good on Bitcoin too</span>;
  return (
    <>
      <strong class="failed">Cairn only</strong>{" "}
      <span class="muted">
        {only
          ? "Bitcoin that is sent to this address on Bitcoin is lost for ever: nobody has a key for it."
          : "unless you know that it is a key’s: Bitcoin sent on Bitcoin to the address of a policy or contract is lost for ever."}
      </span>
    </>
  );
}

/** Sent lists an account's transactions, newest first, a page more at a time. */
export function Sent({ id }: { id: Id }): JSX.Element {
  const [to, setTo] = useState<number | null>(null);
  return (
    <>
      <div class="filter">
        <Jump at={to} go={setTo} />
      </div>
      <SentUpTo key={to} id={id} to={to} />
    </>
  );
}

function SentUpTo({ id, to }: { id: Id; to: number | null }): JSX.Element {
  const [cursors, setCursors] = useState<string[]>([]);
  const cursor = cursors.at(-1);
  const head = cursor === undefined && to === null ? blocks.value[0]?.hash : "";
  const page = { cursor, to_block: to ?? undefined };
  const list = useLoad(`sent ${id} ${to} ${cursor}@${head}`, () =>
    client.call("svc_getTransactionsByAddress", id, { limit: PAGE, ...page }),
  );
  const file = async (): Promise<string[][]> => {
    const txs = await patient.call("svc_getTransactionsByAddress", id, { limit: MOST, ...page });
    const times = await timesOf(txs.flatMap(({ blockHeight }) => blockHeight ?? []));
    return [
      ["block", "time", "transaction", "what", "from", "to", "coins", "fee", "status"],
      ...txs.map((tx) => [
        String(tx.blockHeight), new Date((times.get(tx.blockHeight ?? 0) ?? 0) * 1000).toISOString(), tx.hash, tx.type,
        tx.from, tx.to, formatUnits(tx.value, 8), formatUnits(tx.fee ?? 0n, 8), tx.status,
      ]),
    ];
  };
  return (
    <Show of={list} what="The transactions">
      {(txs) =>
        txs.length === 0 && cursors.length === 0 ? (
          to === null ? <Nothing of="transactions" id={id} /> : <Empty>No transactions up to that block.</Empty>
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
              <Save name={`transactions-${id.slice(0, 10)}`} rows={file} />
            </p>
          </>
        )
      }
    </Show>
  );
}

/** Tokens lists the tokens that the account ever received, with their contracts' current answers. */
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
          const abi = await tokenAbi(token);
          if (!abi) return null;
          const [facts, held] = await Promise.all([
            tokenFacts(token, abi),
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
                <TokenLink id={token} name={facts.name} />,
                <Said text={facts.symbol} most={16} />,
                <Held token={token} facts={facts} of={id} told={balance} />,
              ],
            }))}
          />
        )
      }
    </Show>
  );
}
