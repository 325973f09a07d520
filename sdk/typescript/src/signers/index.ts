export { PolicySigner, SingleSigner } from "./policy.js";
export { P256Signer } from "./p256.js";
export { TextSigner, wallets, type SignText } from "./text.js";
export { PasskeySigner, candidatesOf, createPasskeyAccount, findPasskeyAccount, type Credentials, type Passkey, type PasskeyOptions } from "./passkey.js";
export { Draft, type WrittenDraft } from "./draft.js";
export type { Cosigner, Statement } from "../statement.js";
