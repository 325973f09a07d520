import type { rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { decodeArguments, decodeResult } from "../decode";
import { chainText, counted, lossyText, percent, shortHex, thousands, units } from "../format";
import { blocks, client } from "../node";
import { checkView, type Checked } from "../check";
import { useLoad } from "../load";
import { tokenAbi } from "../token";
import { Empty, Fields, Hex, Link, Name, Said, Section, Show, Table, TimeOf, Title, TxLink, Who } from "../parts";
import { Verified } from "./verified";

type Id = `0x${string}`;

/** Facts are a token's claims about itself, which nobody has checked. */
export interface Facts {
  name: string;
  symbol: string;
  decimals: number;
  /** Its claimed decimals if that is no sensible number; amounts are then shown in smallest units. */
  odd?: string;
  supply: bigint;
}

/** tokenFacts calls a token's contract. It ignores decimals that are too large. */
export async function tokenFacts(id: Id, abi: rpc.ABI): Promise<Facts> {
  const ask = async (name: string): Promise<string | undefined> => {
    const returns = abi.functions.find((f) => f.name === name && f.mode === "read" && f.args.length === 0)?.returns;
    if (returns === undefined) return undefined;
    const data = await client.call("svc_viewCall", id, name).catch(() => null); // a token may refuse to answer
    return data === null ? undefined : decodeResult(returns, data, abi)?.text;
  };
  const [name, symbol, decimals, supply] = await Promise.all(["name", "symbol", "decimals", "totalSupply"].map(ask));
  const contract = await client.call("svc_getContract", id);
  const places = Number(decimals ?? 0);
  const sensible = Number.isInteger(places) && places >= 0 && places <= 36;
  return {
    name: name ?? contract?.name ?? "",
    symbol: symbol ?? "",
    decimals: sensible ? places : 0,
    ...(sensible ? {} : { odd: decimals! }),
    supply: supply !== undefined && /^\d+$/.test(supply) ? BigInt(supply) : 0n,
  };
}

/** Held shows an account's amount of a token, computed by the page itself as soon as possible. */
export function Held({ token, facts, of, told }: { token: Id; facts: Facts; of: Id; told: bigint }): JSX.Element {
  const check = async (height?: number): Promise<Checked<bigint>> => {
    const declared = (await tokenAbi(token))?.functions.find((f) => f.name === "balanceOf");
    const account = declared?.args[0]?.name ?? "address"; // "owner" of tokens of one each
    const { value, header } = await checkView(token, "balanceOf", { [account]: of }, height);
    return { value: BigInt(value.text), header };
  };
  const checked = useLoad(`held ${token} ${of}@${told}`, () => check());
  const show = (amount: bigint): JSX.Element => <span class="num">{units(amount, facts.decimals)}</span>;
  return (
    <>
      {show(checked.value?.value ?? told)}{" "}
      <Verified
        of={checked}
        brief
        what="the token balance"
        how="a witness shows the code and each value that it reads; this page ran balanceOf on them"
        again={check}
        show={show}
      />
    </>
  );
}

/** Supply shows a token's supply, computed by the page itself as soon as possible. */
function Supply({ token, facts }: { token: Id; facts: Facts }): JSX.Element {
  const check = async (height?: number): Promise<Checked<bigint>> => {
    const { value, header } = await checkView(token, "totalSupply", {}, height);
    return { value: BigInt(value.text), header };
  };
  const checked = useLoad(`supply ${token}@${facts.supply}`, () => check());
  const show = (amount: bigint): JSX.Element => (
    <span class="num">
      {units(amount, facts.decimals)} <Said text={facts.symbol} most={16} />
    </span>
  );
  return (
    <>
      {show(checked.value?.value ?? facts.supply)}{" "}
      <Verified
        of={checked}
        what="the supply"
        how="a witness shows the code and each value that it reads; this page ran totalSupply on them"
        again={check}
        show={show}
      />
    </>
  );
}

const HOLDERS = 100;
const SHOWN = 8;

export function Token({ id }: { id: Id }): JSX.Element {
  const loaded = useLoad(`token ${id}@${blocks.value[0]?.hash}`, async () => {
    const [abi, contract] = await Promise.all([tokenAbi(id), client.call("svc_getContract", id)]);
    if (!abi || !contract) return null;
    const [facts, holders] = await Promise.all([
      tokenFacts(id, abi),
      client.call("svc_getTokenHolders", id, { limit: HOLDERS }),
    ]);
    return { abi, contract, facts, holders };
  });
  return (
    <Show of={loaded} what="The token" title="Token">
      {(found) =>
        !found ? (
          <>
            <Title>Token</Title>
            <Empty>There is no token of this ID: it is no contract, or has not the functions of one.</Empty>
          </>
        ) : (
          <>
            <Title
              sub={
                <>
                  <Said text={found.facts.symbol} most={16} /> ·{" "}
                  {found.facts.odd === undefined
                    ? counted(found.facts.decimals, "decimal")
                    : `says that it has ${chainText(found.facts.odd, 16)} decimals: amounts are in smallest units`}{" "}
                  ·{" "}
                  <Link to={`contract/${id}`}>its contract</Link>
                </>
              }
            >
              Token <Name text={found.facts.name} />
            </Title>
            <Section title="Overview">
              <Fields
                rows={[
                  ["ID", <Hex of={id} what="the token's ID" />],
                  ["Supply", <Supply token={id} facts={found.facts} />],
                  [
                    "Holders",
                    <span class="num">
                      {found.holders.length === HOLDERS ? `at least ${HOLDERS}` : thousands(found.holders.length)}
                    </span>,
                  ],
                  [
                    "Deployed by",
                    <>
                      <Who id={found.contract.deployer} /> <TimeOf height={found.contract.deployed_at} />
                    </>,
                  ],
                ]}
              />
            </Section>
            <Section title="Who holds it?">
              <Holders token={id} holders={found.holders} facts={found.facts} />
            </Section>
            <Section title="Transfers">
              <Transfers id={id} facts={found.facts} abi={found.abi} />
            </Section>
          </>
        )
      }
    </Show>
  );
}

function Holders({
  token,
  holders,
  facts,
}: {
  token: Id;
  holders: rpc.TokenHolder[];
  facts: Facts;
}): JSX.Element {
  if (holders.length === 0) return <Empty>Nobody holds any.</Empty>;
  const of = facts.supply > 0n ? facts.supply : holders.reduce((sum, { balance }) => sum + balance, 0n);
  const share = (balance: bigint): number => (of === 0n ? 0 : Number((balance * 1_000_000n) / of) / 1_000_000);
  const top = holders.slice(0, SHOWN);
  const rest = 1 - top.reduce((sum, { balance }) => sum + share(balance), 0);
  return (
    <>
      <Table
        caption="The largest holders"
        columns={["Holder", "Balance ", "Share"]}
        rows={[
          ...top.map(({ address, balance }) => ({
            key: address,
            cells: [
              <Who id={address} />,
              <Held token={token} facts={facts} of={address} told={balance} />,
              <Share of={share(balance)} />,
            ],
          })),
          ...(rest > 0.0005
            ? [{ key: "rest", cells: [<span class="muted">everybody else</span>, "", <Share of={rest} rest />] }]
            : []),
        ]}
      />
    </>
  );
}

function Share({ of, rest }: { of: number; rest?: boolean }): JSX.Element {
  return (
    <span class="share">
      <span class="num">{percent(of)}</span>
      <svg class={rest ? "hbar rest" : "hbar"} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect width={Math.max(of * 100, 0.5)} height="8" rx="1" />
      </svg>
    </span>
  );
}

/** SPAN is the number of blocks per search for the newest events, because lists of events are ascending. */
const SPAN = 5000;

/** newest reads the last events of a filter. It goes back in steps until it finds some or reaches the first block. */
export async function newestEvents(
  filter: Omit<rpc.EventFilter, "from_block" | "to_block" | "limit">,
  most: number,
): Promise<rpc.Event[]> {
  let to = blocks.value[0]?.height ?? 0;
  let found: rpc.Event[] = [];
  for (let step = SPAN; to >= 0 && found.length < most; step *= 4) {
    const from = Math.max(0, to - step + 1);
    let page = await client.call("svc_getEvents", { ...filter, from_block: from, to_block: to, limit: 10_000 });
    let all = page;
    while (page.length === 10_000 && all.length < 50_000) {
      page = await client.call("svc_getEvents", {
        ...filter,
        to_block: to,
        cursor: page.at(-1)!.cursor,
        limit: 10_000,
      });
      all = [...all.slice(-most), ...page];
    }
    found = [...all, ...found];
    to = from - 1;
  }
  return found.slice(-most).reverse();
}

function Transfers({ id, facts, abi }: { id: Id; facts: Facts; abi: rpc.ABI }): JSX.Element {
  const list = useLoad(`transfers ${id}@${blocks.value[0]?.hash}`, () =>
    newestEvents({ contract_id: id, event_name: "Transfer" }, 50),
  );
  const declared = abi.events.find(({ name }) => name === "Transfer");
  const ofOneEach = declared?.args.some(({ name }) => name === "tokenId");
  return (
    <Show of={list} what="The transfers">
      {(events) =>
        events.length === 0 ? (
          <Empty>None yet.</Empty>
        ) : (
          <Table
            caption="The newest transfers"
            columns={["Transaction", "Time", "From", "To", ...(ofOneEach ? ["Token"] : []), "Amount "]}
            rows={events.map((event) => {
              const values = declared && decodeArguments(declared.args, event.data);
              const of = (name: string): string | undefined => values?.find((value) => value.name === name)?.text;
              const amount = of("amount");
              return {
                key: event.cursor,
                cells: [
                  <TxLink hash={event.tx_hash} />,
                  <TimeOf height={event.block_height} />,
                  <Party id={of("from")} />,
                  <Party id={of("to")} />,
                  ...(ofOneEach ? [<TokenId id={of("tokenId")} />] : []),
                  <span class="num">
                    {amount !== undefined && /^\d+$/.test(amount) ? units(BigInt(amount), facts.decimals) : "?"}
                  </span>,
                ],
              };
            })}
          />
        )
      }
    </Show>
  );
}

/** TokenId shows the ID of a non-fungible token, and its text if it is readable. */
function TokenId({ id }: { id: string | undefined }): JSX.Element {
  if (id === undefined || !/^0x([0-9a-f]{2})*$/.test(id)) return <span class="muted">?</span>;
  const text = lossyText(id);
  return (
    <>
      <span class="mono" title={id}>
        {shortHex(id, 8)}
      </span>{" "}
      {text !== undefined && <Name text={text} />}
    </>
  );
}

/** Party shows one side of a transfer. */
function Party({ id }: { id: string | undefined }): JSX.Element {
  return id !== undefined && /^0x[0-9a-f]{64}$/.test(id) ? <Who id={id} /> : <span class="muted">?</span>;
}
