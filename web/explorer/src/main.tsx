import { signal } from "@preact/signals";
import { render, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { span, thousands } from "./format";
import { useLoad } from "./load";
import { blocks, info, now, refused, start, stream, sync, takenBack } from "./node";
import { Empty, Failure, Link, Loading, Show, Title } from "./parts";
import { BASE, readRoute, type Route } from "./route";
import { moved } from "./tab";
import { Account } from "./pages/account";
import { Contract } from "./pages/contract";
import { Block, Home, held } from "./pages/home";
import { Labels } from "./pages/labels";
import { Contracts } from "./pages/contracts";
import { Fees, Mempool, Node } from "./pages/node";
import { UpgradeBanner } from "./pages/parameters";
import { Proof } from "./pages/proof";
import { Search } from "./pages/search";
import { Token } from "./pages/token";
import { Tx } from "./pages/tx";
import "./style.css";

const route = signal<Route>(readRoute(location.pathname, location.search));

/** go opens a page without reloading the document. */
function go(path: string, replace = false): void {
  history[replace ? "replaceState" : "pushState"](null, "", `${BASE}/${path}`);
  arrive();
  window.scrollTo(0, 0);
}

function arrive(): void {
  document.body.dataset["moved"] = "1";
  held.value = null;
  moved();
  route.value = readRoute(location.pathname, location.search);
}

window.addEventListener("popstate", arrive);
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest?.("a");
  if (
    !link ||
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !(url.pathname === BASE || url.pathname.startsWith(`${BASE}/`)) || url.hash)
    return;
  event.preventDefault();
  go(url.pathname.slice(BASE.length + 1) + url.search);
});

const pages: [string, string, string][] = [
  ["", "Blocks", "b"],
  ["contracts", "Contracts", "c"],
  ["tokens", "Tokens", "t"],
  ["fees", "Fees", "f"],
  ["mempool", "Mempool", "m"],
  ["node", "Node", "n"],
  ["wallet", "Wallet", "w"],
];
const help = signal(false);
let prefix = 0; // time of the last press of g

function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape") {
    help.value = false;
    if (target.matches("input")) target.blur();
    return;
  }
  if (target.matches("input, select, textarea")) return;
  const page = pages.find(([, , key]) => key === event.key);
  if (page && Date.now() - prefix < 1500) go(page[0]);
  else if (event.key === "/") document.querySelector<HTMLInputElement>("#search")?.focus();
  else if (event.key === "?") help.value = !help.value;
  else if (event.key === ".") held.value = held.value ? null : blocks.value;
  else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "[" || event.key === "]")
    document.querySelector<HTMLAnchorElement>(`[data-key="${event.key}"]`)?.click();
  else {
    prefix = event.key === "g" ? Date.now() : 0;
    return;
  }
  prefix = 0;
  event.preventDefault();
}
document.addEventListener("keydown", onKey);

/** step moves the focus from row to row, to each row's main link. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main tbody tr")].flatMap(
    (row) => row.querySelector<HTMLElement>("a, button") ?? [],
  );
  const at = rows.findIndex((row) => row.closest("tr")?.contains(document.activeElement));
  rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}

/** Wallet is the wallet page, loaded when it is first shown. */
function Wallet(): JSX.Element {
  const page = useLoad("wallet", () => import("./pages/wallet"));
  return (
    <Show of={page} what="The page" title="Wallet">
      {({ Wallet }) => <Wallet />}
    </Show>
  );
}

function Page({ at }: { at: Route }): JSX.Element {
  switch (at.page) {
    case "home":
      return <Home />;
    case "block":
      return <Block key={at.ref} refTo={at.ref} />;
    case "tx":
      return <Tx key={at.id} id={at.id} />;
    case "account":
      return <Account key={at.id} id={at.id} />;
    case "contract":
      return <Contract key={at.id} id={at.id} />;
    case "token":
      return <Token key={at.id} id={at.id} />;
    case "contracts":
      return <Contracts key="contracts" tokens={false} />;
    case "tokens":
      return <Contracts key="tokens" tokens={true} />;
    case "fees":
      return <Fees />;
    case "mempool":
      return <Mempool />;
    case "node":
      return <Node />;
    case "labels":
      return <Labels />;
    case "wallet":
      return <Wallet key="wallet" />;
    case "proof":
      return <Proof key={at.height} height={at.height} />;
    case "search":
      return <Search key={at.query} query={at.query} go={go} />;
    case "none":
      return (
        <>
          <Title>No such page</Title>
          <Empty>
            There is nothing at this address. <Link to="">Go to the blocks</Link>, or search.
          </Empty>
        </>
      );
  }
}

/** Connection shows whether the page receives new blocks. */
function Connection(): JSX.Element {
  const status = stream.value;
  const last = blocks.value[0];
  if (status.state !== "reconnecting")
    return (
      <span class="live">
        <span class="dot" aria-hidden="true" /> live
      </span>
    );
  return (
    <span class="live off" role="status">
      <span class="dot" aria-hidden="true" /> reconnecting
      {last && <>, last block {span(Math.max(0, now.value - last.timestamp))} ago</>}
    </span>
  );
}

function Top(): JSX.Element {
  const [open, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const at = route.value.page === "home" ? "" : route.value.page;
  useEffect(() => setOpen(false), [route.value]);
  return (
    <header class="top">
      <div class="bar">
        <a class="brand" href={`${BASE}/`}>
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect x="3" y="22" width="26" height="7" rx="3.5" />
            <rect x="7" y="13" width="18" height="7" rx="3.5" />
            <rect x="11" y="4" width="10" height="7" rx="3.5" />
          </svg>
          Cairn
        </a>
        {info.value && (
          <span class="chain">
            {info.value.network} {info.value.chain_id}
          </span>
        )}
        <Connection />
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            const text = field.current?.value.trim();
            if (text) go(`search?q=${encodeURIComponent(text)}`);
            field.current?.blur();
          }}
        >
          <input
            id="search"
            ref={field}
            type="search"
            aria-label="Search for a height, hash, address, name or token"
            placeholder="Height, hash, address or name"
            maxLength={200}
            autocomplete="off"
            spellcheck={false}
          />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <button type="button" class="menu" aria-expanded={open} aria-controls="pages" onClick={() => setOpen(!open)}>
          Menu
        </button>
        <nav id="pages" aria-label="Pages" class={open ? "open" : ""}>
          {pages.map(([path, name]) => (
            <Link key={path} to={path} aria-current={at === path ? "page" : undefined}>
              {name}
            </Link>
          ))}
        </nav>
      </div>
    </header>
  );
}

function Help(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (help.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [help.value]);
  const keys: [string, string][] = [
    ["/", "search"],
    ["g b", "blocks"],
    ["g c", "contracts"],
    ["g t", "tokens"],
    ["g f", "fees"],
    ["g m", "mempool"],
    ["g n", "node"],
    ["g w", "wallet"],
    ["j k", "next and previous row"],
    ["Enter", "open"],
    ["[ ]", "block before and after"],
    [".", "hold or let go the list of blocks"],
    ["?", "this list"],
    ["Esc", "close"],
  ];
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={() => (help.value = false)}>
      <h2 id="keys">Keys</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((k) => (
                <kbd key={k}>{k}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (help.value = false)}>
        Close
      </button>
    </dialog>
  );
}

function App(): JSX.Element {
  const away = stream.value.state === "reconnecting" && now.value - stream.value.since / 1000 > 30;
  useEffect(() => {
    document.title = `${document.querySelector("h1")?.textContent ?? "Explorer"} – Cairn`;
  });
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Top />
      {takenBack.value !== null && (
        <p class="banner" role="status">
          The chain was taken back to block {thousands(takenBack.value)}. What came after it is gone.{" "}
          <button type="button" onClick={() => (takenBack.value = null)}>
            Understood
          </button>
        </p>
      )}
      <UpgradeBanner />
      {sync.value?.state === "halted" && (
        <p class="banner bad" role="alert">
          This node takes no more blocks. <Link to="node">Why?</Link>
        </p>
      )}
      <main id="main" class={away ? "away" : ""}>
        {info.value ? (
          <Page at={route.value} />
        ) : (
          <>
            <Title>Cairn</Title>
            {refused.value !== null ? <Failure error={refused.value} what="The node" /> : <Loading />}
          </>
        )}
      </main>
      <footer>
        <span>Served by this node, and asks nobody else.</span>{" "}
        <Link to="labels">Labels</Link>{" "}
        <button type="button" class="plain" onClick={() => (help.value = true)}>
          Keys <kbd>?</kbd>
        </button>
      </footer>
      <Help />
    </>
  );
}

render(<App />, document.getElementById("app")!);
void start();
