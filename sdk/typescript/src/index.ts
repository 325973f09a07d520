export * from "./hex.js";
export * from "./amounts.js";
export * from "./address.js";
export * from "./errors.js";
export { CodecError } from "./codec.js";
export * from "./parameters.js";
export {
  PolicyError, checkPolicy, decodePolicy, encodePolicy, makeRule, policyHash, sameSigner, singlePolicy,
  type Policy, type PublicSigner, type Recovery, type Rule,
} from "./policy.js";
export {
  claim, decodeProof, decodeWitness, encodeProof, encodeWitness, witnessDigest, type Evidence, type Proof, type Role, type Sighash, type Witness,
} from "./witness.js";
export {
  LIMITS, ZERO, contractId, decodeSigned, decodeTransaction, decodeUnsigned, encodeForEstimate, encodePayload, encodeTransaction, encodeUnsigned,
  feeCap, instanceId, keyAccount, movedAmount, payerHash, policyAccount, ruleOf, signTransaction, signedHash, staticFault, transactionHash,
  type Party, type Payload, type Signed, type SignedTransaction, type Signer, type Step, type StepPayload, type Transaction,
} from "./transaction.js";
export * from "./action.js";
export * from "./text.js";
export * from "./bip322.js";
export * from "./statement.js";
export { MAX_SPONSORED, sponsor } from "./sponsor.js";
export * from "./gas.js";
export * from "./block.js";
export * from "./receipt.js";
export * from "./record.js";
export * from "./genesis.js";
export { forms, type Form } from "./forms.js";
export { tagged } from "./hash.js";
export { parseJSON, stringifyJSON } from "./json.js";
export * from "./client.js";
export { Signal } from "./signal.js";
export type * as rpc from "./generated.js";
export type { BlockRef, Methods, NonceRef, Receipt } from "./generated.js";
export * from "./abi.js";
export { shapeOf, type Shape } from "./abivalues.js";
export * from "./storage.js";
export * from "./contract.js";
export * from "./stream.js";
