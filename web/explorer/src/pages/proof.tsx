import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { bytes, chainText, counted, thousands } from "../format";
import { blocks, headerOf, info, now } from "../node";
import { useLoad } from "../load";
import { Copy, Empty, Fields, Link, Section, Show, Title, explain } from "../parts";
import { authority } from "../authority";
import { Authority, Steps } from "./verified";
import { hasVerifier, proofState, signedHeader, verifyBlock, type ProofState, type Verdict } from "../check";

type Step = { name: string; holds: boolean; says: string };
type State =
  | null
  | "loading"
  | { steps: Step[]; verdict: Verdict; size: number; took: number }
  | { refused: string };

/** Proof verifies a block's proof once the node has one. Until then it shows the reason, and asks again. */
export function Proof({ height }: { height: number }): JSX.Element {
  const proofs = info.value?.proofs;
  const [found, setFound] = useState(false);
  const again = found ? "" : `${blocks.value[0]?.hash} ${Math.floor(now.value / 2)}`;
  const loaded = useLoad(`proof ${height}@${again}`, async () => {
    const state = await proofState(height);
    if (state.is === "here") setFound(true);
    return state;
  });
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
      <Show of={loaded} what="Whether there is a proof">
        {(state) =>
          state.is !== "here" ? (
            <Without height={height} state={state} />
          ) : hasVerifier ? (
            <Verifier height={height} />
          ) : (
            <Section title="Verify on a command line">
              <p>
                This program was built without the verifier for pages; <code>make build</code> puts it in.
              </p>
              <Commands height={height} />
            </Section>
          )
        }
      </Show>
    </>
  );
}

/** Commands shows commands that verify a block's proof without these pages. of is the node that has it. */
const Commands = ({ height, of = location.origin }: { height: number; of?: string }): JSX.Element => {
  const text = `cairn proof get ${height} --rpc-url ${of} && cairn proof verify block${height}.proof`;
  return (
    <p class="whole">
      <code>{text}</code> <Copy text={text} what="the commands" />
    </p>
  );
};

/** Without explains why there is no proof to verify. */
function Without({ height, state }: { height: number; state: ProofState }): JSX.Element {
  const proofs = info.value?.proofs;
  return (
    <Section title="Nothing to verify here">
      <div aria-live="polite">
        {state.is === "ahead" ? (
          <Empty>There is no block {thousands(height)} yet.</Empty>
        ) : state.is === "awaited" ? (
          <Empty>
            There is no proof of this block yet:{" "}
            {state.proving ? "it is being made" : `it waits for its turn, ${counted(state.before, "block")} before it`}.
            This page offers to verify it once it is there.
          </Empty>
        ) : (
          <>
            <Empty>
              {proofs
                ? `This node has no proof of this block: it has those of blocks ${thousands(proofs.oldest)} to ${thousands(proofs.newest)}. `
                : "This node has no proofs: it makes none, or has none to keep. "}
              Another node may have it; with its address for URL:
            </Empty>
            <Commands height={height} of="URL" />
          </>
        )}
      </div>
    </Section>
  );
}

function Verifier({ height }: { height: number }): JSX.Element {
  const [state, setState] = useState<State>(null);
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
            holds: verdict.blockHash === header?.hash && verdict.chainId === info.value?.chain_id,
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
        {state === null || state === "loading" ? null : "refused" in state ? (
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
              A page that the node itself serves could be another page. Whoever trusts no node has the program from
              elsewhere, and runs:
            </p>
            <Commands height={height} />
          </>
        )}
      </div>
    </Section>
  );
}
