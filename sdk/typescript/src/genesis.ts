import type { Network } from "./address.js";
import { MAX_U64 } from "./amounts.js";
import { CodecError, decode, encode, type Reader } from "./codec.js";
import { tagged } from "./hash.js";
import { from32, toHex, type Account, type Hash } from "./hex.js";
import { MAX_TIME, parametersFault, readParameters, writeParameters, type Parameters } from "./parameters.js";

/**
 * Genesis defines a chain's first state. `network` determines the address prefix. No header contains it, so a verifier
 * must know it.
 */
export interface Genesis {
  chainId: bigint;
  network: Network;
  /** milliseconds since 1970 */
  time: bigint;
  baseFee: bigint;
  parameters: Parameters;
  allocations: { account: Account; balance: bigint }[];
}

const MAX_ALLOCATIONS = 2 ** 24;
const MAX_GENESIS = 186 + 40 * MAX_ALLOCATIONS;

export function encodeGenesis({ chainId, network, time, baseFee, parameters, allocations }: Genesis): Uint8Array {
  return encode((w) => {
    writeParameters(w.u64(chainId).string(network).u64(time).u64(baseFee), parameters);
    w.list(allocations, (w, { account, balance }) => w.fixed(from32(account), 32).u64(balance));
  });
}

function readGenesis(r: Reader): Genesis {
  return {
    chainId: r.u64(), network: r.string(MAX_GENESIS) as Network, time: r.u64(), baseFee: r.u64(), parameters: readParameters(r),
    allocations: r.list(Math.floor(r.left / 40), (r) => ({ account: toHex(r.fixed(32)), balance: r.u64() })),
  };
}

/** decodeGenesis reads a genesis, strictly. It throws a {@link CodecError}, also for an invalid genesis. */
export function decodeGenesis(bytes: Uint8Array): Genesis {
  const genesis = decode(bytes, MAX_GENESIS, readGenesis);
  const fault = genesisFault(genesis);
  if (fault !== undefined) throw new CodecError(`the genesis is not valid: ${fault}`);
  return genesis;
}

function genesisFault({ network, time, baseFee, parameters, allocations }: Genesis): string | undefined {
  if (!["mainnet", "testnet", "regtest"].includes(network)) return `the network ${JSON.stringify(network)}`;
  if (time > MAX_TIME) return "the time";
  const fault = parametersFault(parameters);
  if (fault !== undefined) return `the parameters: ${fault}`;
  if (parameters.upgrade) return "an announced upgrade";
  if (baseFee < parameters.minBaseFee || baseFee > parameters.maxBaseFee) return "the base fee";
  if (allocations.length > MAX_ALLOCATIONS) return "too many allocations";
  let [before, sum] = ["", 0n];
  for (const { account, balance } of allocations) {
    if (account <= before) return "allocations that do not ascend";
    if (balance < 1n) return "an allocation of nothing";
    before = account;
    sum += balance;
  }
  return sum > MAX_U64 ? "more than 2^64 - 1 units in all" : undefined;
}

/** genesisParent returns the parent hash of header 0. */
export function genesisParent(genesis: Genesis): Hash {
  return toHex(tagged("cairn/genesis/v2", encodeGenesis(genesis)));
}
