// Detects tokens. A contract is a token if it answers calls for a balance and for decimals, whatever its ABI declares.
import { RpcError, type rpc } from "@cairn-chain/sdk";
import { abiOf, client } from "./node";

type Id = `0x${string}`;

/** NOBODY is the zero account. */
export const NOBODY: Id = `0x${"0".repeat(64)}`;

const read = (name: string, returns: string, ...args: rpc.ABIParameter[]): rpc.ABIFunction => ({ name, mode: "read", args, returns });

/** NEP20 is the part of the standard's ABI that pages use for tokens without their own ABI. */
const NEP20: rpc.ABI = {
  functions: [
    read("name", "string"), read("symbol", "string"), read("decimals", "u32"), read("totalSupply", "u64"),
    read("balanceOf", "u64", { name: "address", type: "account" }),
  ],
  events: [
    { name: "Transfer", args: [{ name: "from", type: "account" }, { name: "to", type: "account" }, { name: "amount", type: "u64" }] },
  ],
};

const FAILED = -32010; // it has no such function, or its answer is not a token's
const NO_CONTRACT = -32011;

/** tokenAbi returns a token's ABI, or the standard's if it declares none; null if the contract is no token. */
export async function tokenAbi(id: Id): Promise<rpc.ABI | null> {
  const asked = client.call("svc_getTokenBalance", id, NOBODY).catch((error: unknown) => {
    if (error instanceof RpcError && (error.code === FAILED || error.code === NO_CONTRACT)) return null;
    throw error;
  });
  const [abi, answer] = await Promise.all([abiOf(id), asked]);
  if (answer === null) return null;
  return abi?.functions.some(({ name }) => name === "balanceOf") ? abi : NEP20;
}
