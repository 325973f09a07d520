// Which contracts are tokens. The node says: one that answers for a balance and for decimals, whatever it declares.
import { RpcError, type rpc } from "@cairn-chain/sdk";
import { abiOf, client } from "./node";

type Id = `0x${string}`;

/** NOBODY is the zero account. */
export const NOBODY: Id = `0x${"0".repeat(64)}`;

const read = (name: string, returns: string, ...args: rpc.ABIParameter[]): rpc.ABIFunction => ({ name, mode: "read", args, returns });

/** NEP20 is the part of the standard that pages read: what a token has that declares nothing. */
const NEP20: rpc.ABI = {
  functions: [
    read("name", "string"), read("symbol", "string"), read("decimals", "u32"), read("totalSupply", "u64"),
    read("balanceOf", "u64", { name: "address", type: "account" }),
  ],
  events: [
    { name: "Transfer", args: [{ name: "from", type: "account" }, { name: "to", type: "account" }, { name: "amount", type: "u64" }] },
  ],
};

const FAILED = -32010; // it has no such function, or does not answer as a token does
const NO_CONTRACT = -32011;

/** tokenAbi is what a token declares, or what the standard has where it declares nothing; null of what is no token. */
export async function tokenAbi(id: Id): Promise<rpc.ABI | null> {
  const asked = client.call("svc_getTokenBalance", id, NOBODY).catch((error: unknown) => {
    if (error instanceof RpcError && (error.code === FAILED || error.code === NO_CONTRACT)) return null;
    throw error;
  });
  const [abi, answer] = await Promise.all([abiOf(id), asked]);
  if (answer === null) return null;
  return abi?.functions.some(({ name }) => name === "balanceOf") ? abi : NEP20;
}
