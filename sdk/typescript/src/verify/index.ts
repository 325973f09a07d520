export * from "./block.js";
export * from "../lists.js";
export * from "../merkle.js";
export * from "./follow.js";
export * from "./read.js";
export { evidenceHolds, proofsHold, transactionFault, verifyMessage, verifyP256, verifySeal, witnessHolds } from "./signatures.js";
export { VerifyError, type Trust } from "../view/trust.js";
