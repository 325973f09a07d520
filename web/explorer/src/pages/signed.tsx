import type { JSX } from "preact";
import { signedHeader } from "../check";
import { isDevelopment } from "../node";
import { useLoad } from "../load";
import { Who, explain } from "../parts";

/** Producer shows the key that sealed a block, and whether the seal is valid by this page's own check. */
export function Producer({
  height,
  hash,
  producer,
}: {
  height: number;
  hash: string;
  producer: string;
}): JSX.Element {
  const checked = useLoad(`seal ${hash}`, async () => (height === 0 ? null : signedHeader(height, hash)));
  return (
    <>
      <Who id={producer} plain />{" "}
      {height === 0 ? (
        <span class="muted">genesis is not sealed</span>
      ) : checked.error !== undefined ? (
        <span class="waiting">not checked: {explain(checked.error)}</span>
      ) : checked.value === undefined ? (
        <span class="muted">checking the seal…</span>
      ) : checked.value ? (
        <span class="ok">✓ seal checked here</span>
      ) : (
        <span class="failed">✗ the seal does not hold</span>
      )}
    </>
  );
}

export function DevelopmentOr(): JSX.Element {
  return isDevelopment() ? (
    <>
      until <code>dev_revert</code> takes it back
    </>
  ) : (
    <>for whoever trusts the producer: no node takes it back</>
  );
}
