// An owner that is a contract: when it is paid, it tries to have the same proposal executed again.
import { Account, Call, caller, Cell } from "@cairn-chain/contract";

const proposal = new Cell<u32>("proposal");

/** Its export allows calls of the contract while it is on the call stack. */
export function _reentrant(): void {}

@write
export function confirm(multisig: Account, id: u32): void {
  proposal.set(id);
  new Call(multisig, "confirm").u32("id", id).send();
}

@write
@payable
export function take(): void {
  new Call(caller(), "execute").u32("id", proposal.get()).send();
}
