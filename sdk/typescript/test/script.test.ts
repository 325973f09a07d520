// Tests the sender with scripted answers of a node: the scripts in testdata/sender/*.json have the expected posts and
// journals.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { createClient, decodeSigned, decodeTransaction, fromHex, type Account, type Action } from "@cairn-chain/sdk";
import { blankSigner } from "./signer.js";
import { MemoryStore, createSender, type Entry, type Sent, type Time } from "@cairn-chain/sdk/sender";

const directory = new URL("../testdata/sender/", import.meta.url);
const account: Account = `0x${"aa".repeat(32)}`;
const signer = blankSigner(account);

/** summary writes a transaction in the form of scripts. */
function summary(raw: string): unknown {
  const tx = decodeTransaction(fromHex(raw));
  const { payload, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas, target, value, validUntil } = tx;
  const what = payload.type === "transfer" ? { to: target === account ? "self" : Number(target), value: Number(value) } : {};
  const until = validUntil === null ? {} : { until: Number(validUntil) };
  return { nonce: Number(nonce), gas: Number(gasLimit), maxFee: Number(maxFeePerGas), priority: Number(maxPriorityFeePerGas), ...what, ...until };
}

const to = (n: number): Account => `0x${n.toString(16).padStart(64, "0")}`;

/**
 * readable writes posts and journal entries in the form of scripts: transactions by summary, hashes by order of
 * appearance.
 */
class Names {
  #hashes: string[] = [];
  hash(hash: string): string {
    if (!this.#hashes.includes(hash)) this.#hashes.push(hash);
    return `hash ${this.#hashes.indexOf(hash)}`;
  }
  resolve(name: string): string {
    return this.#hashes[Number(name.slice("hash ".length))] ?? "0x" + "00".repeat(32);
  }
  call({ method, params }: { method: string; params: any[] }): unknown {
    const short = method.replace("svc_", "");
    if (method === "svc_sendRawTransaction") {
      this.hash(hashOf(params[0]));
      return [short, summary(params[0])];
    }
    if (method === "svc_getTransactionReceipt") return [short, this.hash(params[0])];
    return [short, ...params.map((p) => (p === account ? "self" : typeof p === "string" && p.length === 66 ? Number(p) : p.sender ? "of self" : p))];
  }
  entry(entry: Entry): unknown {
    const id = /^cairn:(filler|rest):/.exec(entry.id)?.[1] ?? entry.id;
    if (entry.type === "refused") return { type: entry.type, id, reason: entry.reason };
    if (entry.type === "done") return { type: entry.type, id, hash: this.hash(entry.hash), height: entry.height, status: entry.status };
    return { type: entry.type, id, hash: this.hash(entry.hash), tx: summary(entry.raw) };
  }
}

/** A script: jobs, each sent before the post with its number, posts with their answers, and the outcome. */
interface Script {
  about: string;
  /** the sender's maxFeeCap */
  cap?: number;
  jobs: { id: string; cancel?: string; to?: number; value?: number; all?: number; before?: number; gas?: number; maxFee?: number; validFor?: number }[];
  posts: { calls: unknown[]; answers?: any[]; fails?: "unreachable" | number }[];
  journal: unknown[];
  outcomes: Record<string, string>;
  /** the reported fillers and undecided jobs, in order */
  told?: string[];
}

interface Outcome {
  posts: unknown[];
  journal: unknown[];
  outcomes: Record<string, string>;
  told: string[];
}

async function run(script: Script): Promise<Outcome> {
  const names = new Names();
  const told: string[] = [];
  const [posts, outcomes]: [unknown[], Record<string, string>] = [[], {}];
  const store = new (class extends MemoryStore {
    override async append(entries: Entry[]): Promise<void> {
      await new Promise(setImmediate);
      for (const entry of entries) if (entry.type === "refused") assert.equal(outcomes[entry.id], "open", "nobody is told before it is written");
      await super.append(entries);
    }
  })();
  let now = 1_000_000;
  let over!: () => void;
  const finished = new Promise<void>((resolve) => (over = resolve));
  const time: Time = { now: () => now, sleep: async (ms, woken) => {
    await new Promise(setImmediate);
    if (ms === Infinity && posts.length > 1) over(); // nothing is open any more
    if (ms === Infinity) return woken;
    now += Math.ceil(ms);
  } };
  const fetch = async (_: unknown, init: RequestInit): Promise<Response> => {
    const body = JSON.parse(init.body as string);
    const calls = Array.isArray(body) ? body : [body];
    const step = script.posts[posts.length];
    posts.push(calls.map((call) => names.call(call)));
    for (const job of script.jobs) if (job.before === posts.length) begin(job);
    if (!step) over();
    if (!step) return new Promise(() => {});
    if (step.fails === "unreachable") throw new TypeError("fetch failed");
    if (step.fails !== undefined) return new Response("", { status: step.fails, headers: { "Retry-After": "2" } });
    const answers = calls.map((call, i) => ({ id: call.id, ...answer(step.answers![i], call, names) }));
    return new Response(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  };
  const client = createClient("http://node", { fetch: fetch as typeof globalThis.fetch });
  const sender = await createSender(client, signer, {
    ...(script.cap && { maxFeeCap: BigInt(script.cap) }), store, time,
    onFiller: (hash) => told.push(`filler ${names.hash(hash)}`), onUndecided: (id) => told.push(`undecided ${id}`),
  });
  const sent = new Map<string, Sent>(); // the latest one with the id
  function begin(job: Script["jobs"][number]): void {
    if (job.cancel !== undefined) {
      outcomes[`cancel ${job.cancel}`] = "open";
      const told = sent.get(job.cancel)!.cancel();
      told.then(() => (outcomes[`cancel ${job.cancel}`] = "cancelled"), (e) => (outcomes[`cancel ${job.cancel}`] = e.reason ?? e.name));
      return;
    }
    const options = { id: job.id, ...(job.gas && { gasLimit: BigInt(job.gas) }), ...(job.maxFee && { maxFee: BigInt(job.maxFee) }), ...(job.validFor && { validFor: job.validFor }) };
    const payload: Action = { type: "transfer", to: to(job.to ?? 0), value: BigInt(job.value ?? 0) };
    const it: Sent = job.all === undefined ? sender.send(payload, options) : sender.sendAll(to(job.all), options);
    outcomes[job.id] = "open";
    sent.set(job.id, it);
    it.receipt.then((r) => (outcomes[job.id] = r.status === 1n ? "paid" : "failed"), (e) => (outcomes[job.id] = e.reason ?? e.name));
  }
  for (const job of script.jobs) if (!job.before) begin(job);
  await finished;
  return { posts, journal: store.entries.map((e) => names.entry(e)), outcomes, told };
}

function answer(value: any, call: any, names: Names): object {
  if (value === "hash") return { result: names.resolve(names.hash(hashOf(call.params[0]))) };
  if (value === "internal") return { error: { code: -32603, message: value } };
  if (typeof value === "string" && !value.startsWith("0x")) return { error: { code: -32000, message: value, data: { reason: value } } };
  const named = (_: string, v: unknown): unknown => (typeof v === "string" && v.startsWith("hash ") ? names.resolve(v) : v === "self" ? account : v);
  return { result: JSON.parse(JSON.stringify(value), named) };
}

const hashOf = (raw: string): string => decodeSigned(fromHex(raw)).hash;

/** write updates a script with its actual outcome, with a line for each call and entry. */
function write(file: string, script: Script, got: Outcome): void {
  const posts = script.posts.map((p, i) => ({ ...p, calls: got.posts[i] ?? [] }));
  const lines = (list: unknown[]): string => `[\n${list.map((item) => `  ${JSON.stringify(item)}`).join(",\n")}\n ]`;
  const { posts: _, journal: __, outcomes: ___, told: ____, jobs, ...rest } = script;
  const members = [...Object.entries(rest).map(([name, value]) => ` ${JSON.stringify(name)}: ${JSON.stringify(value)}`),
    ` "jobs": ${lines(jobs)}`, ` "posts": ${lines(posts)}`, ` "journal": ${lines(got.journal)}`, ` "outcomes": ${JSON.stringify(got.outcomes)}`,
    ...(got.told.length > 0 ? [` "told": ${JSON.stringify(got.told)}`] : [])];
  writeFileSync(new URL(file, directory), `{\n${members.join(",\n")}\n}\n`);
}

for (const file of readdirSync(directory).sort()) {
  const script: Script = JSON.parse(readFileSync(new URL(file, directory), "utf8"));
  test(`script ${file}: ${script.about}`, async () => {
    const got = await run(script);
    if (process.env["UPDATE"]) return write(file, script, got); // check the changes before you commit them
    assert.deepEqual(got.posts, script.posts.map((p) => p.calls));
    assert.deepEqual(got.journal, script.journal);
    assert.deepEqual(got.outcomes, script.outcomes);
    assert.deepEqual(got.told, script.told ?? []);
  });
}
