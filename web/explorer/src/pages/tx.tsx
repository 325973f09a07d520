import type { rpc } from "@cairn-chain/sdk";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { decodeArguments, decodeResult, revertText, type Value } from "../decode";
import { chainText, lossyText, thousands } from "../format";
import { abiOf, blocks, client } from "../node";
import { useLoad } from "../load";
import { BlockLink, Coins, Empty, Fields, Hex, Link, Name, Said, Section, Show, Status, Tabs, TimeOf, Title, Who } from "../parts";
import { What } from "../transactions";

import { Trace } from "./trace";

type Id = `0x${string}`;

/** Shown is a value of an ABI's type: an account is a link, all else is text. */
export function Shown({ value }: { value: Value }): JSX.Element {
  if (value.type === "account") return <Who id={value.text} />;
  if (value.type === "string") return <Said text={value.text} most={200} />;
  if (/^-?\d+$/.test(value.text)) return <span class="num">{thousands(BigInt(value.text))}</span>;
  return <span class="mono whole">{chainText(value.text, 400)}</span>;
}

export function Values({ values }: { values: Value[] }): JSX.Element {
  if (values.length === 0) return <span class="muted">no arguments</span>;
  return (
    <dl class="values">
      {values.map((value, i) => (
        <div key={i}>
          <dt>
            {chainText(value.name)} <span class="type">{chainText(value.type, 24)}</span>
          </dt>
          <dd>
            <Shown value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Raw({ data, what }: { data: string; what: string }): JSX.Element {
  if (data === "0x") return <span class="muted">none</span>;
  const text = lossyText(data);
  return (
    <>
      {text !== undefined && <Said text={text} most={2000} />}
      <details>
        <summary>{thousands((data.length - 2) / 2)} bytes</summary>
        <div class="bytes">
          <Hex of={data.length > 8000 ? `${data.slice(0, 8000)}…` : data} what={what} />
        </div>
      </details>
    </>
  );
}

export function Tx({ id }: { id: Id }): JSX.Element {
  const head = blocks.value[0]?.hash ?? "";
  const [found, setFound] = useState("");
  const loaded = useLoad(`tx ${id}@${found || head}`, async () => {
    const [tx, receipt] = await Promise.all([
      client.call("svc_getTransactionByHash", id),
      client.call("svc_getTransactionReceipt", id),
    ]);
    if (receipt) setFound(receipt.blockHash);
    const abi = tx?.type === "call" ? await abiOf(tx.to) : null;
    return { tx, receipt, abi };
  });
  return (
    <Show of={loaded} what="The transaction" title="Transaction">
      {({ tx, receipt, abi }) =>
        tx ? (
          <Found tx={tx} receipt={receipt} abi={abi} />
        ) : (
          <>
            <Title>Transaction</Title>
            <Empty>
              Not known to this node. It may be pending elsewhere: this page keeps looking as blocks are made.
            </Empty>
          </>
        )
      }
    </Show>
  );
}

function Found({
  tx,
  receipt,
  abi,
}: {
  tx: rpc.Transaction;
  receipt: rpc.Receipt | null;
  abi: rpc.ABI | null;
}): JSX.Element {
  const fee = receipt ? receipt.gasUsed * receipt.effectiveGasPrice : null;
  const reason = receipt?.status === 0n && receipt.error === "reverted" ? reasonOf(abi, receipt.returnData) : undefined;
  return (
    <>
      <Title
        sub={
          <>
            <Status of={tx.status} error={tx.error} />
            {reason !== undefined && (
              <>
                {" "}
                — <Said text={reason} most={300} />
              </>
            )}
          </>
        }
      >
        Transaction
      </Title>
      <Section title="Overview">
        <Fields
          rows={[
            ["Hash", <Hex of={tx.hash} what="the transaction's hash" />],
            [
              "Block",
              tx.blockHeight === null ? (
                <span class="waiting">◷ waits for a block</span>
              ) : (
                <>
                  <BlockLink height={tx.blockHeight} />, index {thousands(tx.transactionIndex ?? 0)},{" "}
                  <TimeOf height={tx.blockHeight} exact />
                </>
              ),
            ],
            ["What", <What tx={tx} />],
            ["From", <Who id={tx.from} />],
            [tx.type === "deploy" ? "Creates" : "To", <Who id={tx.to} />],
            [
              "Value",
              <>
                <Coins amount={tx.value} /> coins
              </>,
            ],
            [
              "Fee",
              fee === null ? (
                <>
                  at most <Coins amount={tx.gasLimit * tx.maxFeePerGas} /> coins
                </>
              ) : (
                <>
                  <Coins amount={fee} /> coins{" "}
                  <span class="muted">at {thousands(receipt!.effectiveGasPrice)} units a gas</span>
                </>
              ),
            ],
            [
              "Gas",
              <>
                <span class="num">{receipt ? thousands(receipt.gasUsed) : "…"}</span> of {thousands(tx.gasLimit)}
              </>,
            ],
            [
              "Offer",
              <>
                at most {thousands(tx.maxFeePerGas)} a gas, priority {thousands(tx.maxPriorityFeePerGas)}
              </>,
            ],
            ["Nonce", <span class="num">{thousands(tx.nonce)}</span>],
          ]}
        />
      </Section>
      {tx.input && <Input tx={tx} abi={abi} receipt={receipt} />}
      {receipt && receipt.logs.length > 0 && (
        <Section title={`Events ${receipt.logs.length}`}>
          <ol class="events">
            {receipt.logs.slice(0, 200).map((log) => (
              <LogRow
                key={log.logIndex}
                contract={log.address}
                name={log.eventName}
                data={log.data}
                topics={log.topics}
              />
            ))}
          </ol>
          {receipt.logs.length > 200 && <p class="muted">The first 200 are shown.</p>}
        </Section>
      )}
      {receipt && (tx.type === "call" || tx.type === "deploy") && <Trace of={receipt} />}
    </>
  );
}

function Input({
  tx,
  abi,
  receipt,
}: {
  tx: rpc.Transaction;
  abi: rpc.ABI | null;
  receipt: rpc.Receipt | null;
}): JSX.Element {
  const [shown, show] = useState<"Decoded" | "Raw">("Decoded");
  const { input } = tx;
  const declared = abi?.functions.find((f) => f.name === input?.function);
  const values = declared && decodeArguments(declared.args, input?.args ?? "0x", abi ?? {});
  const result = receipt?.status === 1n ? decodeResult(declared?.returns, receipt.returnData, abi ?? {}) : undefined;
  if (tx.type === "configure")
    return (
      <Section title="Parameters">
        <Fields
          rows={Object.entries(input?.parameters ?? {}).map(([name, value]) => [
            name.replace(/_/g, " "),
            <span class="mono whole">{String(value)}</span>,
          ])}
        />
      </Section>
    );
  return (
    <Section
      title={tx.type === "deploy" ? "Deploy" : "Call"}
      extra={values && <Tabs names={["Decoded", "Raw"] as const} at={shown} go={show} />}
    >
      <Fields
        rows={[
          ...(tx.type === "deploy"
            ? ([
                ["Name", <Name text={input?.name ?? ""} />],
                [
                  "Code",
                  input?.copyOf ? (
                    <>
                      that of <Link to={`contract/${input.copyOf}`}>{input.copyOf}</Link>
                    </>
                  ) : (
                    <>
                      {thousands(input?.codeSize ?? 0)} bytes, <Hex of={input?.codeHash ?? ""} what="the code's hash" />
                    </>
                  ),
                ],
              ] as [string, ComponentChildren][])
            : ([["Function", <Said text={input?.function ?? ""} code />]] as [string, ComponentChildren][])),
          [
            "Arguments",
            values && shown === "Decoded" ? (
              <Values values={values} />
            ) : (
              <Raw data={input?.args ?? "0x"} what="the arguments" />
            ),
          ],
          [
            "Returned",
            receipt === null || receipt.status === 0n ? null : result && shown === "Decoded" ? (
              <Shown value={result} />
            ) : (
              <Raw data={receipt.returnData} what="the result" />
            ),
          ],
        ]}
      />
    </Section>
  );
}

/** reasonOf is why a call reverted; undefined where it gave none. */
function reasonOf(abi: rpc.ABI | null, data: string): string | undefined {
  return data === "0x" ? undefined : revertText(abi, data);
}

export function LogRow({
  contract,
  name,
  data,
  topics,
  extra,
}: {
  contract: Id;
  name: string;
  data: string;
  topics: readonly string[];
  extra?: ComponentChildren;
}): JSX.Element {
  const payment = /^0x0{64}$/.test(contract) && name === "NativeTransfer";
  const abi = useLoad(`abi ${contract}`, () => (payment ? Promise.resolve(null) : abiOf(contract)));
  const declared = abi.value?.events.find((event) => event.name === name);
  const values = declared && decodeArguments(declared.args, data, abi.value ?? {});
  return (
    <li>
      <p>
        <Said text={name} code /> <span class="muted">of</span> <Who id={contract} />
        {extra}
      </p>
      {payment && topics.length >= 3 && /^0x[0-9a-f]{16}$/.test(data) ? (
        <p class="indent">
          <Who id={topics[1]!} /> → <Who id={topics[2]!} /> <Coins amount={littleEndian(data)} /> coins
        </p>
      ) : (
        <div class="indent">{values ? <Values values={values} /> : <Raw data={data} what="the event's data" />}</div>
      )}
    </li>
  );
}

/** littleEndian reads the eight bytes of a native amount (docs/protocol.md, "NativeTransfer"). */
export function littleEndian(hex: string): bigint {
  return BigInt(`0x${(hex.slice(2).match(/../g) ?? []).reverse().join("")}`);
}
