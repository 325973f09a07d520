import { parseCoins, type rpc } from "@cairn-chain/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { devAccounts, devName } from "../dev";
import { readRecipient } from "../accounts";
import { thousands } from "../format";
import { Section, TxLink, explain } from "../parts";

type State = null | "waiting" | { receipt: rpc.Receipt } | { error: unknown };

/** SendCoins sends from a development account; it shows nothing for other accounts. */
export function SendCoins({ id }: { id: string }): JSX.Element | null {
  const [state, setState] = useState<State>(null);
  const name = devName(id);
  if (name === undefined) return null;
  const send = async (form: FormData): Promise<void> => {
    setState("waiting");
    try {
      const to = await readRecipient(String(form.get("to") ?? ""));
      const value = parseCoins(String(form.get("amount") ?? "").trim());
      const { send } = await import("../send");
      setState({ receipt: await send(devAccounts.indexOf(id as `0x${string}`), { type: "transfer", to, value }) });
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <Section title={`Send as ${name}`} extra={<span class="muted">its key is public: on development chains only</span>}>
      <form
        class="send"
        onSubmit={(event) => {
          event.preventDefault();
          void send(new FormData(event.currentTarget));
        }}
      >
        <label>
          To <input name="to" required placeholder="Address, key or dev1" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          Coins <input name="amount" required inputMode="decimal" placeholder="1.5" autocomplete="off" />
        </label>
        <button type="submit" disabled={state === "waiting"}>
          {state === "waiting" ? "Sending…" : "Sign and send"}
        </button>
        <output aria-live="polite">
          {state === null || state === "waiting" ? null : "receipt" in state ? (
            <span class="ok">
              ✓ in block {thousands(state.receipt.blockHeight)}: <TxLink hash={state.receipt.transactionHash} />
            </span>
          ) : (
            <span class="failed">✗ {explain(state.error)}</span>
          )}
        </output>
      </form>
    </Section>
  );
}
