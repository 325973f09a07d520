// Tests the watcher of docs/applications.md. It sees each deposit once and in order, by transfers and by contracts,
// although it and its node are killed repeatedly. KILLS is the number of kills.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { join } from "node:path";
import { test } from "node:test";
import { transformSync } from "esbuild";
import type { Account, Action, Receipt, rpc } from "@cairn-chain/sdk";
import { createSender, type Sent } from "@cairn-chain/sdk/sender";
import { random } from "./vectors.js";
import { devKey, directory, launch } from "./node.js";

const KILLS = Number(process.env["KILLS"] ?? 4);
const ADDRESSES = 1000;
const BANK_GAS = 1_000_000n;
const next = random(7);

/** watcherOf compiles the page's program inside the package, which it imports by name. */
function watcherOf(page: string): string {
  const [program, more] = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => match[1]!).filter((text) => text.includes("watchPayments"));
  assert.ok(program && !more, "the page has one watcher");
  const file = new URL("watcher.mjs", import.meta.url);
  writeFileSync(file, transformSync(program, { loader: "ts", format: "esm", target: "es2022" }).code);
  return file.pathname;
}

/** Watcher runs the program as a service that is killed and restarted. */
class Watcher {
  #child!: ChildProcess;
  #lines!: Interface;
  constructor(readonly program: string, readonly url: string, readonly book: string, readonly accounts: readonly Account[]) {
    this.start();
  }

  start(): void {
    const flags = ["--experimental-websocket", this.program, this.url, this.book];
    this.#child = spawn(process.execPath, flags, { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin!.on("error", () => undefined); // a kill came before it had read all of them
    this.#child.stdin!.end(this.accounts.join("\n"));
    this.#lines = createInterface(this.#child.stdout!);
  }

  /** until reads lines up to the given last one. */
  async until(isLast: (line: string) => boolean): Promise<void> {
    for await (const line of this.#lines) if (isLast(line)) return;
    throw new Error("the watcher ended by itself");
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await gone;
  }
}

interface Deposit {
  hash: string;
  kind: string;
  to: Account;
  amount: bigint;
}

const nameOf = ({ hash, kind, to, amount }: Deposit): string => `${kind} of ${amount} to ${to} by ${hash}`;

/** holdTo checks that the book has each deposit once, in the order of the chain. */
function holdTo(book: string, expected: readonly Deposit[]): void {
  const pages = readFileSync(book, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line) as rpc.PaymentPage);
  const seen = pages.flatMap(({ payments }) => payments);
  const names = seen.map((p) => nameOf({ hash: p.tx_hash, kind: p.kind, to: p.to, amount: BigInt(p.amount) }));
  assert.deepEqual([...names].sort(), expected.map(nameOf).sort());
  const places = seen.map((p) => p.block_height * 2 ** 20 + p.transaction_index);
  assert.deepEqual(places, [...places].sort((a, b) => a - b), "they are in order");
}

test(`deposits to ${ADDRESSES} addresses are seen once, over ${KILLS} kills`, { timeout: 600_000 }, async (t) => {
  const [dir, book] = [join(directory(t), "chain"), join(directory(t), "book")];
  const start = (address: string): ReturnType<typeof launch> => launch(t, "--data-dir", dir, "--block-time", "20ms", "--rpc-addr", address);
  let node = await start("127.0.0.1:0");
  const { client, url } = node;
  const [payer, shop] = [await createSender(client, devKey(3), { poll: 50 }), await createSender(client, devKey(4), { poll: 50 })];
  const addresses = Array.from({ length: ADDRESSES - 1 }, (_, i): Account => `0x07${(i + 1).toString(16).padStart(62, "0")}`);
  const code = readFileSync(new URL("../../../contracts/wasm/bank.wasm", import.meta.url));
  const deployed = await shop.send({ type: "deploy", value: 0n, name: "Bank", code, initArgs: new Uint8Array() }).receipt;
  const bank = deployed.contractAddress!;
  const watcher = new Watcher(watcherOf(readFileSync(new URL("../../../docs/applications.md", import.meta.url), "utf8")), url, book, [...addresses, shop.account]);
  t.after(() => watcher.kill());

  const sent: { job: Sent; deposit: Omit<Deposit, "hash"> | undefined }[] = [];
  const callBank = (name: string, value: bigint): Action => ({ type: "call", value, contract: bank, function: name, args: new Uint8Array() });
  for (let kill = 0; kill < KILLS; kill++) {
    for (let i = 0; i < 20; i++) {
      const [to, amount] = [addresses[next(addresses.length)]!, BigInt(next(1000) + 1)];
      sent.push({ job: payer.send({ type: "transfer", to, value: amount }), deposit: { kind: "transfer", to, amount } });
    }
    const amount = BigInt(next(1000) + 1);
    sent.push({ job: shop.send(callBank("deposit", amount), { gasLimit: BANK_GAS }), deposit: undefined });
    const back = { kind: "contract", to: shop.account, amount };
    sent.push({ job: shop.send(callBank("withdraw", 0n), { gasLimit: BANK_GAS }), deposit: back });
    if (next(2) === 0) {
      let lines = next(6);
      if (lines > 0) await watcher.until(() => --lines === 0);
      await watcher.kill();
      watcher.start();
    } else {
      await sent[next(sent.length)]!.job.accepted;
      const gone = new Promise((resolve) => node.process.once("exit", resolve));
      node.process.kill("SIGKILL");
      await gone;
      node = await start(new URL(url).host);
    }
  }
  const receipts = await Promise.all(sent.map(({ job }): Promise<Receipt> => job.receipt));
  assert.ok(receipts.every(({ status }) => status === 1n));
  const top = Math.max(...receipts.map(({ blockHeight }) => blockHeight));
  await watcher.until((line) => Number(/^all up to block (\d+)$/.exec(line)?.[1] ?? -1) >= top);
  await watcher.kill();
  holdTo(book, sent.flatMap(({ deposit }, i) => (deposit ? [{ hash: receipts[i]!.transactionHash, ...deposit }] : [])));
  await Promise.all([payer.close(), shop.close()]);
});
