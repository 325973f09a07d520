import type { rpc } from "@cairn-chain/sdk";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { decodeArguments, decodeResult, revertText, type Value } from "../decode";
import { checkIncluded } from "../check";
import { chainText, lossyText, shortHex, thousands } from "../format";
import { abiOf, blocks, client } from "../node";
import { useLoad } from "../load";
import { BlockLink, Coins, Empty, Fields, Hex, Memo, Name, Said, Section, Show, Status, Tabs, TimeOf, Title, Who } from "../parts";
import { What } from "../transactions";
import { ParametersOf } from "./parameters";
import { FIRST, Milliseconds, PolicyOf, SignedBy } from "./policy";
import { Trace } from "./trace";
import { Authority, Steps as StepList, Unverified } from "./verified";

type Id = `0x${string}`;

/** Shown shows a value of an ABI type: an account as a link, anything else as text. */
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
            ["Signed by", <SignedBy witness={tx.witness} recovery={tx.type === "set_policy" && tx.input?.recovery === true} />],
            targetless.includes(tx.type)
              ? ["To", null]
              : [tx.contract !== undefined ? "Creates" : "To", <Who id={tx.to} />],
            ["Memo", tx.memo === null ? null : <Memo of={tx.memo} />],
            [
              tx.type === "batch" ? "Values together" : "Value",
              <>
                <Coins amount={tx.value} /> coins
              </>,
            ],
            [
              "Fee",
              receipt === null ? (
                <>
                  at most <Coins amount={tx.gasLimit * tx.maxFeePerGas} /> coins
                </>
              ) : (
                <>
                  <Coins amount={receipt.fee} /> coins{" "}
                  <span class="muted">at {thousands(receipt.effectiveGasPrice)} units a gas</span>
                </>
              ),
            ],
            [
              "Fee paid by",
              tx.payer === null ? null : (
                <>
                  <Who id={tx.payer} />
                  {tx.payerWitness && (
                    <>
                      , signed by <SignedBy witness={tx.payerWitness} recovery={false} />
                    </>
                  )}
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
            ["Valid until", tx.validUntil === null ? null : <Milliseconds at={tx.validUntil} />],
            ["Verified", receipt === null ? null : <Inclusion hash={tx.hash} status={receipt.status} />],
          ]}
        />
      </Section>
      {tx.steps && <Steps steps={tx.steps} />}
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
      {receipt && ["call", "deploy", "instantiate", "batch"].includes(tx.type) && <Trace of={receipt} />}
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
  if (input?.parameters)
    return (
      <Section title="Parameters">
        <ParametersOf of={input.parameters} />
      </Section>
    );
  if (tx.type === "set_policy")
    return (
      <Section title={input?.recovery ? "Recovery" : "Policy"}>
        {input?.recovery && (
          <p class="failed">It begins a recovery: what follows is in force after the delay of the policy that signed it.</p>
        )}
        {input?.policy ? <PolicyOf policy={input.policy} /> : <p>From then on {FIRST} may sign.</p>}
      </Section>
    );
  return (
    <Section
      title={tx.type === "call" ? "Call" : tx.type === "deploy" ? "Deploy" : "Instantiate"}
      extra={values && <Tabs names={["Decoded", "Raw"] as const} at={shown} go={show} />}
    >
      <Fields
        rows={[
          ...(tx.type === "call"
            ? ([["Function", <Said text={input?.function ?? ""} code />]] as [string, ComponentChildren][])
            : ([
                ["Name", <Name text={input?.name ?? ""} />],
                [
                  "Code",
                  input?.template !== undefined ? (
                    <>
                      that of <Who id={input.template} />
                    </>
                  ) : (
                    <>
                      {thousands(input?.codeSize ?? 0)} bytes, <Hex of={input?.codeHash ?? ""} what="the code's hash" />
                    </>
                  ),
                ],
              ] as [string, ComponentChildren][])),
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

/** Steps lists the transfers and calls of a batch. */
function Steps({ steps }: { steps: rpc.Step[] }): JSX.Element {
  return (
    <Section title={`Steps ${thousands(steps.length)}`}>
      <ol class="events">
        {steps.map((step, i) => (
          <StepRow key={i} step={step} number={i + 1} />
        ))}
      </ol>
    </Section>
  );
}

function StepRow({ step: { target, value, action }, number }: { step: rpc.Step; number: number }): JSX.Element {
  const abi = useLoad(`abi ${target}`, () => (action.type === "call" ? abiOf(target) : Promise.resolve(null)));
  const declared = action.type === "call" ? abi.value?.functions.find((f) => f.name === action.function) : undefined;
  const values = action.type === "call" && declared && decodeArguments(declared.args, action.args, abi.value ?? {});
  return (
    <li>
      <p>
        <span class="muted num">{number}.</span>{" "}
        {action.type === "transfer" ? (
          <>
            pays <Coins amount={value} /> coins to <Who id={target} />
            <Memo of={action.memo} />
          </>
        ) : (
          <>
            calls <Said text={action.function} code /> of <Who id={target} />
            {value > 0n && (
              <>
                {" "}
                with <Coins amount={value} /> coins
              </>
            )}
          </>
        )}
      </p>
      {action.type === "call" && (
        <div class="indent">{values ? <Values values={values} /> : <Raw data={action.args} what="the arguments" />}</div>
      )}
    </li>
  );
}

/** Inclusion verifies, without trusting a node, that the transaction is in its block, and shows its outcome. */
function Inclusion({ hash, status }: { hash: Id; status: bigint }): JSX.Element {
  const checked = useLoad(`included ${hash}`, () => checkIncluded(hash));
  if (checked.error !== undefined) return <Unverified error={checked.error} />;
  const found = checked.value;
  if (!found) return <span class="muted checking">checking here…</span>;
  const { header, receipt, number, fault } = found;
  const told = BigInt(receipt.status) === status;
  return (
    <details class="verified">
      <summary>
        <span class={told && fault === undefined ? "ok" : "failed"}>
          {told && fault === undefined ? "✓ verified here" : "✗ not as the node says"}
        </span>{" "}
        <span class="muted">in block {thousands(header.height)}, no node believed</span>
      </summary>
      <StepList
        steps={[
          {
            name: "Header",
            holds: true,
            says: (
              <>
                block <BlockLink height={Number(header.height)} /> carries the producer’s seal
              </>
            ),
          },
          { name: "Block", holds: true, says: <>its list of transactions has this one as number {thousands(number)}</> },
          {
            name: "Receipt",
            holds: told,
            says: <>its list of receipts says under that number: {receipt.status === 1 ? "success" : "failed"}</>,
          },
          {
            name: "Signatures",
            holds: fault === undefined,
            says: fault ?? "those of the sender, and of the payer if there is one, hold for this transaction",
          },
        ]}
        rest="that those who signed may sign for these accounts: the state before the block says that"
      />
      <p>
        <strong>Authority.</strong> <Authority />
      </p>
    </details>
  );
}

/** reasonOf returns the reason of a revert; undefined if there is none. */
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
  const protocol = /^0x0{64}$/.test(contract);
  const payment = protocol && name === "NativeTransfer" && topics.length === 3 ? /^0x([0-9a-f]{16})([0-9a-f]{64})?$/.exec(data) : null;
  const abi = useLoad(`abi ${contract}`, () => (protocol ? Promise.resolve(null) : abiOf(contract)));
  const declared = abi.value?.events.find((event) => event.name === name);
  const values = declared && decodeArguments(declared.args, data, abi.value ?? {});
  return (
    <li>
      <p>
        <Said text={name} code /> <span class="muted">of</span> {protocol ? "the protocol" : <Who id={contract} />}
        {extra}
      </p>
      {payment ? (
        <p class="indent">
          <Who id={topics[1]!} /> → <Who id={topics[2]!} /> <Coins amount={littleEndian(`0x${payment[1]}`)} /> coins
          <Memo of={payment[2] === undefined ? null : `0x${payment[2]}`} />
        </p>
      ) : protocol && topics.length === 3 && said[name] ? (
        <p class="indent">
          <Who id={topics[1]!} /> {said[name]}{" "}
          {topics[2] === topics[1] ? "who signed first" : <span class="mono">{shortHex(topics[2]!, 6)}</span>}
          {name === "RecoveryStarted" && data.length === 18 && (
            <>
              {" "}
              from <Milliseconds at={Number(littleEndian(data))} />
            </>
          )}
        </p>
      ) : (
        <div class="indent">{values ? <Values values={values} /> : <Raw data={data} what="the event's data" />}</div>
      )}
    </li>
  );
}

/** Texts for the protocol's own logs about an account or contract. The new value follows each. */
const said: Record<string, string> = {
  PolicySet: "may be signed for by",
  RecoveryStarted: "is to be signed for, unless the owner stops it, by",
  CodeReplaced: "runs from now on the code",
};

/** Payloads whose transactions have no target. The node reports the sender in its place. */
const targetless = ["batch", "set_policy", "configure"];

/** littleEndian reads the eight bytes of a native amount (docs/protocol.md, "NativeTransfer"). */
export function littleEndian(hex: string): bigint {
  return BigInt(`0x${(hex.slice(2).match(/../g) ?? []).reverse().join("")}`);
}
