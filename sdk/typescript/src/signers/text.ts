import { formatAddress, parseAccount, type Network } from "../address.js";
import { fitsText, parseTextSignature } from "../bip322.js";
import { SignerError } from "../errors.js";
import type { Account, Hex } from "../hex.js";
import type { PublicSigner } from "../policy.js";
import { checkMessage, messageStatement, statementOf, type Cosigner, type Statement } from "../statement.js";
import type { SignedMessage } from "../text.js";
import { checkRole, type Signer, type Transaction } from "../transaction.js";
import { textHolds } from "../verify/signatures.js";
import type { Role, Sighash, Witness } from "../witness.js";

/**
 * SignText makes a Bitcoin wallet sign a text for a taproot address, by BIP-322 *simple*, and returns the signature in
 * base64.
 */
export type SignText = (text: string, address: string) => Promise<string>;

type TextEvidence = { type: "text"; signature: Hex; sighash: Sighash };

/**
 * TextSigner signs with a Bitcoin wallet, which shows people what they sign, for the account of the wallet's taproot address, or as a signer
 * of a policy. Instead of the functions in {@link wallets}, it can use one that asks the user to paste the text into a
 * wallet such as Sparrow.
 */
export class TextSigner implements Signer, Cosigner {
  readonly account: Account;
  readonly signer: PublicSigner;

  /** `owner` is the wallet's taproot address on the chain's network, or its account. */
  constructor(
    readonly network: Network,
    owner: string,
    readonly signText: SignText,
  ) {
    this.account = parseAccount(owner, network);
    this.signer = { type: "key", key: this.account };
  }

  sample(): Witness {
    return { type: "text", signature: `0x${"00".repeat(64)}`, sighash: 0 };
  }

  async sign(tx: Transaction, role: Role): Promise<Witness> {
    checkRole(tx, role, this.account);
    return this.evidence(statementOf(tx, this.network, role));
  }

  async signMessage(message: SignedMessage): Promise<Witness> {
    checkMessage(message, this.account);
    return this.evidence(messageStatement(message, this.network));
  }

  /**
   * evidence throws a {@link SignerError} if there is no text that a wallet can sign, or if the wallet's signature is
   * invalid.
   */
  async evidence({ text }: Statement): Promise<TextEvidence> {
    if (text === undefined) throw new SignerError("no_text", "it has no text: it is valid until after the year 9999");
    if (!fitsText(text)) throw new SignerError("no_text", "its text has more than 4,096 bytes: sign by a key, or in parts");
    const address = formatAddress(this.account, this.network);
    const signed = parseTextSignature(await this.signText(text, address));
    if (!textHolds(this.account, text, signed)) {
      const advice = "see that the wallet signs with this address, and the text to its last line";
      throw new SignerError("does_not_hold", `it is not the signature of the text by ${address}: ${advice}`);
    }
    return { type: "text", ...signed };
  }
}

/**
 * Provider is the object that a browser extension adds to pages. The results of its calls are in the extension's
 * documentation.
 */
type Provider = Record<string, any>;

function provided(...path: string[]): Provider {
  const found = path.reduce<Provider | undefined>((at, name) => at?.[name] as Provider | undefined, globalThis as Provider);
  if (!found) throw new SignerError("not_found", `this browser has no wallet of the name ${path[0]}`);
  return found;
}

/** signatureOf reads the answer of a wallet that speaks JSON-RPC. */
function signatureOf(answer: Provider | undefined): string {
  const signature: unknown = answer?.["result"]?.signature;
  if (typeof signature === "string") return signature;
  throw new SignerError("refused", `the wallet did not sign: ${String(answer?.["error"]?.message ?? "it gives no reason")}`);
}

/**
 * wallets has functions for {@link TextSigner} that use browser extensions. Choose a taproot address in the wallet
 * first.
 */
export const wallets: Readonly<Record<"unisat" | "okx" | "xverse" | "leather", SignText>> = {
  unisat: async (text) => provided("unisat")["signMessage"](text, "bip322-simple"),
  okx: async (text) => provided("okxwallet", "bitcoin")["signMessage"](text, "bip322-simple"),
  xverse: async (text, address) =>
    signatureOf(await provided("XverseProviders", "BitcoinProvider")["request"]("signMessage", { address, message: text, protocol: "BIP322" })),
  leather: async (text) => signatureOf(await provided("LeatherProvider")["request"]("signMessage", { message: text, paymentType: "p2tr" })),
};
