import {
  encodeArguments,
  formatAddress,
  fromHex,
  parseCoins,
  type rpc,
} from "@cairn-chain/sdk";
import type { JSX, TargetedSubmitEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readAccount } from "../accounts";
import { readField } from "../field";
import { asked, useTab } from "../tab";
import { decodeResult, type Value } from "../decode";
import { chainText, thousands } from "../format";
import { abiOf, blocks, client, isDevelopment, network } from "../node";
import { useLoad } from "../load";
import { Coins, Copy, Empty, Fields, Hex, Link, Name, Said, Section, Show, Tabs, TimeOf, Title, TxLink, Who, explain } from "../parts";
import { checkBalance, checkView } from "../check";
import { canChange, sourceOf } from "../section";
import { tokenAbi } from "../token";
import { Sent } from "./account";
import { Field } from "./field";
import { Label } from "./labels";
import { Payments } from "./payments";
import { Storage } from "./storage";
import { Verified } from "./verified";
import { newestEvents } from "./token";
import { LogRow, Raw, Shown } from "./tx";

type Id = `0x${string}`;

const TABS = ["Read", "Write", "Storage", "Events", "Payments", "Transactions"] as const;

export function Contract({ id }: { id: Id }): JSX.Element {
  const [tab, setTab] = useTab(TABS);
  const known = blocks.value.length > 0;
  const loaded = useLoad(`contract ${id}@${known}`, () =>
    Promise.all([client.call("svc_getContract", id), abiOf(id), client.balance(id)]),
  );
  const token = useLoad(`is a token ${id}@${known}`, () => tokenAbi(id));
  return (
    <Show of={loaded} what="The contract" title="Contract">
      {([contract, abi, balance]) =>
        !contract ? (
          <>
            <Title>Contract</Title>
            <Empty>
              There is no contract of this ID. <Link to={`account/${id}`}>Look at the account</Link>.
            </Empty>
          </>
        ) : (
          <>
            <Title sub={token.value && <Link to={`token/${id}`}>It is a token: holders and transfers</Link>}>
              Contract <Name text={contract.name} />
            </Title>
            <Section title="Overview">
              <Fields
                rows={[
                  ["ID", <Hex of={id} what="the contract's ID" />],
                  [
                    "Address",
                    <span class="whole">
                      <span class="mono">{formatAddress(id, network())}</span>{" "}
                      <Copy text={formatAddress(id, network())} what="the address" />
                    </span>,
                  ],
                  [
                    "Deployed by",
                    <>
                      <Who id={contract.deployer} /> in block{" "}
                      <Link to={`block/${contract.deployed_at}`}>{thousands(contract.deployed_at)}</Link>,{" "}
                      <TimeOf height={contract.deployed_at} exact />
                    </>,
                  ],
                  [
                    "Code",
                    <>
                      {thousands(contract.code_size)} bytes, <Hex of={contract.code_hash} what="the code's hash" />
                    </>,
                  ],
                  ["Balance", <Balance id={id} told={balance} />],
                  ["Label", <Label id={id} />],
                  ["Changes", <Changes of={contract} />],
                  ["Source", <Source of={contract} />],
                ]}
              />
            </Section>
            <section class="card">
              <Tabs names={TABS} at={tab} go={setTab} />
              {tab === "Read" && <Functions id={id} abi={abi} mode="read" />}
              {tab === "Write" && <Functions id={id} abi={abi} mode="write" />}
              {tab === "Storage" && <Storage id={id} abi={abi} />}
              {tab === "Events" && <Events id={id} />}
              {tab === "Payments" && <Payments id={id} />}
              {tab === "Transactions" && <Sent id={id} />}
            </section>
          </>
        )
      }
    </Show>
  );
}

function Balance({ id, told }: { id: Id; told: bigint }): JSX.Element {
  const checked = useLoad(`checked ${id}@${blocks.value[0]?.hash}`, () => checkBalance(id));
  return (
    <>
      <Coins amount={checked.value?.value ?? told} /> coins{" "}
      <Verified
        of={checked}
        what="the balance"
        how="a Merkle proof shows the account’s record"
        again={(height) => checkBalance(id, height)}
        show={(amount) => <Coins amount={amount} />}
      />
    </>
  );
}

let last: { hash: string; code: Promise<Uint8Array> } | undefined;

/** codeOf returns a contract's code, with one request for all parts of the page that use it. */
function codeOf({ contract_id: id, code_hash: hash }: rpc.Contract): Promise<Uint8Array> {
  if (last?.hash !== hash) {
    const code = client.call("svc_getContractCode", id).then(fromHex);
    last = { hash, code };
    code.catch(() => (last = undefined));
  }
  return last.code;
}

/** Changes shows whether the contract can replace its own code. */
function Changes({ of }: { of: rpc.Contract }): JSX.Element {
  const loaded = useLoad(`code ${of.code_hash}`, async () => canChange(await codeOf(of)));
  return (
    <Show of={loaded} what="The code">
      {(can) =>
        can ? (
          <>
            <strong class="failed">The contract can replace its code</strong>: what it does tomorrow is up to what its code of today
            lets happen.
          </>
        ) : (
          "never: this code cannot replace itself"
        )
      }
    </Show>
  );
}

/** Source shows the code's data about its source, and the node's copy of it. Neither is checked here. */
function Source({ of }: { of: rpc.Contract }): JSX.Element {
  const loaded = useLoad(`source ${of.code_hash}`, async () => {
    const hash = sourceOf(await codeOf(of));
    if (hash === null) return null;
    const path = `/sources/${hash}`;
    return { hash, path, published: (await fetch(path, { method: "HEAD" })).ok };
  });
  return (
    <Show of={loaded} what="The source">
      {(source) =>
        source === null ? (
          <span class="muted">the code does not say what it was compiled from</span>
        ) : (
          <>
            the code says <Hex of={source.hash} what="the source's hash" />,{" "}
            {source.published ? (
              <a href={source.path} download>
                which was published at this node
              </a>
            ) : (
              "which was not published at this node"
            )}
            ; <strong>not verified by this page</strong>: anybody can write a hash into a code.{" "}
            <code>cairn contract verify</code> compiles the source and compares.
          </>
        )
      }
    </Show>
  );
}

function Functions({ id, abi, mode }: { id: Id; abi: rpc.ABI | null; mode: "read" | "write" }): JSX.Element {
  const [account, setAccount] = useState(0);
  if (!abi) return <Empty>The contract declares no functions that can be read.</Empty>;
  const list = abi.functions.filter((f) => f.mode === mode);
  if (list.length === 0) return <Empty>It declares no functions of this kind.</Empty>;
  const dev = isDevelopment();
  return (
    <>
      {mode === "write" &&
        (dev ? (
          <p class="note">
            <label>
              Signed as{" "}
              <select value={String(account)} onChange={(e) => setAccount(Number(e.currentTarget.value))}>
                {Array.from({ length: 10 }, (_, i) => (
                  <option key={i} value={String(i)}>
                    dev{i}
                  </option>
                ))}
              </select>
            </label>{" "}
            <span class="muted">whose key is public: for development chains only.</span>
          </p>
        ) : (
          <p class="note muted">
            This page signs on development chains only. Elsewhere use <code>cairn call</code> or an SDK.
          </p>
        ))}
      <ul class="functions">
        {list.slice(0, 200).map((f, i) => (
          <Form key={i} id={id} abi={abi} f={f} account={account} usable={mode === "read" || dev} />
        ))}
      </ul>
    </>
  );
}

type Outcome = { value: Value; args: Record<string, unknown> } | { raw: string } | { tx: rpc.Receipt } | { error: unknown } | "waiting" | null;

function Form({
  id,
  abi,
  f,
  account,
  usable,
}: {
  id: Id;
  abi: rpc.ABI;
  f: rpc.ABIFunction;
  account: number;
  usable: boolean;
}): JSX.Element {
  const [outcome, setOutcome] = useState<Outcome>(null);
  const wanted = asked("function") === f.name;
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (wanted) item.current?.scrollIntoView({ block: "center" });
  }, [wanted]);
  const run = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setOutcome("waiting");
    try {
      const args = Object.fromEntries(
        f.args.map(({ name, type }, i) => [name, readField(type, String(i), form, abi, readAccount)]),
      );
      const encoded = encodeArguments(f.args, args, abi);
      if (f.mode === "read") {
        const data = await client.call("svc_viewCall", id, f.name, encoded);
        const value = decodeResult(f.returns, data, abi);
        setOutcome(value ? { value, args } : { raw: data });
      } else {
        const { send } = await import("../send");
        setOutcome({
          tx: await send(account, {
            type: "call",
            value: parseCoins(String(form.get("value") ?? "").trim() || "0"),
            contract: id,
            function: f.name,
            args: fromHex(encoded),
          }),
        });
      }
    } catch (error) {
      setOutcome({ error });
    }
  };
  return (
    <li ref={item} class={wanted ? "wanted" : ""}>
      <form onSubmit={run}>
        <h3>
          <Link to={`contract/${id}?tab=${f.mode}&function=${encodeURIComponent(f.name)}`} title="The address of this form">
            <Said text={f.name} code />
          </Link>{" "}
          {f.returns !== undefined && <span class="type">→ {chainText(f.returns, 24)}</span>}
        </h3>
        {f.args.map(({ name, type }, i) => (
          <Field key={i} name={name} type={type} path={String(i)} abi={abi} />
        ))}
        {f.payable && (
          <label>
            <span>
              Coins <span class="type">that it is paid</span>
            </span>
            <input name="value" inputMode="decimal" placeholder="0" autocomplete="off" />
          </label>
        )}
        <button type="submit" disabled={!usable || outcome === "waiting"}>
          {f.mode === "read" ? "Read" : "Send"}
        </button>
        <output aria-live="polite">
          {outcome === "waiting" ? (
            <span class="muted">…</span>
          ) : outcome === null ? null : "value" in outcome ? (
            <>
              → <Shown value={outcome.value} />{" "}
              <Computed id={id} f={f} args={outcome.args} told={outcome.value} />
            </>
          ) : "raw" in outcome ? (
            <>
              → <Raw data={outcome.raw} what="the result" />
            </>
          ) : "tx" in outcome ? (
            <span class="ok">
              ✓ in block {thousands(outcome.tx.blockHeight)}: <TxLink hash={outcome.tx.transactionHash} />
            </span>
          ) : (
            <span class="failed">✗ {explain(outcome.error)}</span>
          )}
        </output>
      </form>
    </li>
  );
}

/** Computed shows how far the page checked a function's result. */
function Computed({
  id,
  f,
  args,
  told,
}: {
  id: Id;
  f: rpc.ABIFunction;
  args: Record<string, unknown>;
  told: Value;
}): JSX.Element {
  const key = JSON.stringify(args, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
  const checked = useLoad(`view ${id} ${f.name} ${key}@${told.text}`, () => checkView(id, f.name, args));
  return (
    <>
      {checked.value && checked.value.value.text !== told.text && (
        <>
          ; this page computes <Shown value={checked.value.value} />{" "}
        </>
      )}
      <Verified
        of={checked}
        what="the result"
        how="a witness shows the code and each value that it reads; this page ran the function on them"
        again={(height) => checkView(id, f.name, args, height)}
        show={(value) => <Shown value={value} />}
      />
    </>
  );
}

function Events({ id }: { id: Id }): JSX.Element {
  const list = useLoad(`events ${id}@${blocks.value[0]?.hash}`, () => newestEvents({ contract_id: id }, 50));
  return (
    <Show of={list} what="The events">
      {(events) =>
        events.length === 0 ? (
          <Empty>It has emitted none.</Empty>
        ) : (
          <ol class="events">
            {events.map((event) => (
              <LogRow
                key={event.cursor}
                contract={id}
                name={event.event_name}
                data={event.data}
                topics={event.topics}
                extra={
                  <>
                    {" "}
                    <TxLink hash={event.tx_hash} /> <TimeOf height={event.block_height} />
                  </>
                }
              />
            ))}
          </ol>
        )
      }
    </Show>
  );
}
