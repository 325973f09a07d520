export * from "../lists.js";
export * from "../merkle.js";
export * from "./follow.js";
export { evidenceHolds, proofsHold, transactionFault, verifyMessage, verifyP256, verifySeal, witnessHolds } from "./signatures.js";
