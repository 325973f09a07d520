// Tools for an account's long lists: a jump to a block or date, and a download of the list.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { thousands } from "../format";
import { readMoment } from "../moment";
import { blocks, headerOf, info } from "../node";
import { explain } from "../parts";

/** heightAt returns the last block up to a time, among those that the node keeps. */
async function heightAt(unix: number): Promise<number> {
  let [low, high] = [info.value?.oldest_height ?? 0, blocks.peek()[0]?.height ?? 0];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const header = await headerOf(middle);
    if (header && header.timestamp <= unix) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Jump makes a list begin at a block or time. null stands for the newest block. */
export function Jump({ at, go }: { at: number | null; go(height: number | null): void }): JSX.Element {
  const [wrong, setWrong] = useState("");
  const asked = useRef(0);
  const jump = async (text: string): Promise<void> => {
    const mine = ++asked.current; // a later request may finish before an earlier one
    const moment = readMoment(text);
    if (text.trim() !== "" && !moment) return setWrong("write a block, or a date such as 2026-11-28 14:30");
    try {
      const head = blocks.peek()[0]?.height ?? 0;
      const height = !moment ? head : "height" in moment ? moment.height : await heightAt(moment.until);
      if (mine !== asked.current) return;
      setWrong("");
      go(height < head ? height : null);
    } catch (error) {
      if (mine === asked.current) setWrong(explain(error));
    }
  };
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        void jump(String(new FormData(event.currentTarget).get("until") ?? ""));
      }}
    >
      <label>
        Up to <input name="until" placeholder="block or date, UTC" size={20} autocomplete="off" />
      </label>
      <button type="submit">Go</button>
      {at !== null && (
        <>
          <span class="muted">up to block {thousands(at)}</span>
          <button type="button" onClick={() => go(null)}>
            Newest
          </button>
        </>
      )}
      <span role="status">{wrong !== "" && <span class="failed">✗ {wrong}</span>}</span>
    </form>
  );
}

/** saveFile hands a text to the browser as a download. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** MOST is the maximum number of lines of a file. A jump leads to later ones. */
export const MOST = 1000;

/** Save makes a CSV file of the list. Its rows contain no commas and no text from the chain. */
export function Save({ name, rows }: { name: string; rows(): Promise<string[][]> }): JSX.Element {
  const [state, setState] = useState<"" | "saving" | { error: unknown }>("");
  const save = async (): Promise<void> => {
    setState("saving");
    try {
      saveFile(`${name}.csv`, "text/csv", (await rows()).map((row) => `${row.join(",")}\n`).join(""));
      setState("");
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <span class="inline">
      <button type="button" disabled={state === "saving"} onClick={() => void save()} title={`At most ${thousands(MOST)}, from here on`}>
        {state === "saving" ? "Saving…" : "Save as CSV"}
      </button>
      <span role="status">{typeof state === "object" && <span class="failed">✗ {explain(state.error)}</span>}</span>
    </span>
  );
}
