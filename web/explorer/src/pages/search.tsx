import { RpcError } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { chainText, shortHex, thousands } from "../format";
import { devAccounts, devName } from "../dev";
import { blocks, client, network } from "../node";
import { useLoad } from "../load";
import { Empty, Link, Name, Said, Section, Show, Title } from "../parts";
import { readQuery, type Query } from "../search";
import { labels } from "../labels";
import { allContracts, newestTokens } from "./contracts";

/** Hit is an item with the searched name. */
interface Hit {
  id: string;
  name: string;
  symbol?: string;
  what: "your label" | "token" | "contract";
}

/** kept is null if the node lacks blocks and therefore cannot identify the hash. */
async function kept<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof RpcError && error.is("pruned")) return null;
    throw error;
  }
}

/** Found is the result of a query: one page, or the items with the name. */
type Found =
  | { to: string }
  | { list: Hit[] }
  | { wrong: Extract<Query, { kind: "wrong" }> }
  | { nothing: string };

async function find(text: string): Promise<Found> {
  const query = readQuery(text, network());
  switch (query.kind) {
    case "nothing":
      return { nothing: "Type a height, a hash, an address or a name." };
    case "wrong":
      return { wrong: query };
    case "height": {
      const head = blocks.peek()[0]?.height ?? 0;
      return query.height <= head
        ? { to: `block/${query.height}` }
        : { nothing: `Block ${thousands(query.height)} is not made yet: the latest is ${thousands(head)}.` };
    }
    case "account":
      return {
        to: (await client.call("svc_getContract", query.account))
          ? `contract/${query.account}`
          : `account/${query.account}`,
      };
    case "hash": {
      const { hash } = query;
      const [tx, block, contract] = await Promise.all([
        kept(client.call("svc_getTransactionByHash", hash)),
        kept(client.call("svc_getBlockByHash", hash)),
        client.call("svc_getContract", hash),
      ]);
      return { to: tx ? `tx/${hash}` : block ? `block/${hash}` : contract ? `contract/${hash}` : `account/${hash}` };
    }
    case "name": {
      const wanted = query.text.toLowerCase();
      const dev = /^dev(\d)$/.exec(wanted);
      if (dev && devName(devAccounts[Number(dev[1])]!)) return { to: `account/${devAccounts[Number(dev[1])]}` };
      const has = (text: string): boolean => text.toLowerCase().includes(wanted);
      const { list } = await allContracts();
      const tokens = await newestTokens(list);
      const hits: Hit[] = [
        ...Object.entries(labels.peek())
          .filter(([, name]) => has(name))
          .map(([id, name]) => ({ id, name, what: "your label" as const })),
        ...tokens
          .filter(({ facts }) => has(facts.symbol) || has(facts.name))
          .map(({ contract, facts }) => ({
            id: contract.contract_id,
            name: facts.name,
            symbol: facts.symbol,
            what: "token" as const,
          })),
      ];
      const known = new Set(hits.map(({ id }) => id));
      for (const { contract_id: id, name } of list) {
        if (has(name) && !known.has(id)) hits.push({ id, name, what: "contract" });
      }
      return { list: hits.slice(0, 50) };
    }
  }
}

export function Search({ query, go }: { query: string; go: (path: string, replace?: boolean) => void }): JSX.Element {
  const loaded = useLoad(`search ${query}`, () => find(query));
  const to = loaded.value && "to" in loaded.value ? loaded.value.to : null;
  useEffect(() => {
    if (to !== null) go(to, true);
  }, [to]);
  return (
    <>
      <Title>Search</Title>
      <Section title={`“${chainText(query, 100)}”`}>
        <Show of={loaded} what="What was searched for">
          {(found) =>
            "nothing" in found ? (
              <Empty>{found.nothing}</Empty>
            ) : "wrong" in found ? (
              <>
                <p class="failed">✗ {chainText(found.wrong.reason, 200)}</p>
                <p class="mono whole">
                  {[...query.trim()].map((c, i) => (found.wrong.at.includes(i) ? <mark key={i}>{c}</mark> : c))}
                </p>
              </>
            ) : "list" in found ? (
              found.list.length === 0 ? (
                <Empty>Nothing has that name. Names of the command line are known to it alone.</Empty>
              ) : (
                <>
                  <p class="muted">Anybody may give a contract or token any name: go by the ID. Symbols are those of the newest 100 contracts.</p>
                  <ul class="found">
                    {found.list.map(({ id, name, symbol, what }) => (
                      <li key={`${what} ${id}`}>
                        <Link to={`${what === "your label" ? "account" : what}/${id}`}>
                          {what === "your label" ? <span class="chip">{chainText(name)}</span> : <Name text={name} />}{" "}
                          {symbol !== undefined && <Said text={symbol} most={16} />}{" "}
                          <span class="mono">{shortHex(id, 10)}</span>
                        </Link>{" "}
                        <span class="muted">{what}</span>
                      </li>
                    ))}
                  </ul>
                </>
              )
            ) : (
              <p class="muted">Opening…</p>
            )
          }
        </Show>
      </Section>
    </>
  );
}
