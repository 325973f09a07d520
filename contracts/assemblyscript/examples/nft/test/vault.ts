// A contract that keeps a received token, unless the data is 01. With 02 it tries to return the token at once.
import { Account, Bytes, Call, caller, Cell, Option, require, self } from "@cairn-chain/contract";

const last = new Cell<Bytes>("last");

@write
export function onNEP11Payment(from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes>): void {
  const word: u32 = data.exists ? data.value[0] : 0;
  require(word != 1 && amount == 1, "not wanted");
  if (word == 2) new Call(caller(), "transfer").account("to", from).bytes("tokenId", tokenId).none().send();
  last.set(tokenId);
}

/** Fetches a token that it is approved for. */
@write
export function collect(nft: Account, tokenId: Bytes): void {
  new Call(nft, "transfer").account("to", self()).bytes("tokenId", tokenId).none().send();
}

@read
export function received(): Bytes {
  return last.get();
}
