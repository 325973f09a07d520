// A page that pays out with a journal in IndexedDB. Tests bundle it, open it in Chromium and kill it during its work.
import { createClient, parseCoins, type Account } from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { IndexedDBStore, SenderError, createSender, type Scope, type Sender } from "@cairn-chain/sdk/sender";

export const PAYEE: Account = "0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
export const scope: Scope = { genesis: `0x${"11".repeat(32)}`, account: PAYEE };
export const isError = (error: unknown): string => (error instanceof SenderError ? error.reason : String(error));

/** state is the state that the test reads from the page. */
const state = { accepted: 0, paid: 0, failed: "", locked: 0 };

/** create makes the sender as soon as no other tab holds its journal. */
async function create(url: string, key: KeySigner): Promise<Sender> {
  for (;;) {
    try {
      return await createSender(createClient(url), key, { store: new IndexedDBStore("payouts"), poll: 50 });
    } catch (error) {
      if (isError(error) !== "locked") throw error;
      state.locked++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** payOut pays ids 1 to count: 0.01 coins plus the id in smallest units for each. */
async function payOut(url: string, secret: string, count: number): Promise<void> {
  const key = new KeySigner(Uint8Array.from(secret.match(/../g)!, (byte) => parseInt(byte, 16)));
  const sender = await create(url, key);
  const ids = Array.from({ length: count }, (_, i) => i + 1);
  await Promise.all(ids.map(async (id) => {
    const sent = sender.send({ type: "transfer", to: PAYEE, value: parseCoins("0.01") + BigInt(id) }, { id: String(id) });
    await sent.accepted;
    state.accepted++;
    await sent.receipt;
    state.paid++;
  }));
  await sender.close();
}

Object.assign(globalThis, {
  state,
  IndexedDBStore,
  scope,
  isError,
  start: (url: string, secret: string, count: number): void => {
    payOut(url, secret, count).catch((error) => (state.failed = isError(error)));
  },
});
