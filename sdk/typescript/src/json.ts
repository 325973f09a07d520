/**
 * parseJSON is JSON.parse with integers of 16 or more digits as bigint, because numbers beyond 2^53 would be rounded.
 * It throws a SyntaxError.
 */
export function parseJSON(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text);
  // Such integers are quoted after a mark that the text's author could not know, and recognized by it.
  const mark = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16)).join("-") + ":";
  const marked = outsideStrings(text, (part) => part.replace(/-?\d{16,}(?![\d.eE])/g, (digits, at: number) => {
    return isInteger(part, at, digits) ? `"${mark}${digits}"` : digits;
  }));
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value: unknown) => {
    return typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value;
  });
}

/** LONG_INTEGER finds every integer of 16 digits and more between two JSON tokens, and perhaps some inside strings. */
const LONG_INTEGER = /(?:^|[\[,:\s])-?\d{16,}(?:[\],}\s]|$)/;

/**
 * isInteger reports whether digits at a position are a whole number that does not begin with 0, and not the decimals or
 * the exponent of a number.
 */
function isInteger(part: string, at: number, digits: string): boolean {
  return !/[\d.eE+-]/.test(part[at - 1] ?? "") && !/^-?0/.test(digits);
}

/** outsideStrings changes the parts of a JSON text between its strings. */
function outsideStrings(text: string, change: (part: string) => string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('"', at);
    if (open < 0) break;
    let close = text.indexOf('"', open + 1);
    while (close > 0 && isEscaped(text, close)) close = text.indexOf('"', close + 1);
    if (close < 0) return text; // invalid JSON, which JSON.parse reports
    parts.push(change(text.slice(at, open)), text.slice(open, close + 1));
    at = close + 1;
  }
  parts.push(change(text.slice(at)));
  return parts.join("");
}

/** isEscaped reports whether an odd number of backslashes precedes a position. */
function isEscaped(text: string, place: number): boolean {
  let before = place;
  while (text[before - 1] === "\\") before--;
  return (place - before) % 2 === 1;
}

/** stringifyJSON is JSON.stringify with bigint as a quantity: 0x and hex digits. */
export function stringifyJSON(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? quantity(v) : v));
}

/** quantity writes an integer from 0 to 2^64 - 1 as 0x and hex digits. */
export function quantity(value: bigint): string {
  if (value < 0n || value >= 1n << 64n) throw new RangeError(`${value} is not an unsigned 64-bit integer`);
  return `0x${value.toString(16)}`;
}
