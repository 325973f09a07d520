// The rules that a chain's admin may change, and an upgrade that they announce.
import type { rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { bytes, percent, span, thousands } from "../format";
import { info } from "../node";
import { Fields, Link, Who } from "../parts";
import { Milliseconds } from "./policy";

export function ParametersOf({ of }: { of: rpc.Parameters }): JSX.Element {
  return (
    <Fields
      rows={[
        ["Protocol version", String(of.version)],
        ["Gas limit of a block", thousands(of.gas_limit)],
        ["Most bytes of a block", bytes(of.block_bytes)],
        ["Target", percent(of.target_bps / 10_000)],
        [
          "Base fee",
          <>
            {thousands(of.min_base_fee)} to {thousands(of.max_base_fee)}
          </>,
        ],
        ["Producer", <Who id={of.producer} plain />],
        ["Fee recipient", <Who id={of.fee_recipient} />],
        [
          "Admin",
          <>
            <Who id={of.admin} /> <span class="muted">may change all of these, and announce an upgrade of all rules</span>
          </>,
        ],
        ["Notice of an upgrade", of.notice === 0 ? "none" : span(of.notice / 1000)],
        [
          "Upgrade",
          of.upgrade ? (
            <>
              to version {of.upgrade.version} at <Milliseconds at={of.upgrade.from} />
            </>
          ) : (
            "none is announced"
          ),
        ],
      ]}
    />
  );
}

/** UpgradeBanner shows an announced upgrade, and whether this node is ready for it. */
export function UpgradeBanner(): JSX.Element | null {
  const upgrade = info.value?.upgrade;
  if (!upgrade) return null;
  return (
    <p class={upgrade.known ? "banner" : "banner bad"} role={upgrade.known ? "status" : "alert"}>
      The chain goes on with version {upgrade.version} of the protocol at <Milliseconds at={upgrade.from} />.{" "}
      {upgrade.known
        ? "This node knows it."
        : "This node’s program does not know it: it will stop before the first such block, and lose nothing. Install a newer one before then."}{" "}
      <Link to="node">Parameters</Link>
    </p>
  );
}
