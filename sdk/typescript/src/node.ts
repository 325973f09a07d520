import { open, link, readFile, rename, unlink, writeFile, type FileHandle } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { sha256 } from "./hash.js";
import { toHex } from "./hex.js";
import { SenderError } from "./sender/job.js";
import type { Entry, Scope, Store } from "./sender/store.js";

/**
 * FileStore keeps a sender's journal in a file. Each append writes a line that begins with a checksum, and resolves
 * when the line is on the disk. The first line has the scope. An incomplete last line, whose append never resolved, is
 * cut off. Any other damage is a SenderError (bad_journal); `salvage` can then recover the sound lines. A lock file
 * next to it, PATH.lock, excludes other processes while this one lives.
 */
export class FileStore implements Store {
  #file: FileHandle | undefined;
  #lock: string | undefined;
  #scope: Scope | undefined;

  constructor(readonly path: string) {}

  async open(scope: Scope): Promise<Entry[]> {
    if (this.#file) throw new SenderError("locked", `${this.path} is open already`);
    this.#lock = await lock(`${this.path}.lock`);
    try {
      this.#file = await open(this.path, "a+", 0o600);
      const { entries, end } = parse(await this.#file.readFile(), scope, this.path);
      await this.#file.truncate(end);
      this.#scope = scope;
      if (end === 0) {
        await this.#write(header(scope));
        await syncDirectory(dirname(this.path));
      }
      return entries;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /**
   * salvage repairs the journal of a scope that no sender has open. It moves damaged lines to the end of PATH.damaged
   * and keeps all others. It returns a description of the moved lines, or undefined if there were none. It also moves
   * entries that are useless without them, and names their ids.
   */
  async salvage(scope: Scope): Promise<JournalDamage | undefined> {
    if (this.#file) throw new SenderError("locked", `${this.path} is open already`);
    this.#lock = await lock(`${this.path}.lock`);
    try {
      this.#file = await open(this.path, "r+");
      const { lines } = split(await this.#file.readFile());
      const damaged = lines.filter(({ sound }) => !sound);
      if (damaged.length === 0) return undefined;
      if (damaged.length === lines.length) throw new SenderError("bad_journal", `${this.path} is not a journal of this format`);
      const damage = damageOf(damaged);
      const entries = dropOrphans(readLines(lines, scope, this.path), damage);
      this.#scope = scope;
      const aside = await open(`${this.path}.damaged`, "a", 0o600);
      try {
        for (const { content } of damaged) await aside.writeFile(Buffer.concat([content, Buffer.from("\n")]));
        await aside.sync();
      } finally {
        await aside.close();
      }
      await this.replace(entries);
      return damage;
    } finally {
      await this.close();
    }
  }

  async append(entries: Entry[]): Promise<void> {
    await this.#write(encodeLine(entries));
  }

  /** replace replaces the file by a new one. The new one is PATH.new until it is complete and on the disk. */
  async replace(entries: Entry[]): Promise<void> {
    const old = this.#opened();
    const name = `${this.path}.new`;
    const fresh = await open(name, "w", 0o600);
    try {
      await fresh.writeFile([header(this.#scope!), ...entries.map((entry) => encodeLine([entry]))].join(""));
      await fresh.sync();
    } finally {
      await fresh.close(); // some systems cannot rename an open file
    }
    this.#file = undefined;
    await old.close();
    await rename(name, this.path);
    await syncDirectory(dirname(this.path));
    this.#file = await open(this.path, "a", 0o600);
  }

  async close(): Promise<void> {
    const [file, held] = [this.#file, this.#lock];
    this.#file = this.#lock = undefined;
    await file?.close();
    if (held) await unlink(held);
  }

  async #write(text: string): Promise<void> {
    const file = this.#opened();
    const line = Buffer.from(text);
    let written = 0;
    while (written < line.length) written += (await file.write(line, written)).bytesWritten;
    await file.datasync();
  }

  #opened(): FileHandle {
    if (!this.#file) throw new SenderError("closed", `${this.path} is not open`);
    return this.#file;
  }
}

const FORMAT = "cairn-sender/1";

/** header is the first line. */
function header({ genesis, account }: Scope): string {
  return encodeLine({ journal: FORMAT, genesis, account });
}

/** encodeLine writes the JSON of a value after the first 8 bytes of its SHA-256 in hex. */
function encodeLine(value: unknown): string {
  const text = JSON.stringify(value);
  return `${checksum(new TextEncoder().encode(text))} ${text}\n`;
}

function checksum(content: Uint8Array): string {
  return toHex(sha256(content).subarray(0, 8)).slice(2);
}

/** JournalDamage describes the damaged part of a journal. */
export interface JournalDamage {
  /** the numbers of the damaged lines, from 1 on */
  lines: number[];
  /**
   * the ids that are readable there. Such a job may have been sent: before repeating it, check whether a block has it.
   */
  ids: string[];
}

/** Line is a line of a journal; it is sound if its checksum matches its content. */
interface Line {
  number: number;
  content: Buffer;
  sound: boolean;
}

/**
 * split splits a journal into its complete lines, and returns their end. It ignores a line that a crash cut: one
 * without an end, or a last one with zeros in place of bytes that did not reach the disk.
 */
function split(content: Buffer): { lines: Line[]; end: number } {
  const lines: Line[] = [];
  let end = 0;
  for (let number = 1; end < content.length; number++) {
    const newline = content.indexOf("\n", end);
    if (newline < 0) break;
    const raw = content.subarray(end, newline);
    const sound = raw.subarray(0, 17).toString("latin1") === `${checksum(raw.subarray(17))} `;
    if (!sound && newline === content.length - 1 && raw.includes(0)) break; // incomplete
    lines.push({ number, content: sound ? raw.subarray(17) : raw, sound });
    end = newline + 1;
  }
  return { lines, end };
}

/** parse reads a journal and returns where its complete lines end. */
function parse(content: Buffer, scope: Scope, path: string): { entries: Entry[]; end: number } {
  const { lines, end } = split(content);
  const damaged = lines.filter(({ sound }) => !sound);
  const entries = readLines(lines, scope, path);
  if (damaged.length > 0) {
    const { lines: numbers, ids } = damageOf(damaged);
    const named = ids.length > 0 ? `they name the jobs ${JSON.stringify(ids)}` : "no id can be read there";
    throw new SenderError(
      "bad_journal",
      `lines ${numbers.join(" ")} of ${path} are damaged: ${named}. See whether a block has what these jobs pay, and have salvage of the FileStore set the lines aside`,
    );
  }
  return { entries, end };
}

/** readLines returns the entries of the sound lines. */
function readLines(lines: Line[], scope: Scope, path: string): Entry[] {
  const entries: Entry[] = [];
  for (const { number, content, sound } of lines) {
    if (!sound) continue;
    const value = JSON.parse(content.toString()) as unknown;
    if (number === 1) checkScope(value, scope, path);
    else entries.push(...(value as Entry[]));
  }
  return entries;
}

function damageOf(damaged: Line[]): JournalDamage {
  const ids = new Set<string>();
  for (const { content } of damaged) {
    for (const [, text] of content.toString().matchAll(/"id":("(?:[^"\\]|\\.)*")/g)) {
      try {
        ids.add(JSON.parse(text!) as string);
      } catch {
        continue; // the damage is within it
      }
    }
  }
  return { lines: damaged.map(({ number }) => number), ids: [...ids] };
}

/** dropOrphans drops the versions of jobs whose first entry is lost, and names the jobs. */
function dropOrphans(entries: Entry[], damage: JournalDamage): Entry[] {
  const begun = new Set<string>();
  return entries.filter((entry) => {
    if (entry.type === "signed") begun.add(entry.id);
    const orphan = (entry.type === "version" || entry.type === "cancel") && !begun.has(entry.id);
    if (orphan && !damage.ids.includes(entry.id)) damage.ids.push(entry.id);
    return !orphan;
  });
}

function checkScope(value: unknown, scope: Scope, path: string): void {
  const { journal, genesis, account } = value as Scope & { journal: string };
  if (journal !== FORMAT) throw new SenderError("bad_journal", `${path} is not a journal of this format`);
  if (genesis !== scope.genesis || account !== scope.account) {
    throw new SenderError("other_scope", `${path} belongs to account ${account} of the chain ${genesis}`);
  }
}

/** lock creates a lock file, and returns its path. It takes over a lock file whose process has ended. */
async function lock(path: string): Promise<string> {
  const mine = `${path}.${process.pid}.${crypto.randomUUID()}`;
  await writeFile(mine, `${process.pid} ${startOf(process.pid)}\n`, { mode: 0o600 });
  try {
    for (;;) {
      try {
        await link(mine, path);
        return path;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const holder = await readFile(path, "utf8").catch(ifMissing);
      if (holder === undefined) continue;
      const [pid, start] = holder.trim().split(" ");
      if (isAlive(Number(pid), start)) throw new SenderError("locked", `process ${pid} uses the journal ${path}`);
      await takeAway(path, holder, `${mine}.stale`);
    }
  } finally {
    await unlink(mine);
  }
}

/** takeAway removes a stale lock. If another process has replaced it meanwhile, it restores that lock. */
async function takeAway(path: string, stale: string, aside: string): Promise<void> {
  if ((await rename(path, aside).catch(ifMissing)) === undefined && (await readFile(aside, "utf8").catch(ifMissing)) === undefined) return;
  if ((await readFile(aside, "utf8")) !== stale) await link(aside, path);
  await unlink(aside);
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}

function isAlive(pid: number, start: string | undefined): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  return startOf(pid) === start;
}

/**
 * startOf returns a process's start time in the system's units, to recognize a reused process number; a dash if it is
 * unknown.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "-"; // field 22, start time
  } catch {
    return "-"; // not Linux, or the process has just ended
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
