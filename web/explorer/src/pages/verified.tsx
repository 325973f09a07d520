// The explanation of a checked value: the checks, the trusted key, and the limits of the checks.
import { RpcError } from "@cairn-chain/sdk";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { authority } from "../authority";
import { hasVerifier, verifyBlock, type Checked } from "../check";
import { chainText, thousands } from "../format";
import { client, info } from "../node";
import type { Loaded } from "../load";
import { BlockLink, Link, Time, Who, explain } from "../parts";

/** Authority names the source of the producer's key, in words. */
export function Authority(): JSX.Element | null {
  const known = authority.value;
  if (!known) return null;
  return (
    <>
      The seal of <Who id={known.producer} plain />,{" "}
      {known.by === "person" ? (
        <>which you entered as the producer’s key</>
      ) : (
        <>which this node named as the producer’s when this browser first saw the chain</>
      )}{" "}
      (<Time at={known.since} />
      ). <Link to="node">Compare it with your genesis, or enter another</Link>.
    </>
  );
}

interface Step {
  name: string;
  holds: boolean;
  says: ComponentChildren;
}

export const Steps = ({ steps, rest }: { steps: Step[]; rest: ComponentChildren }): JSX.Element => (
  <ul class="steps-list">
    {steps.map(({ name, holds, says }) => (
      <li key={name}>
        <span class={holds ? "ok" : "failed"}>
          {holds ? "✓" : "✗"} {name}
        </span>{" "}
        <span class="says">{says}</span>
      </li>
    ))}
    <li>
      <span class="muted">– Not shown</span> <span class="says">{rest}</span>
    </li>
  </ul>
);

type Proven<T> =
  | null
  | "loading"
  | { failed: string }
  | { checked: Checked<T>; steps: Step[] };

/**
 * Verified shows how far a value was checked. `what` names the value, as in "the balance", and `how` the method.
 * `again` checks it after another block, `show` writes it, and `brief` is for lists.
 */
export function Verified<T>({
  of,
  what,
  how,
  again,
  show,
  brief,
}: {
  of: Loaded<Checked<T>>;
  what: string;
  how: string;
  brief?: boolean;
  again(height: number): Promise<Checked<T>>;
  show(value: T): ComponentChildren;
}): JSX.Element {
  if (of.error !== undefined) return <Unverified error={of.error} />;
  if (!of.value) return <span class="muted checking">checking here…</span>;
  const { header } = of.value;
  return (
    <details class="verified">
      <summary>
        <span class="ok">✓ verified here</span>{" "}
        {!brief && <span class="muted">at block {thousands(header.height)}, no node believed</span>}
      </summary>
      <Steps
        steps={[
          {
            name: "Header",
            holds: true,
            says: (
              <>
                block <BlockLink height={Number(header.height)} /> of chain {String(header.chainId)} carries the
                producer’s seal
              </>
            ),
          },
          { name: "State", holds: true, says: <>{how}, under that header’s state root</> },
        ]}
        rest={
          <>
            that the block is the newest (its time is <Time at={Number(header.timestamp / 1000n)} />
            ), and that the producer executed rightly: a block’s proof and a replica show that
          </>
        }
      />
      <p>
        <strong>Authority.</strong> <Authority />
      </p>
      <ByProof what={what} again={again} show={show} />
    </details>
  );
}

/** Unverified explains why a value is only the node's claim. An invalid proof is an alarm; other reasons are not. */
export function Unverified({ error }: { error: unknown }): JSX.Element {
  const name = error instanceof Error ? error.name : "";
  if (name === "VerifyError")
    return (
      <span class="failed" role="alert">
        ✗ {explain(error)} {authority.value && <Authority />}
      </span>
    );
  const reason = error instanceof RpcError && error.is("proof_window") ? "the block is too old for it" : explain(error);
  return <span class="waiting">– not verified, the node’s word: {reason}</span>;
}

/** ByProof checks the value again, after the newest block with a STARK proof, and verifies that proof too. */
function ByProof<T>({
  what,
  again,
  show,
}: {
  what: string;
  again(height: number): Promise<Checked<T>>;
  show(value: T): ComponentChildren;
}): JSX.Element {
  const [state, setState] = useState<Proven<T>>(null);
  if (state === null && !info.value?.proofs)
    return <p class="muted by-proof">This node has no STARK proof of a block, or none yet.</p>;
  if (!hasVerifier)
    return (
      <p class="muted by-proof">
        This program was built without the verifier of STARK proofs for pages; <code>make build</code> puts it in.
      </p>
    );
  const run = async (): Promise<void> => {
    setState("loading");
    try {
      const { proofs } = await client.call("svc_getNodeInfo");
      if (!proofs) return setState({ failed: "this node has no proof of a block yet" });
      const height = proofs.newest;
      const [checked, answer] = await Promise.all([again(height), verifyBlock(height)]);
      if ("refused" in answer) return setState({ failed: answer.refused });
      const { verdict } = answer;
      const root = checked.header.stateRoot;
      setState({
        checked,
        steps: [
          {
            name: "Proof",
            holds: verdict.postRoot === root && verdict.height === height && BigInt(verdict.chainId) === checked.header.chainId,
            says: (
              <>
                block <BlockLink height={height} />
                ’s STARK proof, {verdict.securityBits} proven bits: exactly {thousands(verdict.writes)} writes lead from
                the state before to the root that {what} is under
              </>
            ),
          },
        ],
      });
    } catch (error) {
      setState({ failed: explain(error) });
    }
  };
  return (
    <div class="by-proof" aria-live="polite">
      {state === null || state === "loading" ? (
        <p>
          <button type="button" disabled={state === "loading"} onClick={() => void run()}>
            {state === "loading" ? "Verifying…" : "Verify the STARK proof of a block too"}
          </button>{" "}
          <span class="muted">loads the verifier, 1 MB</span>
        </p>
      ) : "failed" in state ? (
        <p class="waiting">
          – No proof verified: {chainText(state.failed, 300)}{" "}
          <button type="button" onClick={() => void run()}>
            Try again
          </button>
        </p>
      ) : (
        <>
          <p>
            After the newest block with a proof, {what} is <strong>{show(state.checked.value)}</strong>:
          </p>
          <Steps
            steps={state.steps}
            rest="that the transactions do what the list of writes says: executing them on it shows that"
          />
        </>
      )}
    </div>
  );
}
