// Components of the pages.
import { HttpError, RpcError, UnreachableError, formatAddress, formatMemo } from "@cairn-chain/sdk";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { devName } from "./dev";
import { chainText, coins, shortAddress, shortHex, thousands, utc, when } from "./format";
import { labels } from "./labels";
import { passes, useLoad, type Loaded } from "./load";
import { contractOf, headerOf, isDevelopment, network, now } from "./node";
import { BASE } from "./route";

type Id = `0x${string}`;

/**
 * Show shows the loaded value, grey bars until it arrives, or the reason for a failure. title is the heading while
 * children, which have their own heading, cannot be shown yet.
 */
export function Show<T>({
  of,
  what,
  title,
  children,
}: {
  of: Loaded<T>;
  what: string;
  title?: string;
  children: (value: T) => ComponentChildren;
}): JSX.Element {
  const heading = title !== undefined && <Title>{title}</Title>;
  if (of.error !== undefined)
    return (
      <>
        {heading}
        <Failure error={of.error} what={what} again={of.reload} />
      </>
    );
  if (of.value === undefined)
    return (
      <>
        {heading}
        <Loading what={what} />
      </>
    );
  return <>{children(of.value)}</>;
}

export function Failure({ error, what, again }: { error: unknown; what: string; again?: () => void }): JSX.Element {
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{what} could not be loaded.</strong> {explain(error)}
        {passes(error) && " This page asks again by itself."}
      </p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** explain describes an error as text. */
export function explain(error: unknown): string {
  if (error instanceof RpcError) {
    if (error.is("pruned")) return `This node keeps blocks from ${thousands(Number(error.data["oldestHeight"]))}.`;
    if (error.is("stateless")) return "This node verifies blocks by their proofs and keeps no state: ask another.";
    return `The node answered: ${chainText(error.message, 300)} (${error.reason ?? error.code}).`;
  }
  if (error instanceof HttpError && error.status === 401) return "The node asks for an API key.";
  if (error instanceof HttpError) return `${error.message[0]!.toUpperCase()}${error.message.slice(1)}.`;
  if (error instanceof UnreachableError || error instanceof TypeError) return "The node does not answer.";
  return error instanceof Error ? chainText(error.message, 300) : "Something went wrong.";
}

/** Nothing says that the chain has nothing of an account yet, and on a development chain how to change that. */
export const Nothing = ({ of, id }: { of: string; id: string }): JSX.Element => (
  <Empty>
    No {of} yet.
    {isDevelopment() && (
      <>
        {" "}
        <code class="whole">cairn fund {formatAddress(id as Id, network())}</code> sends some coins.
      </>
    )}
  </Empty>
);

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** Copy is a button that copies a text to the clipboard. */
export function Copy({ text, what }: { text: string; what: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => {
        setDone(true);
        setTimeout(() => setDone(false), 1200);
      },
      () => setDone(false),
    );
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`Copy ${what}`} title={`Copy ${what}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {done ? <path d="M3 8.5l3.5 3.5L13 4.5" /> : <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />}
      </svg>
    </button>
  );
}

interface LinkProps {
  /** the page's path below /explorer/ */
  to: string;
  children: ComponentChildren;
  class?: string;
  title?: string;
  "aria-label"?: string;
  "aria-current"?: "page" | undefined;
  "data-key"?: string;
}

export const Link = ({ to, ...rest }: LinkProps): JSX.Element => <a href={`${BASE}/${to}`} {...rest} />;

export const TxLink = ({ hash, keep = 6 }: { hash: string; keep?: number }): JSX.Element => (
  <Link to={`tx/${hash}`} class="mono" title={hash}>
    {shortHex(hash, keep)}
  </Link>
);
export const BlockLink = ({ height }: { height: number }): JSX.Element => (
  <Link to={`block/${height}`} class="num">
    {thousands(height)}
  </Link>
);

/** Name shows a name that somebody chose on the chain: in quotes, as text, and always next to the named item. */
export const Name = ({ text }: { text: string }): JSX.Element => (
  <bdi class="name" title={chainText(text)}>
    “{chainText(text)}”
  </bdi>
);

/**
 * Said shows any other text from the chain, such as a symbol or an event's name: in quotes, as text, and limited in
 * length.
 */
export const Said = ({ text, most, code }: { text: string; most?: number; code?: boolean }): JSX.Element => (
  <bdi class={code ? "said mono" : "said"}>“{chainText(text, most)}”</bdi>
);

/** TokenLink links to a token's page. It shows the ID too, because two tokens may have the same name. */
export const TokenLink = ({ id, name }: { id: string; name: string }): JSX.Element => (
  <Link to={`token/${id}`} class="who" title={id}>
    <Name text={name} /> <span class="mono">{shortHex(id)}</span>
  </Link>
);

const ZERO = `0x${"0".repeat(64)}`;

/**
 * Who shows an account or contract in short form, as a link or, if a link is not possible, as text. The zero account is
 * shown as nobody.
 */
export function Who({ id, plain, text }: { id: string; plain?: boolean; text?: boolean }): JSX.Element {
  if (id === ZERO) return <span class="muted">nobody</span>;
  const dev = devName(id);
  const named = labels.value[id];
  const contract = plain || dev ? null : contractOf(id as Id);
  const address = contract ? id : formatAddress(id as Id, network());
  const shown = contract ? (
    <>
      {named !== undefined && <span class="chip">{chainText(named)}</span>}
      {contract.name !== "" && <Name text={contract.name} />} <span class="mono">{shortHex(id)}</span>
    </>
  ) : (
    <>
      {(named ?? dev) && <span class="chip">{named === undefined ? dev : chainText(named)}</span>}
      <span class="mono">{shortAddress(id, network())}</span>
    </>
  );
  if (text) return <span class="who">{shown}</span>;
  return (
    <Link to={`${contract ? "contract" : "account"}/${id}`} class="who" title={address}>
      {shown}
    </Link>
  );
}

export const Coins = ({ amount }: { amount: bigint }): JSX.Element => (
  <span class="num" title={`${thousands(amount)} units`}>
    {coins(amount)}
  </span>
);

/** Memo shows a payment's memo: in quotes as text, or in hex if it is not text. */
export const Memo = ({ of }: { of: string | null }): JSX.Element | null =>
  of === null ? null : (
    <span class="memo">
      {" "}
      <Said text={formatMemo(of as Id)} most={66} />
    </span>
  );

/**
 * Time shows a time given in Unix seconds: relative to now, with UTC in the tooltip, or the reverse if exact is set.
 */
export function Time({ at, exact }: { at: number; exact?: boolean }): JSX.Element {
  const [shown, other] = exact ? [utc(at), when(at, now.value)] : [when(at, now.value), utc(at)];
  return (
    <time class="num" dateTime={iso(at)} title={other}>
      {shown}
    </time>
  );
}
const iso = (at: number): string | undefined => (at < 8e12 ? new Date(at * 1000).toISOString() : undefined);

/** TimeOf shows the time of a block, which it loads if necessary. */
export function TimeOf({ height, exact }: { height: number | null; exact?: boolean }): JSX.Element {
  const at = useLoad(`time ${height}`, async () =>
    height === null ? null : ((await headerOf(height))?.timestamp ?? null),
  );
  if (height === null) return <span class="waiting">pending</span>;
  return at.value ? <Time at={at.value} exact={exact === true} /> : <span class="muted">…</span>;
}

/** Status shows a word and a sign, never only a colour. */
export function Status({ of, error }: { of: string; error?: string | null }): JSX.Element {
  if (of === "success") return <span class="ok">✓ Success</span>;
  if (of === "failed")
    return <span class="failed">✗ {error ? `Failed: ${error.replace(/_/g, " ")}` : "Failed"}</span>;
  return <span class="waiting">◷ {of === "pending" ? "Pending" : "Unknown"}</span>;
}

export function Fields({ rows }: { rows: [string, ComponentChildren][] }): JSX.Element {
  return (
    <dl class="fields">
      {rows
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Hex({ of, what }: { of: string; what: string }): JSX.Element {
  return (
    <span class="whole">
      <span class="mono">{of}</span> <Copy text={of} what={what} />
    </span>
  );
}

/** Placeholder for content that is not loaded yet. */
export function Loading({ what }: { what?: string }): JSX.Element {
  return (
    <div class="bars" aria-busy="true">
      <span class="sr">Loading {what}</span>
      <i />
      <i />
      <i />
    </div>
  );
}

/** Title is a page's heading, which gets the focus when the page opens. */
export function Title({ children, sub }: { children: ComponentChildren; sub?: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const busy = document.activeElement?.matches("input, select, textarea"); // does not interrupt a user who is typing
    if (document.body.dataset["moved"] && !busy) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="title">
      <h1 tabIndex={-1} ref={heading}>
        {children}
      </h1>
      {sub && <p class="sub">{sub}</p>}
    </div>
  );
}

/** Section is a part of a page under a heading. */
export function Section({
  title,
  extra,
  children,
}: {
  title: string;
  extra?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {extra}
      </header>
      {children}
    </section>
  );
}

/** Table is a list whose rows become cards on a narrow screen, so each cell has its own label. */
export function Table({
  caption,
  columns,
  rows,
}: {
  caption: string;
  columns: string[];
  rows: { key: string; cells: ComponentChildren[]; class?: string }[];
}): JSX.Element {
  return (
    <table>
      <caption class="sr">{caption}</caption>
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col" class={name.endsWith(" ") ? "right" : ""}>
              {name.trim()}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells, class: kind }) => (
          <tr key={key} class={kind}>
            {cells.map((cell, i) => (
              <td key={i} data-label={columns[i]!.trim()} class={columns[i]!.endsWith(" ") ? "right" : ""}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Tabs<T extends string>({
  names,
  at,
  go,
}: {
  names: readonly T[];
  at: T;
  go: (name: T) => void;
}): JSX.Element {
  return (
    <div class="tabs" role="group" aria-label="Parts of this page">
      {names.map((name) => (
        <button type="button" key={name} aria-pressed={name === at} onClick={() => go(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}
