import { CairnError } from "./errors.js";

/** The decimals of a coin, which has 100,000,000 smallest units. */
export const COIN_DECIMALS = 8;
/** The largest amount, and the largest 64-bit integer. */
export const MAX_U64 = (1n << 64n) - 1n;

/** AmountError: a text is not an amount. */
export class AmountError extends CairnError {
  override name = "AmountError";
  constructor(
    readonly reason: "syntax" | "decimals" | "range",
    message: string,
  ) {
    super(message);
  }
}

/**
 * parseUnits reads a decimal number, such as 1.5, as smallest units. It never rounds: it throws an {@link AmountError}
 * for too many decimals, a sign, an exponent, separators, or an amount over 64 bits.
 */
export function parseUnits(text: string, decimals: number): bigint {
  checkDecimals(decimals);
  const parts = /^(\d{1,40})(?:\.(\d{1,255}))?$/.exec(text);
  if (!parts) throw new AmountError("syntax", `not a decimal number: ${JSON.stringify(text.slice(0, 64))}`);
  const fraction = parts[2] ?? "";
  if (fraction.length > decimals) throw new AmountError("decimals", `more than ${decimals} decimals: ${text.slice(0, 64)}`);
  const units = BigInt(parts[1] + fraction.padEnd(decimals, "0"));
  if (units > MAX_U64) throw new AmountError("range", `more than 2^64 - 1 smallest units: ${text.slice(0, 64)}`);
  return units;
}

/**
 * formatUnits writes smallest units as a decimal number without trailing zeros, the form that {@link parseUnits} reads.
 */
export function formatUnits(units: bigint, decimals: number): string {
  checkDecimals(decimals);
  const sign = units < 0n ? "-" : "";
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0");
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  const whole = digits.slice(0, digits.length - decimals);
  return sign + (decimals === 0 || fraction === "" ? whole : `${whole}.${fraction}`);
}

/** parseCoins reads coins, such as "1.5", as smallest units. It throws an {@link AmountError}. */
export function parseCoins(text: string): bigint {
  return parseUnits(text, COIN_DECIMALS);
}

/** formatCoins writes smallest units as coins. */
export function formatCoins(units: bigint): string {
  return formatUnits(units, COIN_DECIMALS);
}

function checkDecimals(decimals: number): void {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) throw new RangeError("decimals must be 0 to 255");
}
