import { SenderError } from "./job.js";
import type { Entry, Scope, Store } from "./store.js";

/**
 * IndexedDBStore keeps a sender's journal in a database of the page's origin, in browsers. An append resolves once its transaction is on
 * the disk. A Web Lock excludes other tabs and workers until close, or until the tab is closed: their open rejects with
 * the reason "locked". It needs a secure context, which is HTTPS or a local address. Browsers may drop the data of an
 * origin when the disk is full, unless navigator.storage.persist() was granted, and people may clear it. The sender
 * then no longer knows which ids were paid.
 */
export class IndexedDBStore implements Store {
  #database: IDBDatabase | undefined;
  #release: (() => void) | undefined;

  constructor(readonly name: string) {}

  async open(scope: Scope): Promise<Entry[]> {
    if (this.#release) throw new SenderError("locked", `${this.name} is open already`);
    this.#release = await lock(`cairn-sender:${this.name}`);
    try {
      this.#database = await openDatabase(this.name);
      const transaction = this.#database.transaction([SCOPE, ENTRIES], "readwrite", { durability: "strict" });
      const held = transaction.objectStore(SCOPE).get(ONE) as IDBRequest<Scope | undefined>;
      const entries = transaction.objectStore(ENTRIES).getAll() as IDBRequest<Entry[]>;
      held.onsuccess = () => {
        if (!held.result) transaction.objectStore(SCOPE).put({ genesis: scope.genesis, account: scope.account }, ONE);
      };
      await done(transaction);
      const { genesis, account } = held.result ?? scope;
      if (genesis !== scope.genesis || account !== scope.account) {
        throw new SenderError("other_scope", `${this.name} belongs to account ${account} of the chain ${genesis}`);
      }
      return entries.result;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  append(entries: Entry[]): Promise<void> {
    return this.#write(entries, false);
  }

  replace(entries: Entry[]): Promise<void> {
    return this.#write(entries, true);
  }

  /** write adds entries in one transaction, to the existing ones or in their place. */
  async #write(entries: Entry[], instead: boolean): Promise<void> {
    if (!this.#database) throw new SenderError("closed", `${this.name} is not open`);
    const transaction = this.#database.transaction(ENTRIES, "readwrite", { durability: "strict" });
    try {
      if (instead) transaction.objectStore(ENTRIES).clear();
      for (const entry of entries) transaction.objectStore(ENTRIES).add(entry);
    } catch (error) {
      transaction.abort(); // otherwise the earlier ones would be written
      throw error;
    }
    await done(transaction);
  }

  async close(): Promise<void> {
    this.#database?.close();
    this.#release?.();
    this.#database = this.#release = undefined;
  }
}

/** The database has the scope under one key, and the entries under ascending numbers. */
const [SCOPE, ENTRIES, ONE] = ["scope", "entries", 1];

function openDatabase(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(SCOPE);
      request.result.createObjectStore(ENTRIES, { autoIncrement: true });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** done resolves when a transaction is completely written, and rejects if nothing was. */
function done(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

/** lock takes a lock of the origin, and returns a function that releases it. */
function lock(name: string): Promise<() => void> {
  if (!isSecureContext) throw new SenderError("failed", "Web Locks need HTTPS or a local address");
  return new Promise((resolve, reject) => {
    navigator.locks.request(name, { ifAvailable: true }, (held) => {
      if (!held) throw new SenderError("locked", `another tab or worker uses ${name}`);
      return new Promise<void>((release) => resolve(release));
    }).catch(reject);
  });
}
