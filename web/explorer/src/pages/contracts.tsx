import type { rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { bytes, units } from "../format";
import { blocks, client } from "../node";
import { useLoad } from "../load";
import { Empty, Said, Show, Table, TimeOf, Title, TokenLink, Who } from "../parts";
import { tokenAbi } from "../token";
import { tokenFacts, type Facts } from "./token";

/** allContracts lists the chain's contracts, newest first, up to a limit. */
export async function allContracts(): Promise<{ list: rpc.Contract[]; more: boolean }> {
  let list: rpc.Contract[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.call("svc_listContracts", 1000, cursor);
    list = [...list, ...page];
    if (page.length < 1000) return { list: list.reverse(), more: false };
    if (list.length >= 5000) return { list: list.reverse(), more: true };
    cursor = page.at(-1)!.cursor;
  }
}

/** NEWEST is the number of contracts that are checked for being tokens. */
const NEWEST = 100;

/** newestTokens lists the tokens among the newest contracts, with their own descriptions. */
export async function newestTokens(list: rpc.Contract[]): Promise<{ contract: rpc.Contract; facts: Facts }[]> {
  const found = await Promise.all(
    list.slice(0, NEWEST).map(async (contract) => {
      const { contract_id: id } = contract;
      const abi = await tokenAbi(id);
      return abi && { contract, facts: await tokenFacts(id, abi) };
    }),
  );
  return found.flatMap((row) => (row ? [row] : []));
}

export function Contracts({ tokens }: { tokens: boolean }): JSX.Element {
  const seen = blocks.value.find(({ txCount }) => txCount > 0)?.hash;
  const loaded = useLoad(`contracts ${tokens}@${seen}`, async () => {
    const { list, more } = await allContracts();
    if (!tokens) return { list: list.slice(0, 200), more, facts: [] };
    return { list: [], more, facts: await newestTokens(list) };
  });
  return (
    <>
      <Title>{tokens ? "Tokens" : "Contracts"}</Title>
      <section class="card">
        <Show of={loaded} what={tokens ? "The tokens" : "The contracts"}>
          {({ list, facts }) =>
            (tokens ? facts.length : list.length) === 0 ? (
              <Empty>
                {tokens ? (
                  <>
                    No tokens among the newest contracts. <code>cairn token deploy</code> makes one.
                  </>
                ) : (
                  <>
                    No contracts yet. <code>cairn contract new</code> begins one.
                  </>
                )}
              </Empty>
            ) : tokens ? (
              <Table
                caption="Tokens, the newest first"
                columns={["Token", "Symbol", "Supply ", "Deployed by", "Time"]}
                rows={facts.map(({ contract, facts: of }) => ({
                  key: contract.contract_id,
                  cells: [
                    <TokenLink id={contract.contract_id} name={of.name} />,
                    <Said text={of.symbol} most={16} />,
                    <span class="num">{units(of.supply, of.decimals)}</span>,
                    <Who id={contract.deployer} />,
                    <TimeOf height={contract.deployed_at} />,
                  ],
                }))}
              />
            ) : (
              <Table
                caption="Contracts, the newest first"
                columns={["Contract", "Code ", "Deployed by", "Time"]}
                rows={list.map((contract) => ({
                  key: contract.contract_id,
                  cells: [
                    <Who id={contract.contract_id} />,
                    <span class="num">{bytes(contract.code_size)}</span>,
                    <Who id={contract.deployer} />,
                    <TimeOf height={contract.deployed_at} />,
                  ],
                }))}
              />
            )
          }
        </Show>
      </section>
    </>
  );
}
