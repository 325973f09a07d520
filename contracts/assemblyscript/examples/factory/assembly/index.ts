// Creates a contract with the same code for each user, at an address that is known in advance. The deployer of the
// template chose the code of all of them; code that never calls `replaceCode` never changes.
import { Account, Bytes, Call, caller, Cell, codeHash, emit, Hash, instanceOf, Map, Option, require, revert, self } from "@cairn-chain/contract";

@storage
const copied = new Cell<Account>("template");
@storage
const made = new Map<Account, Account>("made"); // by a user

@event
class Made {
  constructor(
    public contract: Account,
    public user: Account,
  ) {}
}

/** The template cannot be changed. */
@init
export function init(template: Account): void {
  if (!codeHash(template)) revert("there is no such template");
  copied.set(template);
}

@read
export function template(): Account {
  return copied.get();
}

/** A user's contract, if it exists. */
@read
export function contractOf(user: Account): Option<Account> {
  return made.has(user) ? Option.some<Account>(made.get(user)) : Option.none<Account>();
}

/** The address of a user's contract, even before it exists. Coins can already be sent there. */
@read
export function addressOf(user: Account): Account {
  if (made.has(user)) return made.get(user);
  const code = codeHash(copied.get());
  if (!code) revert("there is no such template");
  return instanceOf(self(), code!, saltOf(user));
}

/** Creates the caller's contract, with encoded arguments for its init. */
@write
export function make(args: Bytes): Account {
  const user = caller();
  require(!made.has(user), "it was made already");
  const contract = new Call(copied.get(), "instance").raw(args).create(saltOf(user));
  made.set(user, contract);
  emit(new Made(contract, user));
  return contract;
}

/** Each user has one contract. */
function saltOf(user: Account): Hash {
  return changetype<Hash>(user); // both are 32 bytes
}
