import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { bytes, chainText, thousands } from "../format";
import { headerOf, info } from "../node";
import { Empty, Fields, Link, Section, Title, Who, explain } from "../parts";
import { checkHeader } from "./signed";
import workerPath from "../verify.worker?worker&url";

/** Verdict is what the verifier says of a bundle (proof/wasm/index.d.ts). */
interface Verdict {
  chainId: number;
  height: number;
  blockHash: string;
  parentHash: string;
  producer: string;
  preRoot: string;
  postRoot: string;
  statement: string;
  securityBits: number;
  accesses: number;
  writes: number;
}
type Answer = { verdict: Verdict; took: number } | { refused: string } | { missing: true };
type Step = { name: string; holds: boolean; says: string };
type State =
  | null
  | "loading"
  | { steps: Step[]; verdict: Verdict; size: number; took: number }
  | { refused: string }
  | { missing: true };

/** makeWorker starts the one worker of this page: its policy of Trusted Types makes no other address. */
function makeWorker(): Worker {
  const url = new URL(workerPath, location.href).href;
  const policy = (
    globalThis as {
      trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(text: string): unknown } };
    }
  ).trustedTypes?.createPolicy("cairn-worker", {
    createScriptURL: (text: string) => {
      if (text !== url) throw new TypeError("no worker of this page's");
      return text;
    },
  });
  return new Worker((policy ? policy.createScriptURL(url) : url) as URL, { type: "module" });
}

let worker: Worker | undefined;

/** verify runs the verifier apart from the page: a large block takes it seconds. */
function verify(bundle: ArrayBuffer): Promise<Answer> {
  const running = (worker ??= makeWorker());
  return new Promise((resolve) => {
    running.onmessage = ({ data }) => resolve(data as Answer);
    running.onerror = () => resolve({ refused: "the verifier could not be started" });
    running.postMessage(bundle, [bundle]);
  });
}

export function Proof({ height }: { height: number }): JSX.Element {
  const [state, setState] = useState<State>(null);
  const proofs = info.value?.proofs;
  const run = async (): Promise<void> => {
    setState("loading");
    try {
      const response = await fetch(`/proof/${height}`);
      if (!response.ok) throw new Error(`the node gives no proof of this block: status ${response.status}`);
      const bundle = await response.arrayBuffer();
      const size = bundle.byteLength;
      const [answer, header] = await Promise.all([verify(bundle), headerOf(height)]);
      if (!("verdict" in answer)) return setState(answer);
      const { verdict, took } = answer;
      const signed = await checkHeader(height, verdict.blockHash).catch(() => false);
      setState({
        verdict,
        took,
        size,
        steps: [
          {
            name: "Proof",
            holds: true,
            says: `${verdict.statement}: from the state ${verdict.preRoot} exactly these ${thousands(verdict.writes)} writes lead to ${verdict.postRoot}; ${verdict.securityBits} proven bits`,
          },
          {
            name: "Header",
            holds: verdict.blockHash === header?.hash && verdict.chainId === info.value?.chainId,
            says: "the proof is of this block of this chain, by its hash",
          },
          {
            name: "Roots",
            holds: verdict.postRoot === header?.stateRoot,
            says: "the root that the proof ends at is the header's",
          },
          { name: "Signature", holds: signed, says: `the header carries the signature of ${verdict.producer}` },
        ],
      });
    } catch (error) {
      setState({ refused: explain(error) });
    }
  };
  return (
    <>
      <Title
        sub={
          proofs ? (
            <>
              This node has the proofs of blocks {thousands(proofs.oldest)} to {thousands(proofs.newest)}
            </>
          ) : (
            "This node has no proofs."
          )
        }
      >
        Proof of block <Link to={`block/${height}`}>{thousands(height)}</Link>
      </Title>
      <Section title="Verify in this page">
        <p>
          The proof and its verifier, a program of about 1 MB, come from this node. What is computed is computed by
          your browser.
        </p>
        <p>
          <button type="button" class="primary" onClick={() => void run()} disabled={state === "loading"}>
            {state === "loading" ? "Verifying…" : "Verify in this page"}
          </button>
        </p>
        <div aria-live="polite" aria-busy={state === "loading"}>
          {state === null || state === "loading" ? null : "missing" in state ? (
            <Empty>
              This program was built without the verifier for pages (<code>make build</code> puts it in). On a command
              line: <code>cairn proof verify {height}</code>.
            </Empty>
          ) : "refused" in state ? (
            <p class="failed" role="alert">
              ✗ Not shown: {chainText(state.refused, 300)}
            </p>
          ) : (
            <>
              <ul class="steps-list">
                {state.steps.map(({ name, holds, says }) => (
                  <li key={name}>
                    <span class={holds ? "ok" : "failed"}>
                      {holds ? "✓" : "✗"} {name}
                    </span>{" "}
                    <span class="says">{says}</span>
                  </li>
                ))}
                <li>
                  <span class="muted">– Not shown</span>{" "}
                  <span class="says">
                    that the transactions do what the list of writes says (executing them on it shows that), that the
                    signing key is the chain's, which your genesis says, and that this is the newest block
                  </span>
                </li>
              </ul>
              <Fields
                rows={[
                  [
                    "Authority",
                    <>
                      The signature of <Who id={state.verdict.producer} plain />, which this page took from the node.
                      Nobody else is trusted for the proof itself.
                    </>,
                  ],
                  ["Keys read or written", thousands(state.verdict.accesses)],
                  ["Bundle", bytes(state.size)],
                  ["Verified in", `${thousands(Math.round(state.took))} ms`],
                ]}
              />
              <p class="muted">
                A page that the node itself serves could be another page. Whoever trusts no node takes{" "}
                <code>cairn proof verify</code> or the package of the verifier from elsewhere.
              </p>
            </>
          )}
        </div>
      </Section>
    </>
  );
}
