import { isKey } from "./address.js";
import { CodecError, decode, encode, type Reader, type Writer } from "./codec.js";
import { from32, toHex, type Account } from "./hex.js";
import { MAX_INPUT } from "./policy.js";

/** The version of transactions, blocks and parameters that this package knows. */
export const VERSION = 2;
/** The last millisecond of the year 9999: the latest time of a block and of `validUntil`. */
export const MAX_TIME = 253_402_300_799_999n;

/** An announced upgrade: a new version of blocks, and the time in milliseconds from which it applies. */
export interface Upgrade {
  version: number;
  from: bigint;
}

/** The rules that a chain's admin may change (docs/protocol.md, "Parameters"). */
export interface Parameters {
  version: number;
  gasLimit: bigint;
  blockBytes: number;
  targetBps: number;
  minBaseFee: bigint;
  maxBaseFee: bigint;
  producer: Account;
  feeRecipient: Account;
  /** the only account that may send a Configure */
  admin: Account;
  /** the shortest time from the announcement of an upgrade until it takes effect, in milliseconds */
  notice: bigint;
  upgrade: Upgrade | null;
}

export function writeParameters(w: Writer, p: Parameters): void {
  w.u32(p.version).u64(p.gasLimit).u32(p.blockBytes).u16(p.targetBps).u64(p.minBaseFee).u64(p.maxBaseFee);
  w.fixed(from32(p.producer), 32).fixed(from32(p.feeRecipient), 32).fixed(from32(p.admin), 32).u64(p.notice);
  w.option(p.upgrade, (w, { version, from }) => w.u32(version).u64(from));
}

export function readParameters(r: Reader): Parameters {
  const version = r.u32();
  if (version !== VERSION) throw new CodecError(`unknown version ${version} of parameters`);
  return {
    version, gasLimit: r.u64(), blockBytes: r.u32(), targetBps: r.u16(), minBaseFee: r.u64(), maxBaseFee: r.u64(),
    producer: toHex(r.fixed(32)), feeRecipient: toHex(r.fixed(32)), admin: toHex(r.fixed(32)), notice: r.u64(),
    upgrade: r.option((r) => ({ version: r.u32(), from: r.u64() })),
  };
}

/** encodeParameters returns the encoded parameters: 139 bytes, or 151 with an upgrade. */
export function encodeParameters(parameters: Parameters): Uint8Array {
  return encode((w) => writeParameters(w, parameters));
}

/** decodeParameters reads parameters, strictly. It throws a {@link CodecError}. */
export function decodeParameters(bytes: Uint8Array): Parameters {
  return decode(bytes, MAX_INPUT, readParameters);
}

/** versionAt returns the version of a block with the given timestamp under these parameters. */
export function versionAt({ version, upgrade }: Pick<Parameters, "version" | "upgrade">, timestamp: bigint): number {
  return upgrade && timestamp >= upgrade.from ? upgrade.version : version;
}

const gasTarget = (gasLimit: bigint, targetBps: number): bigint => (gasLimit * BigInt(targetBps)) / 10_000n;

/** parametersFault returns the bound that parameters violate; undefined if they violate none. */
export function parametersFault(p: Parameters): string | undefined {
  const within = (value: bigint, low: bigint, high: bigint): boolean => low <= value && value <= high;
  if (p.version !== VERSION) return "version";
  if (!within(p.gasLimit, 3_000_000n, 1n << 40n)) return "gas limit";
  if (!within(BigInt(p.blockBytes), 1n << 20n, 1n << 25n)) return "block bytes";
  if (p.targetBps < 1 || p.targetBps > 9_999 || gasTarget(p.gasLimit, p.targetBps) < 10_000n) return "target";
  if (!within(p.minBaseFee, 1n, 1n << 40n) || p.minBaseFee > p.maxBaseFee) return "least base fee";
  if (p.maxBaseFee >= 1n << 53n) return "most base fee";
  if (!isKey(p.producer)) return "producer";
  if (p.notice > 1n << 40n) return "notice";
  return p.upgrade && p.upgrade.from > MAX_TIME ? "upgrade" : undefined;
}

/**
 * changeFault returns why parameters are not a valid change of the current ones in a block with the given timestamp;
 * undefined if they are.
 */
export function changeFault(present: Parameters, next: Parameters, timestamp: bigint): string | undefined {
  const fault = parametersFault(next);
  if (fault !== undefined) return fault;
  if (next.notice < present.notice) return "a shorter notice";
  const { upgrade: to } = next;
  if (!to || (present.upgrade?.version === to.version && present.upgrade.from === to.from)) return undefined;
  if (to.version !== VERSION + 1) return `an upgrade to version ${to.version}`;
  return to.from < timestamp + next.notice ? "an upgrade with too short a notice" : undefined;
}

/** nextBaseFee returns the base fee of the block after a header (EIP-1559), under the parameters after it. */
export function nextBaseFee(
  { gasUsed, gasLimit, baseFee }: { gasUsed: bigint; gasLimit: bigint; baseFee: bigint },
  { targetBps, minBaseFee, maxBaseFee }: Pick<Parameters, "targetBps" | "minBaseFee" | "maxBaseFee">,
): bigint {
  const target = gasTarget(gasLimit, targetBps);
  const off = gasUsed > target ? gasUsed - target : target - gasUsed;
  let change = (baseFee * off) / target / 8n;
  if (change < 1n) change = 1n;
  let next = baseFee;
  if (gasUsed > target) next += change;
  if (gasUsed < target) next -= change < next ? change : next;
  if (next < minBaseFee) next = minBaseFee;
  return next > maxBaseFee ? maxBaseFee : next;
}
