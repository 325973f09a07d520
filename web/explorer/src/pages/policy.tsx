// The possible signers of an account, and the signers of a transaction.
import { formatTime, type Policy, type PublicSigner, type Rule, type rpc } from "@cairn-chain/sdk";
import type { ComponentChildren, JSX } from "preact";
import { shortHex, span, thousands } from "../format";
import { now } from "../node";
import { Who } from "../parts";

/** SignerName shows a signer of a policy: a key by its address, another kind by the ends of its point. */
function SignerName({ of }: { of: PublicSigner }): JSX.Element {
  if (of.type === "key")
    return (
      <>
        key <Who id={of.key} plain />
      </>
    );
  return (
    <>
      {of.type === "p256" ? "P-256 key" : "passkey"}{" "}
      <span class="mono" title={of.point}>
        {shortHex(of.point, 6)}
      </span>
      {of.type === "passkey" && (
        <span class="muted">{of.verified ? ", its user verified each time" : ", its user not verified"}</span>
      )}
    </>
  );
}

/** RuleOf lists a rule's signers, and marks those that signed. */
function RuleOf({ rule, signed }: { rule: Rule; signed?: ReadonlyMap<number, string> }): JSX.Element {
  return (
    <>
      {rule.threshold} of {rule.signers.length}
      <ul class="signers">
        {rule.signers.map((signer, i) => (
          <li key={i}>
            <SignerName of={signer} />
            {signed?.has(i) && <span class="ok"> ✓ signed{signed.get(i)}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}

/** PolicyOf shows all of a policy. */
export function PolicyOf({ policy }: { policy: Policy }): JSX.Element {
  return (
    <div class="policy">
      <p>
        Owner: <RuleOf rule={policy.owner} />
      </p>
      {policy.recovery ? (
        <p>
          Recovery, after {span(Number(policy.recovery.delay / 1000n))}: <RuleOf rule={policy.recovery.rule} />
        </p>
      ) : (
        <p class="muted">No recovery: if too few of these signers are left, the account is lost.</p>
      )}
      {policy.number > 0n && <p class="muted">Number {thousands(policy.number)} of these signers.</p>}
    </div>
  );
}

const ways: Record<rpc.Evidence["type"], string> = { key: "", text: " a text (BIP-322)", p256: "", passkey: "" };

/** SignedBy shows how an account signed a transaction. */
export function SignedBy({ witness, recovery }: { witness: rpc.Witness; recovery: boolean }): JSX.Element {
  if (witness.type === "key") return <>its own key</>;
  if (witness.type === "text") return <>its own key, in a Bitcoin wallet that showed the text (BIP-322)</>;
  const rule = recovery ? witness.policy.recovery?.rule : witness.policy.owner;
  const signed = new Map(witness.proofs.map(({ signer, evidence }) => [signer, ways[evidence.type]]));
  return (
    <div class="policy">
      a policy{recovery && <span class="failed">, by its recovery</span>}: {rule && <RuleOf rule={rule} signed={signed} />}
    </div>
  );
}

/** Milliseconds shows a time given in milliseconds, in UTC and relative to now. */
export function Milliseconds({ at }: { at: number }): JSX.Element {
  const away = Math.round(at / 1000) - now.value;
  return (
    <span class="num">
      {formatTime(BigInt(at)) ?? "after the year 9999"}{" "}
      <span class="muted">({away > 0 ? `in ${span(away)}` : `${span(-away)} ago`})</span>
    </span>
  );
}

/** Recovering warns of a pending recovery of an account. The owner can stop it until its time comes. */
export function Recovering({ of: account, recovery }: { of: string; recovery: rpc.PendingRecovery }): JSX.Element {
  const over = recovery.from / 1000 <= now.value;
  const who = recovery.authority === account ? FIRST : recovery.policy ? "these" : <Unknown of={recovery.authority} />;
  return (
    <div class="recovering" role="alert">
      <p>
        <strong class="failed">
          {over ? "✗ A recovery is in force" : "✗ A recovery is under way"}: from <Milliseconds at={recovery.from} />
        </strong>
      </p>
      <p>From then on {who} may sign in place of the signers below{recovery.policy ? ":" : "."}</p>
      {recovery.policy && <PolicyOf policy={recovery.policy} />}
      {!over && <p>Until then the owner can stop it, by setting the policy that is in force once more.</p>}
    </div>
  );
}

/** FIRST names the signer of an account that is its own authority. */
export const FIRST = "who signed first (the account’s own key or the policy whose hash it is)";

/** Authority shows who may sign: an account's own key, or a policy. */
export function Authority({ of, policy, own }: { of: string; policy: rpc.Policy | null; own?: ComponentChildren }): JSX.Element {
  if (policy) return <PolicyOf policy={policy} />;
  return own ? <>{own}</> : <Unknown of={of} />;
}

function Unknown({ of }: { of: string }): JSX.Element {
  return (
    <>
      the policy or key <span class="mono">{shortHex(of, 6)}</span>, which is not known here
    </>
  );
}
