import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { chainText, thousands } from "../format";
import { MAX_LABEL, addLabels, label, labels } from "../labels";
import { Empty, Section, Table, Title, Who } from "../parts";
import { saveFile } from "./reach";

/** Label shows this browser's name for an account, and lets the user change it. */
export function Label({ id }: { id: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const name = labels.value[id];
  if (!open)
    return (
      <span>
        {name !== undefined ? <span class="chip">{chainText(name)}</span> : <span class="muted">none</span>}{" "}
        <button type="button" onClick={() => setOpen(true)}>
          {name === undefined ? "Name it" : "Change"}
        </button>{" "}
        <span class="muted">kept in this browser only</span>
      </span>
    );
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        label(id, String(new FormData(event.currentTarget).get("name") ?? ""));
        setOpen(false);
      }}
    >
      <input name="name" aria-label="Label" maxLength={MAX_LABEL} value={name ?? ""} autocomplete="off" autofocus />{" "}
      <button type="submit">Keep</button>
    </form>
  );
}

export function Labels(): JSX.Element {
  const [said, say] = useState<string | null>(null);
  const rows = Object.entries(labels.value).sort(([, a], [, b]) => (a < b ? -1 : 1));
  const save = (): void => saveFile("cairn-labels.json", "application/json", JSON.stringify(labels.value, null, 2));
  const load = async (files: FileList | null): Promise<void> => {
    const file = files?.[0];
    if (!file) return;
    const added = file.size > 1 << 20 ? "The file is over 1 MiB." : addLabels(await file.text());
    say(typeof added === "string" ? `✗ Nothing was taken. ${added}` : `✓ ${thousands(added)} taken`);
  };
  return (
    <>
      <Title sub="Your own names of accounts on this chain. They are kept in this browser only.">Labels</Title>
      <Section title={`Labels ${thousands(rows.length)}`}>
        {rows.length === 0 ? (
          <Empty>None yet. The page of an account or contract has a field for one.</Empty>
        ) : (
          <Table
            caption="Labels of accounts"
            columns={["Label", "Account", ""]}
            rows={rows.map(([id, name]) => ({
              key: id,
              cells: [
                chainText(name),
                <Who id={id} />,
                <button type="button" onClick={() => label(id, "")} aria-label={`Remove the label ${chainText(name)}`}>
                  Remove
                </button>,
              ],
            }))}
          />
        )}
        <p class="note">
          <button type="button" disabled={rows.length === 0} onClick={save}>
            Save as a file
          </button>{" "}
          <label class="file">
            Take from a file{" "}
            <input type="file" accept="application/json,.json" onChange={(e) => void load(e.currentTarget.files)} />
          </label>{" "}
          <span role="status">{said}</span>
        </p>
      </Section>
    </>
  );
}
