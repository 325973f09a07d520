import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { bytes, chainText, thousands } from "../format";
import { headerOf, info } from "../node";
import { Empty, Fields, Link, Section, Title, explain } from "../parts";
import { authority } from "../authority";
import { Authority, Steps } from "./verified";
import { signedHeader, verifyBlock, type Verdict } from "../check";

type Step = { name: string; holds: boolean; says: string };
type State =
  | null
  | "loading"
  | { steps: Step[]; verdict: Verdict; size: number; took: number }
  | { refused: string }
  | { missing: true };

export function Proof({ height }: { height: number }): JSX.Element {
  const [state, setState] = useState<State>(null);
  const proofs = info.value?.proofs;
  const run = async (): Promise<void> => {
    setState("loading");
    try {
      const [answer, header] = await Promise.all([verifyBlock(height), headerOf(height)]);
      if (!("verdict" in answer)) return setState(answer);
      const { verdict, took, size } = answer;
      const signed = await signedHeader(height, verdict.blockHash).catch(() => false);
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
            says: "the root that the proof ends at is the header’s",
          },
          {
            name: "Signature",
            holds: signed && verdict.producer === authority.value?.producer,
            says: `the header carries the signature of the chain’s producer, ${verdict.producer}`,
          },
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
              <Steps
                steps={state.steps}
                rest="that the transactions do what the list of writes says (executing them on it shows that), and that this is the newest block"
              />
              <Fields
                rows={[
                  [
                    "Authority",
                    <>
                      <Authority /> Nobody is trusted for the proof itself.
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
