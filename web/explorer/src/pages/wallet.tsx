// A wallet of passkeys. The node that serves the page knows no key. The page shows the text to be signed before it asks
// the passkey.
import {
  decodeSigned,
  feeCap,
  formatAddress,
  fromHex,
  isKey,
  makeRule,
  memo,
  parseCoins,
  signTransaction,
  signingText,
  sponsor,
  succeeded,
  toHex,
  type Account,
  type Action,
  type Party,
  type Policy,
  type PublicSigner,
  type Role,
  type Signer,
  type Transaction,
  type rpc,
} from "@cairn-chain/sdk";
import type { ComponentChildren, JSX, TargetedSubmitEvent } from "preact";
import { useState } from "preact/hooks";
import { readAccount, readRecipient } from "../accounts";
import { checkAccount } from "../check";
import { chainText, coins, shortAddress, thousands } from "../format";
import { label, labels } from "../labels";
import { useLoad } from "../load";
import { blocks, client, isDevelopment, network, patient } from "../node";
import { Coins, Copy, Empty, Fields, Link, Section, Show, Title, TxLink, explain } from "../parts";
import { authorityOf, forgetAccount, keepAccount, policyOf, signerOf, wallet, withoutPasskeys, type Kept } from "../wallet";
import { PolicyOf, Recovering } from "./policy";
import { Verified } from "./verified";

/** Doing is the state of a button's action: idle, running, or its result. */
type Doing<T> = null | "busy" | { done: T } | { failed: unknown };

/** useDoing runs one action at a time, and reports its result. */
function useDoing<T>(): [Doing<T>, (work: () => Promise<T>) => void, (doing: Doing<T>) => void] {
  const [doing, set] = useState<Doing<T>>(null);
  const run = (work: () => Promise<T>): void => {
    set("busy");
    work().then(
      (done) => set({ done }),
      (failed: unknown) => set({ failed }),
    );
  };
  return [doing, run, set];
}

function Failed<T>({ of }: { of: Doing<T> }): JSX.Element | null {
  return of !== null && of !== "busy" && "failed" in of ? <p class="failed">✗ {explain(of.failed)}</p> : null;
}

const fields = (event: TargetedSubmitEvent<HTMLFormElement>): ((name: string) => string) => {
  event.preventDefault();
  const form = new FormData(event.currentTarget);
  return (name) => String(form.get(name) ?? "").trim();
};

const nameOf = ({ account }: Kept): string => labels.value[account] ?? shortAddress(account, network());

export function Wallet(): JSX.Element {
  const missing = withoutPasskeys();
  return (
    <>
      <Title sub="Accounts of passkeys. This browser keeps their public halves, the device keeps the passkeys, and the node that serves this page has neither.">
        Wallet
      </Title>
      <Warnings />
      {missing === undefined ? <Begin /> : <Missing why={missing} />}
      {wallet.value.length === 0 ? (
        <Empty>No account is kept in this browser.</Empty>
      ) : (
        wallet.value.map((kept) => <One key={kept.account} kept={kept} />)
      )}
      {wallet.value.length > 0 && <Sponsor />}
    </>
  );
}

function Warnings(): JSX.Element {
  return (
    <Section title="Before you put coins here">
      <ul class="warnings">
        <li>
          <strong>A passkey belongs to {location.hostname}.</strong> If this domain is gone, so is the passkey, and with it the account.
          Add a second signer before you keep more than you can lose.
        </li>
        <li>
          <strong>Your device does not show what you sign.</strong> This page shows it, and this page comes from a node: use one that you
          or somebody you trust runs.
        </li>
        <li>
          <strong>These addresses are for Cairn only.</strong> Bitcoin that is sent to one on Bitcoin is lost for ever.
        </li>
      </ul>
    </Section>
  );
}

function Missing({ why }: { why: "address" | "browser" }): JSX.Element {
  const there = new URL(location.href);
  there.hostname = "localhost";
  return (
    <Section title="Passkeys cannot be used here">
      {why === "address" ? (
        <p>
          A passkey belongs to a domain, and this page was opened by a number. On the machine of the node open{" "}
          <a href={there.href}>{there.href}</a>; from elsewhere use the node’s name, over HTTPS.
        </p>
      ) : (
        <p>This browser has no passkeys, or the page did not come over HTTPS.</p>
      )}
    </Section>
  );
}

/** Begin creates an account, or finds the account of a passkey on this device. */
function Begin(): JSX.Element {
  const [doing, run] = useDoing<Account>();
  const create = (form: HTMLFormElement, name: string) => async (): Promise<Account> => {
    const { createPasskeyAccount } = await import("@cairn-chain/sdk/signers");
    const { account, passkey } = await createPasskeyAccount(name, { site: `Cairn ${network()}`, domain: location.hostname });
    keepAccount({ account, passkey, policy: null });
    label(account, name);
    form.reset();
    return account;
  };
  const find = async (): Promise<Account> => {
    const { findPasskeyAccount } = await import("@cairn-chain/sdk/signers");
    const { account, passkey } = await findPasskeyAccount(patient, { domain: location.hostname });
    const { policy, authority } = await patient.call("svc_getAccount", account);
    keepAccount({ account, passkey, policy: authority === account ? null : policy });
    return account;
  };
  return (
    <Section title="New account">
      <form class="inline" onSubmit={(event) => run(create(event.currentTarget, fields(event)("name")))}>
        <input name="name" required maxLength={40} aria-label="Name" placeholder="Name, such as Savings" autocomplete="off" />{" "}
        <button type="submit" class="primary" disabled={doing === "busy"}>
          {doing === "busy" ? "Waiting for the passkey…" : "Create with a passkey"}
        </button>{" "}
        <button type="button" disabled={doing === "busy"} onClick={() => run(find)}>
          Find one that I have
        </button>
      </form>
      <p class="muted">
        The device asks twice: to make the passkey, and to try it. A passkey that was synced to this device finds its account with one
        signature.
      </p>
      <Failed of={doing} />
    </Section>
  );
}

function One({ kept }: { kept: Kept }): JSX.Element {
  const { account } = kept;
  const head = blocks.value[0]?.hash;
  const loaded = useLoad(`wallet ${account}@${head}`, () => client.call("svc_getAccount", account));
  const checked = useLoad(`checked ${account}@${head}`, () => checkAccount(account));
  const address = formatAddress(account, network());
  return (
    <Section title={chainText(nameOf(kept))} extra={<Link to={`account/${account}`}>Payments and more</Link>}>
      <Show of={loaded} what="The account">
        {(told) => (
          <>
            {told.recovery && (
              <>
                <Recovering of={account} recovery={told.recovery} />
                <Stop kept={kept} />
              </>
            )}
            <Fields
              rows={[
                [
                  "Address",
                  <span class="whole">
                    <span class="mono">{address}</span> <Copy text={address} what="the address" />{" "}
                    <strong class="failed">Cairn only</strong>
                  </span>,
                ],
                [
                  "Balance",
                  <>
                    <strong class="big">
                      <Coins amount={checked.value?.value.balance ?? told.balance} /> coins
                    </strong>{" "}
                    <Verified
                      of={checked}
                      what="the balance"
                      how="a Merkle proof shows the account’s record"
                      again={(height) => checkAccount(account, height)}
                      show={({ balance }) => <Coins amount={balance} />}
                    />
                  </>,
                ],
                [
                  "Who may sign",
                  told.authority === authorityOf(kept) ? (
                    <PolicyOf policy={policyOf(kept)} />
                  ) : (
                    <p class="failed" role="alert">
                      ✗ Another policy is in force than the one that this browser keeps: the passkey may not sign for this account any
                      more.
                    </p>
                  ),
                ],
              ]}
            />
            {isDevelopment() && <Fund account={account} />}
            <Send kept={kept} />
            <Second kept={kept} />
            <Forget account={account} />
          </>
        )}
      </Show>
    </Section>
  );
}

function Fund({ account }: { account: Account }): JSX.Element {
  const [doing, run] = useDoing<rpc.Receipt>();
  const fund = async (): Promise<rpc.Receipt> => patient.receipt(await patient.call("dev_fund", account, parseCoins("10")));
  return (
    <p>
      <button type="button" disabled={doing === "busy"} onClick={() => run(fund)}>
        Get 10 coins
      </button>{" "}
      <span class="muted">of the development treasury</span>
      <Failed of={doing} />
    </p>
  );
}

/** Ready is a complete transaction with its signers. */
interface Ready {
  tx: Transaction;
  /** signs for the payer; undefined if the payer is elsewhere */
  payer: Signer | undefined;
  /** called once the transaction is in a block */
  included?: () => void;
}

function Send({ kept }: { kept: Kept }): JSX.Element {
  const [doing, run, set] = useDoing<Ready>();
  const prepare = (of: (name: string) => string) => async (): Promise<Ready> => {
    const to = await readRecipient(of("to"));
    const text = of("memo");
    const action: Action = { type: "transfer", to, value: parseCoins(of("amount")), memo: text === "" ? null : memo(text) };
    return ready(kept, action, of("payer"), of("sponsor"));
  };
  return (
    <>
      <form class="send" onSubmit={(event) => run(prepare(fields(event)))}>
        <label>
          To <input name="to" required placeholder="Address" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          Coins <input name="amount" required inputMode="decimal" placeholder="1.5" autocomplete="off" />
        </label>
        <label>
          Memo <input name="memo" maxLength={32} placeholder="none" autocomplete="off" />
        </label>
        <Payer />
        <button type="submit" disabled={doing === "busy"}>
          {doing === "busy" ? "Preparing…" : "Review"}
        </button>
      </form>
      <Failed of={doing} />
      {doing !== null && doing !== "busy" && "done" in doing && (
        <Review key={doing.done.tx.nonce + signingTextOf(doing.done.tx, "sender")} kept={kept} of={doing.done} close={() => set(null)} />
      )}
    </>
  );
}

/** Payer is the choice of who pays the fee. */
function Payer(): JSX.Element {
  const [who, choose] = useState("self");
  return (
    <>
      <label>
        Fee paid by{" "}
        <select name="payer" value={who} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="self">this account</option>
          {isDevelopment() && <option value="dev0">dev0</option>}
          <option value="other">a sponsor elsewhere</option>
        </select>
      </label>
      {who === "other" && (
        <label>
          Sponsor <input name="sponsor" required placeholder="Address" autocomplete="off" spellcheck={false} />
        </label>
      )}
    </>
  );
}

/** ready builds a transaction for an account. */
async function ready(kept: Kept, action: Action, payer: string, sponsorText: string): Promise<Ready> {
  const sender = await signerOf(kept);
  let paying: Signer | undefined;
  let party: Party | undefined;
  if (payer === "dev0") party = paying = (await import("../send")).devSigner(0);
  if (payer === "other") party = await patient.party(readAccount(sponsorText));
  const tx = await patient.build(sender, action, party ? { payer: party } : {});
  return { tx, payer: paying };
}

const signingTextOf = (tx: Transaction, role: Role): string => signingText(tx, network(), role) ?? "";

/** Review shows the text to be signed, requests the signature, and sends the transaction or passes it to a sponsor. */
function Review({ kept, of: { tx, payer, included }, close }: { kept: Kept; of: Ready; close: () => void }): JSX.Element {
  const [doing, run] = useDoing<{ receipt: rpc.Receipt } | { handover: string }>();
  const elsewhere = tx.payer !== null && payer === undefined;
  const sign = async (): Promise<{ receipt: rpc.Receipt } | { handover: string }> => {
    const signed = await signTransaction(tx, await signerOf(kept), payer);
    if (elsewhere) return { handover: toHex(signed.raw) };
    const receipt = succeeded(await patient.sendAndWait(signed));
    included?.();
    return { receipt };
  };
  const done = doing !== null && doing !== "busy" && "done" in doing ? doing.done : undefined;
  return (
    <div class="review">
      <h3>This is signed, of chain {String(tx.chainId)}:</h3>
      <pre class="text">{signingTextOf(tx, "sender")}</pre>
      {done === undefined && (
        <p>
          <button type="button" class="primary" disabled={doing === "busy"} onClick={() => run(sign)}>
            {doing === "busy" ? "Waiting…" : elsewhere ? "Sign with the passkey" : "Sign with the passkey and send"}
          </button>{" "}
          <button type="button" disabled={doing === "busy"} onClick={close}>
            Do not sign
          </button>
        </p>
      )}
      <div aria-live="polite">
        <Failed of={doing} />
        {done && "receipt" in done && (
          <p class="ok">
            ✓ in block {thousands(done.receipt.blockHeight)}: <TxLink hash={done.receipt.transactionHash} />
          </p>
        )}
        {done && "handover" in done && <Handover of={done.handover} />}
      </div>
    </div>
  );
}

/** Handover passes a signed transaction to its sponsor, who sends it or returns it. */
function Handover({ of }: { of: string }): JSX.Element {
  return (
    <>
      <p>
        Give this to the sponsor within five minutes. Whoever has it can do nothing else with it. <Copy text={of} what="the transaction" />
      </p>
      <p class="bytes mono whole">{of}</p>
    </>
  );
}

/** Stop stops a recovery, by setting the policy in force again. */
function Stop({ kept }: { kept: Kept }): JSX.Element {
  const [doing, run, set] = useDoing<Ready>();
  const policy = authorityOf(kept) === kept.account ? null : policyOf(kept);
  return (
    <>
      <p>
        <button type="button" class="primary" disabled={doing === "busy"} onClick={() => run(() => ready(kept, { type: "set_policy", policy }, "self", ""))}>
          Stop the recovery
        </button>
      </p>
      <Failed of={doing} />
      {doing !== null && doing !== "busy" && "done" in doing && <Review kept={kept} of={doing.done} close={() => set(null)} />}
    </>
  );
}

/** keySigner returns the key of an account as a further signer; an account of a policy has none. */
function keySigner(key: Account): PublicSigner {
  if (!isKey(key)) throw new Error("this account has no key: no signature could ever be its own");
  return { type: "key", key };
}

/** Second adds a second passkey or key as a signer of the account. */
function Second({ kept }: { kept: Kept }): JSX.Element | null {
  const [doing, run, set] = useDoing<Ready>();
  const { owner, recovery } = policyOf(kept);
  if (owner.signers.length > 1) return null;
  const add = (signer: () => Promise<PublicSigner>) => async (): Promise<Ready> => {
    const policy: Policy = { number: 0n, owner: makeRule(1, [...owner.signers, await signer()]), recovery };
    const included = (): void => keepAccount({ ...kept, policy });
    return { ...(await ready(kept, { type: "set_policy", policy }, "self", "")), included };
  };
  const passkey = async (): Promise<PublicSigner> => {
    const { createPasskeyAccount } = await import("@cairn-chain/sdk/signers");
    const options = { site: `Cairn ${network()}`, domain: location.hostname };
    return (await createPasskeyAccount(`${nameOf(kept)}, second`, options)).signer;
  };
  return (
    <details class="second">
      <summary>Add a second signer{recovery ? "" : ": without one, a lost passkey is a lost account"}</summary>
      <p>Either of the two can sign alone from then on, so each must be kept as safe as the other.</p>
      <form class="inline" onSubmit={(event) => {
        const of = fields(event);
        run(add(async () => keySigner(readAccount(of("key")))));
      }}>
        <input name="key" required size={40} aria-label="The address of a key" placeholder="Address of a key: a Bitcoin wallet’s, or cairn key’s" autocomplete="off" spellcheck={false} />{" "}
        <button type="submit" disabled={doing === "busy"}>
          Add this key
        </button>{" "}
        <button type="button" disabled={doing === "busy"} onClick={() => run(add(passkey))}>
          Add another passkey
        </button>
      </form>
      <Failed of={doing} />
      {doing !== null && doing !== "busy" && "done" in doing && <Review kept={kept} of={doing.done} close={() => set(null)} />}
    </details>
  );
}

function Forget({ account }: { account: Account }): JSX.Element {
  const [sure, ask] = useState(false);
  return (
    <p class="forget">
      {sure ? (
        <>
          Only this browser forgets it; the passkey stays on the device and finds it again.{" "}
          <button type="button" onClick={() => forgetAccount(account)}>
            Forget it
          </button>{" "}
          <button type="button" onClick={() => ask(false)}>
            Keep it
          </button>
        </>
      ) : (
        <button type="button" class="plain" onClick={() => ask(true)}>
          Forget here…
        </button>
      )}
    </p>
  );
}

interface Asked {
  raw: Uint8Array;
  tx: Transaction;
  kept: Kept;
  likely: bigint;
}

/** Sponsor pays the fee of another user's transaction from one of these accounts. */
function Sponsor(): JSX.Element {
  const [doing, run, set] = useDoing<Asked>();
  const read = (text: string) => async (): Promise<Asked> => {
    const raw = fromHex(text);
    const { transaction: tx } = decodeSigned(raw);
    const kept = wallet.peek().find(({ account }) => account === tx.payer);
    if (!kept) throw new Error("none of these accounts is to pay for it");
    const signer = await signerOf(kept);
    const { likelyFee } = await client.costs(tx, { account: tx.sender, sample: () => tx.witness }, signer);
    return { raw, tx, kept, likely: likelyFee };
  };
  return (
    <Section title="Pay another’s fee">
      <form class="inline" onSubmit={(event) => run(read(fields(event)("raw")))}>
        <textarea name="raw" required rows={2} cols={60} aria-label="The signed transaction" placeholder="0x02…, which the sender signed" spellcheck={false} />{" "}
        <button type="submit" disabled={doing === "busy"}>
          Review
        </button>
      </form>
      <Failed of={doing} />
      {doing !== null && doing !== "busy" && "done" in doing && <Pay key={toHex(doing.done.raw)} of={doing.done} close={() => set(null)} />}
    </Section>
  );
}

function Pay({ of: { raw, tx, kept, likely }, close }: { of: Asked; close: () => void }): JSX.Element {
  const [doing, run] = useDoing<rpc.Receipt>();
  const pay = async (): Promise<rpc.Receipt> => {
    const signed = await sponsor(await signerOf(kept), { raw });
    return patient.sendAndWait(signed);
  };
  const rows: [string, ComponentChildren][] = [
    ["Paid by", chainText(nameOf(kept))],
    ["Fee", `likely ${coins(likely)} coins, at most ${coins(feeCap(tx))}: the most is lost if the call fails badly`],
  ];
  const done = doing !== null && doing !== "busy" && "done" in doing ? doing.done : undefined;
  return (
    <div class="review">
      <h3>This is signed, of chain {String(tx.chainId)}:</h3>
      <pre class="text">{signingTextOf(tx, "payer")}</pre>
      <Fields rows={rows} />
      {!done && (
        <p>
          <button type="button" class="primary" disabled={doing === "busy"} onClick={() => run(pay)}>
            {doing === "busy" ? "Waiting…" : "Sign with the passkey and send"}
          </button>{" "}
          <button type="button" disabled={doing === "busy"} onClick={close}>
            Do not sign
          </button>
        </p>
      )}
      <div aria-live="polite">
        <Failed of={doing} />
        {done && (
          <p class="ok">
            ✓ in block {thousands(done.blockHeight)}: <TxLink hash={done.transactionHash} />
          </p>
        )}
      </div>
    </div>
  );
}
