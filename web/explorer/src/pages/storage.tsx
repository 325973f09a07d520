// The contents of a contract's storage, described by the ABI as far as possible.
import type { AbiCell, rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { decodeStorage, ownKey, placeOf, type Place, type Value } from "../decode";
import { chainText, counted, lossyText } from "../format";
import { abiOf, blocks, client } from "../node";
import { useLoad } from "../load";
import { Empty, Said, Show } from "../parts";
import { Shown } from "./tx";

type Id = `0x${string}`;

const MAX_CELLS = 50; // each value is a call at every block, and a page must stay within the rate limit of an address

/** Key shows a value in brackets, shortened as part of a name. */
const Key = ({ of }: { of: Value }): JSX.Element => (
  <>
    [<Shown value={of} />]
  </>
);

/** Named shows the ABI's name of a place in storage. */
const Named = ({ of }: { of: Place }): JSX.Element => (
  <>
    <code>{chainText(of.name)}</code>
    {of.key && <Key of={of.key} />} <span class="type">{chainText(of.type, 24)}</span>
  </>
);

/** Bytes shows a key or a value of unknown type. */
const Bytes = ({ of }: { of: string }): JSX.Element => {
  const text = lossyText(of.length > 2000 ? of.slice(0, 2000) : of);
  return (
    <span class="mono">
      {chainText(of, 80)}
      {text !== undefined && (
        <>
          {" "}
          <Said text={text} most={60} />
        </>
      )}
    </span>
  );
};

/** Stored shows a value of a type. A value that does not fit is shown as bytes, with a remark. */
function Stored({ abi, type, data }: { abi: rpc.ABI | null; type: string | undefined; data: string }): JSX.Element {
  if (data === "0x") return <span class="muted">nothing</span>;
  const value = type === undefined ? undefined : decodeStorage(abi, type, data);
  if (value) return <Shown value={value} />;
  return (
    <>
      <Bytes of={data} /> {type !== undefined && <span class="tag">raw: not of its type</span>}
    </>
  );
}

/** Writes lists a call's writes to its contract's storage, in order. */
export function Writes({ of: { contract, storage } }: { of: rpc.TraceCall }): JSX.Element {
  const { value: abi = null } = useLoad(`abi ${contract}`, () => abiOf(contract));
  return (
    <details>
      <summary>{counted(storage.length, "write")} to its storage</summary>
      <ul class="writes">
        {storage.slice(0, 100).map((write, i) => {
          const place = placeOf(abi, write.key);
          return (
            <li key={i}>
              {place ? (
                <Named of={place} />
              ) : (
                <>
                  <Bytes of={write.key} /> <span class="tag">raw</span>
                </>
              )}
              : <Stored abi={abi} type={place?.type} data={write.old} /> →{" "}
              <Stored abi={abi} type={place?.type} data={write.new} />
            </li>
          );
        })}
      </ul>
      {storage.length > 100 && <p class="muted">The first 100 are shown.</p>}
    </details>
  );
}

/**
 * Storage lists the names in a contract's storage that the ABI declares, with the values of cells and the lengths of
 * lists.
 */
export function Storage({ id, abi }: { id: Id; abi: rpc.ABI | null }): JSX.Element {
  const cells = (abi?.storage?.cells ?? []).slice(0, MAX_CELLS);
  const loaded = useLoad(`storage ${id}@${blocks.value[0]?.hash}`, () =>
    Promise.all(
      cells.map((cell) => {
        const key = ownKey(abi!, cell);
        return key === undefined ? null : client.call("svc_getStorageAt", id, key);
      }),
    ),
  );
  if (!abi || cells.length === 0) return <Empty>The contract does not say what is in its storage.</Empty>;
  return (
    <Show of={loaded} what="The storage">
      {(values) => (
        <>
          <dl class="values">
            {cells.map((cell, i) => (
              <div key={i}>
                <dt>
                  <code>{chainText(cell.name)}</code> <span class="type">{chainText(kindOf(cell), 40)}</span>
                </dt>
                <dd>
                  <Under cell={cell} abi={abi} data={values[i] ?? null} />
                </dd>
              </div>
            ))}
          </dl>
          {(abi.storage?.cells.length ?? 0) > MAX_CELLS && <p class="muted">The first {MAX_CELLS} are shown.</p>}
          <p class="muted">
            Names and types are what the contract’s code says, and may not be all that it stores. The values are the
            node’s word.
          </p>
        </>
      )}
    </Show>
  );
}

/** kindOf describes the kind of a name. */
function kindOf({ kind, key, value }: AbiCell): string {
  return kind === "map" ? `${key} → ${value}` : kind === "list" ? `list of ${value}` : value;
}

function Under({ cell, abi, data }: { cell: AbiCell; abi: rpc.ABI; data: string | null }): JSX.Element {
  if (data === null) return <span class="muted">values by key</span>;
  if (cell.kind !== "list") return <Stored abi={abi} type={cell.value} data={data} />;
  if (data === "0x") return <>no items</>;
  return (
    <>
      <Stored abi={abi} type="u32" data={data} /> items
    </>
  );
}
