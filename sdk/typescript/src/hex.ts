/** Bytes in hex after 0x, the form of JSON-RPC. */
export type Hex = `0x${string}`;
/** 32 bytes in lower-case hex after 0x: a transaction, a block, a contract's code. */
export type Hash = `0x${string}`;
/** The 32 bytes of an account or a contract in lower-case hex after 0x. */
export type Account = `0x${string}`;

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** toHex returns 0x and two lower-case digits per byte. */
export function toHex(bytes: Uint8Array): Hex {
  let text = "";
  for (const byte of bytes) text += digits[byte];
  return `0x${text}`;
}

/** fromHex reads an even number of digits of either case after 0x. It throws a TypeError for anything else. */
export function fromHex(text: string): Uint8Array {
  if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(text)) throw new TypeError("expected 0x and an even number of hex digits");
  const bytes = new Uint8Array(text.length / 2 - 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(text.slice(2 + 2 * i, 4 + 2 * i), 16);
  return bytes;
}

/** toBytes returns bytes unchanged, and decodes hex. It throws a TypeError for anything else. */
export function toBytes(data: Uint8Array | Hex): Uint8Array {
  return typeof data === "string" ? fromHex(data) : data;
}

/** from32 reads 32 bytes of hex. It throws a TypeError for anything else. */
export function from32(text: string): Uint8Array {
  const bytes = fromHex(text);
  if (bytes.length !== 32) throw new TypeError(`expected 32 bytes in hex, got ${bytes.length}`);
  return bytes;
}

/** equalBytes reports whether a and b hold the same bytes. It is not for secrets. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** compareBytes compares in the order of bytes: the result is negative if a comes before b, and 0 if they are equal. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

/** concat joins arrays of bytes. */
export function concat(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
