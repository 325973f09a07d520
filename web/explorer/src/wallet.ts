// Accounts of passkeys that this browser stores. It stores only public data, and sends it to no node.
import { computed, signal } from "@preact/signals";
import { forms, policyHash, singlePolicy, type Account, type Policy, type Signer } from "@cairn-chain/sdk";
import type { Passkey } from "@cairn-chain/sdk/signers";
import { keep, readKept } from "./kept";
import { info, network } from "./node";

/**
 * Kept is an account, the passkey that signs for it, and the policy in force unless it is the passkey's default policy.
 */
export interface Kept {
  account: Account;
  passkey: Passkey;
  policy: Policy | null;
}

const changed = signal(0);
const hex = (text: unknown, bytes?: number): text is Account =>
  typeof text === "string" && /^0x(?:[0-9a-f]{2})*$/.test(text) && (bytes === undefined || text.length === 2 + 2 * bytes);

/** readOne reads a stored account; undefined if it is invalid. */
function readOne(value: unknown): Kept | undefined {
  const { account, passkey, policy } = (value ?? {}) as { account?: unknown; passkey?: Partial<Passkey>; policy?: unknown };
  if (!hex(account, 32) || !hex(passkey?.point, 64) || typeof passkey?.verified !== "boolean") return undefined;
  const { point, verified, credential, domain } = passkey as Passkey;
  const known = { point, verified, ...(hex(credential) && { credential }), ...(typeof domain === "string" && { domain }) };
  try {
    return { account, passkey: known, policy: policy === null ? null : forms.policy.read(policy) };
  } catch {
    return undefined;
  }
}

/** wallet returns this browser's accounts on this chain. */
export const wallet = computed<readonly Kept[]>(() => {
  void changed.value;
  if (!info.value) return [];
  const kept = readKept("wallet");
  return Array.isArray(kept) ? kept.flatMap((one) => readOne(one) ?? []) : [];
});

function store(all: readonly Kept[]): void {
  keep("wallet", all.map(({ account, passkey, policy }) => ({ account, passkey, policy: policy && forms.policy.write(policy) })));
  changed.value++;
}

/** keepAccount stores an account, or updates a stored one. */
export function keepAccount(kept: Kept): void {
  store([...wallet.peek().filter(({ account }) => account !== kept.account), kept]);
}

/** forgetAccount removes an account from this browser. Its passkey stays on the device. */
export function forgetAccount(account: Account): void {
  store(wallet.peek().filter((one) => one.account !== account));
}

/** policyOf returns the policy by which an account signs. */
export const policyOf = ({ passkey: { point, verified }, policy }: Kept): Policy => policy ?? singlePolicy({ type: "passkey", point, verified });

/** authorityOf returns an account's authority as far as this browser knows: the hash of its policy. */
export const authorityOf = (kept: Kept): Account => policyHash(policyOf(kept));

/** signerOf returns a signer that uses the passkey of an account. */
export async function signerOf(kept: Kept): Promise<Signer> {
  const { PasskeySigner, PolicySigner } = await import("@cairn-chain/sdk/signers");
  const passkey = new PasskeySigner(kept.passkey);
  return kept.policy ? new PolicySigner(network(), kept.policy, [passkey], kept.account) : passkey;
}

/**
 * withoutPasskeys explains why passkeys cannot be used: the page's address is numeric, or the browser does not support
 * them.
 */
export function withoutPasskeys(): "address" | "browser" | undefined {
  if (/^[\d.]+$|:/.test(location.hostname)) return "address";
  return window.isSecureContext && "PublicKeyCredential" in window ? undefined : "browser";
}
