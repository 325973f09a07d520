import { formatAddress, type Network } from "./address.js";
import { formatCoins } from "./amounts.js";
import { sha256, tagged } from "./hash.js";
import { encode } from "./codec.js";
import { from32, fromHex, toBytes, toHex, type Account, type Hash, type Hex } from "./hex.js";
import { MAX_TIME, type Parameters } from "./parameters.js";
import { policyHash, type Policy, type PublicSigner, type Rule } from "./policy.js";
import { feeCap, transactionHash, type Payload, type Transaction } from "./transaction.js";
import type { Role } from "./witness.js";

const digits = (bytes: Uint8Array): string => toHex(bytes).slice(2);
const coins = (value: bigint): string => `${formatCoins(value)} coins`;
const printable = (bytes: Uint8Array): boolean => bytes.every((byte) => byte >= 0x20 && byte <= 0x7e);
const ascii = (bytes: Uint8Array): string => String.fromCharCode(...bytes);
const hex = (bytes: Account): string => toHex(from32(bytes));
const seconds = (milliseconds: bigint): string => String(milliseconds / 1000n);

/** shown writes bytes chosen by a user: as text if they are short and printable, otherwise as a digest. */
function shown(bytes: Uint8Array, most: number): string {
  if (bytes.length === 0) return "none";
  if (bytes.length <= most && printable(bytes)) return ascii(bytes);
  return `${bytes.length} bytes, SHA-256 ${digits(sha256(bytes))}`;
}

const name = (text: string): string => shown(new TextEncoder().encode(text), 64);
const args = (data: Uint8Array | Hex): string => shown(toBytes(data), 1024);

/** formatMemo writes a memo for signing texts: as text if it is readable, otherwise in hex. */
export function formatMemo(memo: Hex): string {
  const bytes = fromHex(memo);
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0) length--;
  const text = bytes.subarray(0, length);
  return length > 0 && printable(text) ? ascii(text) : memo.toLowerCase();
}

/**
 * formatTime writes a time in milliseconds for signing texts, in UTC and rounded down to seconds; undefined after the
 * year 9999.
 */
export function formatTime(milliseconds: bigint): string | undefined {
  if (milliseconds > MAX_TIME) return undefined;
  return `${new Date(Number(milliseconds)).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Line is a line of a text; undefined if its time cannot be written. */
type Line = string | undefined;

function timeLine(before: string, milliseconds: bigint): Line {
  const text = formatTime(milliseconds);
  return text === undefined ? undefined : before + text;
}

function signerLine(signer: PublicSigner, network: Network): string {
  if (signer.type === "key") return `signer: key ${formatAddress(signer.key, network)}`;
  const line = `signer: ${signer.type} ${toHex(sha256(fromHex(signer.point)))}`;
  return signer.type === "passkey" && signer.verified ? `${line}, verified` : line;
}

const ofSigners = ({ threshold, signers }: Rule): string => `${threshold} of ${signers.length} signers`;

function policyLines(word: string, policy: Policy | null, network: Network): string[] {
  if (!policy) return [`${word}: own`];
  const { owner, recovery } = policy;
  const lines = (rule: Rule): string[] => rule.signers.map((signer) => signerLine(signer, network));
  const first = [`${word}: ${formatAddress(policyHash(policy), network)}`, `owner: ${ofSigners(owner)}`, ...lines(owner)];
  if (!recovery) return [...first, "recovery: none"];
  return [...first, `recovery: ${ofSigners(recovery.rule)}, after ${seconds(recovery.delay)} s`, ...lines(recovery.rule)];
}

function parametersLines(p: Parameters, network: Network): Line[] {
  const numbers = `version ${p.version}, gas limit ${p.gasLimit}, block bytes ${p.blockBytes}, target ${p.targetBps}`;
  return [
    `configure: ${numbers}, base fee ${p.minBaseFee} to ${p.maxBaseFee}, notice ${seconds(p.notice)} s`,
    `producer: ${hex(p.producer)}`, `fees to: ${formatAddress(p.feeRecipient, network)}`, `admin: ${formatAddress(p.admin, network)}`,
    p.upgrade ? timeLine(`upgrade: version ${p.upgrade.version} from `, p.upgrade.from) : "upgrade: none",
  ];
}

/** payloadLines returns the lines of a signing text that describe the payload, for display on a device. */
function payloadLines(p: Payload, target: Account, value: bigint, network: Network): Line[] {
  const money = `value: ${coins(value)}`;
  switch (p.type) {
    case "transfer":
      return [`pay: ${coins(value)}`, `to: ${formatAddress(target, network)}`, ...(p.memo === null ? [] : [`memo: ${formatMemo(p.memo)}`])];
    case "call":
      return [`call: ${name(p.function)}`, `contract: ${hex(target)}`, `arguments: ${args(p.args)}`, money];
    case "deploy": {
      const code = toBytes(p.code);
      return [
        `deploy: ${name(p.name)}`, `code: ${code.length} bytes, SHA-256 ${digits(sha256(code))}`, `arguments: ${args(p.initArgs)}`, money,
      ];
    }
    case "instantiate":
      return [`create: ${name(p.name)}`, `like: ${hex(target)}`, `arguments: ${args(p.initArgs)}`, money];
    case "set_policy":
      return policyLines(p.recovery ? "recover" : "policy", p.policy, network);
    case "configure":
      return parametersLines(p.parameters, network);
    case "batch":
      return p.steps.flatMap((step, i) => [
        `step: ${i + 1} of ${p.steps.length}`, ...payloadLines(step.action, step.target, step.value, network),
      ]);
  }
}

/**
 * signingText returns the text of a transaction in a role. Any Bitcoin wallet with BIP-322 can sign it, and signers
 * should read its lines (docs/protocol.md, "Texts"). It is undefined if a time is after the year 9999, which no block
 * can include.
 */
export function signingText(tx: Transaction, network: Network, role: Role = "sender"): string | undefined {
  const fee = `fee: at most ${coins(feeCap(tx))}`;
  const lines = [
    `Cairn ${role === "payer" ? "fee payment" : "transaction"} on ${network}, chain ${tx.chainId}`,
    ...payloadLines(tx.payload, tx.target, tx.value, network),
    tx.payer === null ? fee : `${fee}, paid by ${formatAddress(tx.payer, network)}`,
    `from: ${formatAddress(tx.sender, network)}`,
    `nonce: ${tx.nonce}`,
    ...(tx.validUntil === null ? [] : [timeLine("until: ", tx.validUntil)]),
    `id: ${transactionHash(tx).slice(2)}`,
  ];
  return lines.includes(undefined) ? undefined : lines.join("\n");
}

/**
 * SignedMessage is a message that an account signs for a contract or, with a zero `contract`, for a use outside of
 * contracts.
 */
export interface SignedMessage {
  chainId: bigint;
  contract: Account;
  account: Account;
  message: Uint8Array;
}

/**
 * messageHash returns the hash that an account signs for a message, and that the host function `account_verify` checks.
 */
export function messageHash({ chainId, contract, account, message }: SignedMessage): Hash {
  const bound = encode((w) => w.u64(chainId).fixed(from32(contract), 32).fixed(from32(account), 32));
  return toHex(tagged("cairn/message/v2", bound, message));
}

/** messageText returns the text of a message, for Bitcoin wallets. */
export function messageText(message: SignedMessage, network: Network): string {
  return [
    `Cairn message on ${network}, chain ${message.chainId}`, `contract: ${hex(message.contract)}`,
    `account: ${formatAddress(message.account, network)}`, `message: ${shown(message.message, 1024)}`, `id: ${messageHash(message).slice(2)}`,
  ].join("\n");
}
