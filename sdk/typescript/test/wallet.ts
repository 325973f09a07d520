// A Bitcoin wallet from independent libraries: bip322-js over bitcoinjs-lib.
import { createRequire } from "node:module";
import type { Network } from "@cairn-chain/sdk";

const require = createRequire(import.meta.url);
const inner = createRequire(require.resolve("bip322-js"));
const [{ Signer }, bitcoin, { default: ECPairFactory }, ecc] = [require("bip322-js"), inner("bitcoinjs-lib"), inner("ecpair"), inner("@bitcoinerlab/secp256k1")];
bitcoin.initEccLib(ecc);

/**
 * bitcoinWallet returns the taproot address of a private key, and a function that signs texts for it by BIP-322, in
 * base64.
 */
export function bitcoinWallet(secret: number, network: Network): { address: string; sign: (text: string) => Promise<string> } {
  const of = bitcoin.networks[network === "mainnet" ? "bitcoin" : network];
  const pair = ECPairFactory(ecc).fromPrivateKey(Buffer.alloc(32, secret), { network: of });
  const { address } = bitcoin.payments.p2tr({ internalPubkey: pair.publicKey.subarray(1, 33), network: of });
  return { address, sign: async (text) => String(Signer.sign(pair.toWIF(), address, text)) };
}
