// Formats values, as pure functions without the page.
import { formatAddress, formatUnits, type Network } from "@cairn-chain/sdk";

/** thousands separates groups of three digits of a whole number by commas. */
export function thousands(n: bigint | number): string {
  return n.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** counted writes a number with a noun, which is given in the singular. */
export const counted = (n: number, word: string): string => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;

/** units writes an amount in smallest units as a decimal, with commas and without trailing zeros. */
export function units(amount: bigint, decimals: number): string {
  const [whole, fraction] = formatUnits(amount, decimals).split(".");
  return thousands(BigInt(whole!)) + (fraction === undefined ? "" : `.${fraction}`);
}

export const coins = (amount: bigint): string => units(amount, 8);

/** percent writes a fraction from 0 to 1 without meaningless digits. */
export function percent(share: number): string {
  if (share === 0) return "0 %";
  if (share < 0.001) return "< 0.1 %";
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1 << 20) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / (1 << 20)).toFixed(1)} MiB`;
}

/** span writes a duration in its two largest units. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

const two = (n: number): string => String(n).padStart(2, "0");

/** utc writes a time in Unix seconds as a date and time of day, in UTC. */
export function utc(unix: number): string {
  const d = new Date(unix * 1000);
  if (Number.isNaN(d.getTime())) return `${unix} s after 1970`; // a contract or header may contain any number
  const day = `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
  return `${day} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} UTC`;
}

/** when writes a time relative to now if it is within an hour, otherwise as a date. */
export function when(unix: number, now: number): string {
  const ago = now - unix;
  if (ago < -5) return utc(unix);
  if (ago < 2) return "now";
  if (ago < 3600) return `${span(ago < 60 ? ago : Math.floor(ago / 60) * 60)} ago`;
  return utc(unix);
}

/** shortHex shortens hex to its two ends. */
export function shortHex(hex: string, keep = 4): string {
  return hex.length <= 2 * keep + 3 ? hex : `${hex.slice(0, 2 + keep)}…${hex.slice(-keep)}`;
}

export function shortAddress(account: string, network: Network): string {
  const text = formatAddress(account as `0x${string}`, network);
  return `${text.slice(0, 10)}…${text.slice(-5)}`;
}

// Characters that are invisible or change the display of others: controls, formats, bidi marks, private and unassigned
// ones.
const strange = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * chainText makes a text from the chain, which anybody may have written, safe to show: it names invisible characters
 * and limits the length. The result is plain text and must never be used as markup.
 */
export function chainText(text: string, most = 64): string {
  const characters = [...text];
  const cut = characters.length > most ? `${characters.slice(0, most).join("")}…` : text;
  return cut.replace(strange, (c) => `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** lossyText reads bytes as text if they are readable. */
export function lossyText(hex: string): string | undefined {
  const bytes = Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => parseInt(pair, 16));
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.length > 0 && !/[\p{Cc}\p{Cn}\p{Co}]/u.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
