import type { rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { gasOf } from "../decode";
import { coins, lossyText, thousands } from "../format";
import { client } from "../node";
import { useLoad } from "../load";
import { Empty, Said, Section, Show, Who } from "../parts";
import { Writes } from "./storage";

/** Trace shows a transaction call by call, with the use of its gas. */
export function Trace({ of: { transactionHash, gasUsed } }: { of: rpc.Receipt }): JSX.Element {
  const trace = useLoad(`trace ${transactionHash}`, () => client.call("svc_traceTransaction", transactionHash));
  return (
    <Section title="Trace">
      <Show of={trace} what="The trace">
        {(found) =>
          !found?.root ? (
            <Empty>No contract ran.</Empty>
          ) : (
            <>
              <Sum gasUsed={gasUsed} calls={[found.root, ...found.further]} />
              <ul class="tree">
                {[found.root, ...found.further].map((call, i) => (
                  <CallRow key={i} call={call} depth={0} />
                ))}
              </ul>
              {found.truncated && <p class="muted">There was more than a trace holds: what is beyond is left out.</p>}
            </>
          )
        }
      </Show>
    </Section>
  );
}

function Sum({ gasUsed, calls }: { gasUsed: bigint; calls: rpc.TraceCall[] }): JSX.Element {
  const took = calls.reduce((sum, call) => sum + call.gasUsed, 0n);
  return (
    <p class="sum num">
      {thousands(gasUsed)} gas = {thousands(gasUsed - took)} for the transaction itself + {thousands(took)} for{" "}
      {calls.length === 1 ? "its call" : `its ${thousands(calls.length)} calls`}
    </p>
  );
}

function CallRow({ call, depth }: { call: rpc.TraceCall; depth: number }): JSX.Element {
  const gas = gasOf(call);
  const hosts = [...Object.entries(call.hostGas), ...Object.entries(call.parts)]
    .filter(([, took]) => took > 0n)
    .sort(([, a], [, b]) => (a < b ? 1 : -1));
  const said = call.error === "reverted" ? lossyText(call.output) : undefined;
  return (
    <li>
      <details open={depth < 3}>
        <summary>
          <Who id={call.contract} text />
          <span class="muted">.</span>
          <Said text={call.function} code />
          {call.view && <span class="tag">view</span>}
          {call.value > 0n && <span class="tag">{coins(call.value)} coins</span>}
          {call.error && (
            <span class="failed">
              {" "}
              ✗ {call.error.replace(/_/g, " ")}
              {said !== undefined && (
                <>
                  : <Said text={said} most={200} />
                </>
              )}
            </span>
          )}
          <span class="sum num">
            {thousands(call.gasUsed)} = {thousands(gas.own)} own + {thousands(gas.host)} host
            {gas.below > 0n && <> + {thousands(gas.below)} below</>}
          </span>
        </summary>
        <p class="hosts">
          <span>
            of <Who id={call.contract} />, called by <Who id={call.caller} />
          </span>
        </p>
        {hosts.length > 0 && (
          <p class="hosts">
            {hosts.map(([name, took]) => (
              <span key={name} class="num">
                <code>{name}</code> {thousands(took)}
              </span>
            ))}
          </p>
        )}
        {call.events.length > 0 && (
          <p class="muted">
            emits{" "}
            {call.events.map((event, i) => (
              <span key={i}>
                <Said text={event.eventName} code />{" "}
              </span>
            ))}
          </p>
        )}
        {call.storage.length > 0 && <Writes of={call} />}
        {call.debug.length > 0 && (
          <ul class="writes">
            {call.debug.slice(0, 50).map((line, i) => (
              <li key={i}>
                <Said text={line} most={200} />
              </li>
            ))}
          </ul>
        )}
        {call.calls.length > 0 && (
          <ul>
            {call.calls.map((below, i) => (
              <CallRow key={i} call={below} depth={depth + 1} />
            ))}
          </ul>
        )}
      </details>
    </li>
  );
}
