import {
  decodeArguments, decodeResult, decodeRevert, encodeArguments, type Abi, type AbiFunction, type ArgsOf, type Parameter, type ValueOf,
} from "./abi.js";
import type { Client } from "./client.js";
import type { BlockRef, Event, Receipt } from "./generated.js";
import { RevertError, RpcError } from "./errors.js";
import type { Account, Hex } from "./hex.js";
import { watchEvents, type Stream, type StreamOptions } from "./stream.js";
import type { Action, StepAction } from "./action.js";

type TypesOf<A extends Abi> = A["types"] extends infer N extends NonNullable<Abi["types"]> ? N : [];
type ResultOf<F extends AbiFunction, A extends Abi> = F extends { returns: infer R extends string } ? ValueOf<R, TypesOf<A>> : undefined;
type Given<F extends AbiFunction, A extends Abi> = F["args"] extends readonly [] ? [args?: Record<string, never>]
  : [args: ArgsOf<F["args"], TypesOf<A>>];

/** CallAction calls a contract. */
export type CallAction = Extract<StepAction, { type: "call" }>;

/**
 * Contract has a function for each function of the contract: a view asks the node, and a call returns an action to
 * send.
 */
export interface Contract<A extends Abi> {
  readonly id: Account;
  readonly view: { [F in Extract<A["functions"][number], { mode: "read" }> as F["name"]]:
    (...args: [...Given<F, A>, block?: BlockRef]) => Promise<ResultOf<F, A>> };
  /** actions for a sender: sender.send(gold.call.transfer({ to, amount: 150n })) */
  readonly call: { [F in Extract<A["functions"][number], { mode: "write" }> as F["name"]]:
    (...args: F extends { payable: true } ? [...Given<F, A>, value?: bigint] : Given<F, A>) => CallAction };
  /** result reads the result of a call of a function from its receipt. */
  result<N extends A["functions"][number]["name"]>(name: N, receipt: Pick<Receipt, "returnData">): ResultOf<Extract<A["functions"][number], { name: N }>, A>;
  /**
   * watch follows the contract's events with a name, like {@link watchEvents}. If an event does not have its declared
   * types, `args` throws an AbiError.
   */
  watch<N extends A["events"][number]["name"]>(name: N, options?: StreamOptions & { cursor?: string; fromBlock?: number }): Stream<
    { event: Event; args: ArgsOf<Extract<A["events"][number], { name: N }>["args"], TypesOf<A>> }
  >;
  /**
   * events pages through the contract's events with a name, ascending. Pass the `cursor` of the last one to continue.
   * `args` is as in `watch`.
   */
  events<N extends A["events"][number]["name"]>(name: N, options?: { cursor?: string; fromBlock?: number; limit?: number }): Promise<
    { event: Event; args: ArgsOf<Extract<A["events"][number], { name: N }>["args"], TypesOf<A>> }[]
  >;
}

type InitOf<A extends Abi> = Extract<A["functions"][number], { mode: "init" }>;

type InitArgs<A extends Abi> = [InitOf<A>] extends [never] ? { args?: undefined }
  : InitOf<A>["args"] extends readonly [] ? { args?: Record<string, never> } : { args: ArgsOf<InitOf<A>["args"], TypesOf<A>> };

function initArgs(abi: Abi, args: object | undefined): Hex {
  return encodeArguments(abi.functions.find((f) => f.mode === "init")?.args ?? [], args, abi);
}

/** deploy deploys a contract's code with the arguments of its init function. */
export function deploy<const A extends Abi>(
  abi: A, what: { name: string; code: Uint8Array | Hex; value?: bigint } & InitArgs<A>,
): Extract<Action, { type: "deploy" }> {
  return { type: "deploy", value: what.value ?? 0n, name: what.name, code: what.code, initArgs: initArgs(abi, what.args) };
}

/**
 * instantiate makes another contract with the code of an existing one, the template, and the arguments of its init
 * function. It costs a fraction of a deploy: the code is neither sent nor compiled again.
 */
export function instantiate<const A extends Abi>(
  abi: A, what: { name: string; template: Account; value?: bigint } & InitArgs<A>,
): Extract<Action, { type: "instantiate" }> {
  return { type: "instantiate", value: what.value ?? 0n, name: what.name, template: what.template, initArgs: initArgs(abi, what.args) };
}

type ErrorsOf<A extends Abi> = A["errors"] extends infer E extends NonNullable<Abi["errors"]> ? E[number] : never;
type ErrorOf<E, A extends Abi> = E extends { name: infer N; code: infer C }
  ? { error: N; code: C; data: E extends { fields: infer F extends readonly Parameter[] } ? ArgsOf<F, TypesOf<A>> : undefined } : never;
/** RevertOf is a typed error of the contract. */
export type RevertOf<A extends Abi> = ErrorOf<ErrorsOf<A>, A>;

/** revertOf reads a call's error as one of the contract's typed errors; undefined if it is none of them. */
export function revertOf<const A extends Abi>(abi: A, failure: unknown): RevertOf<A> | undefined {
  const data = failure instanceof RevertError ? failure.data : failure instanceof RpcError ? failure.data["revertData"] : undefined;
  const revert = typeof data === "string" ? decodeRevert(abi, data as Hex) : undefined;
  if (revert?.error === undefined || revert.by !== undefined) return undefined;
  return { error: revert.error, code: revert.code, data: revert.data } as unknown as RevertOf<A>;
}

/**
 * contract types a deployed contract by its ABI. Arguments are sent in the binary form if the ABI says that the
 * contract accepts it. With `readable`, the arguments of calls are sent as JSON, which costs more gas and which a
 * Bitcoin wallet can show.
 */
export function contract<const A extends Abi>(abi: A, id: Account, client: Client, options: { readable?: boolean } = {}): Contract<A> {
  const written: Abi = options.readable ? { ...abi, binary: false } : abi;
  const view: Record<string, unknown> = Object.create(null);
  const call: Record<string, unknown> = Object.create(null);
  for (const f of abi.functions) {
    if (f.mode === "read") {
      view[f.name] = async (args?: object, block: BlockRef = "latest") => {
        const data = await client.call("svc_viewCall", id, f.name, encodeArguments(f.args, args, abi), block);
        return decodeResult(f.returns, data, abi, f.name);
      };
    } else if (f.mode === "write") {
      call[f.name] = (args?: object, value = 0n): CallAction => {
        return { type: "call", value, contract: id, function: f.name, args: encodeArguments(f.args, args, written) };
      };
    }
  }
  /** typed decodes an event when its args are read, so that an undecodable event does not end a list. */
  const typed = (event: Event): unknown => {
    let args: unknown;
    const declared = abi.events.find((e) => e.name === event.event_name);
    return { event, get args() { return (args ??= decodeArguments(declared?.args ?? [], event.data, abi, event.event_name)); } };
  };
  const events = async (name: string, options: { cursor?: string; fromBlock?: number; limit?: number } = {}): Promise<unknown> => {
    const filter = {
      contract_id: id, event_name: name, ...(options.limit !== undefined && { limit: options.limit }),
      ...(options.cursor !== undefined ? { cursor: options.cursor } : options.fromBlock !== undefined && { from_block: options.fromBlock }),
    };
    const found = await client.call("svc_getEvents", filter);
    return found.map(typed);
  };
  const watch = (name: string, options: StreamOptions & { cursor?: string; fromBlock?: number } = {}): Stream<unknown> => {
    const { cursor, fromBlock } = options;
    const from = cursor !== undefined ? { cursor } : fromBlock !== undefined ? { from_block: fromBlock } : {};
    const found = watchEvents(client, { contract_id: id, event_name: name, ...from }, options);
    const each = async function* (): AsyncGenerator<unknown> {
      for await (const event of found) yield typed(event);
    };
    return { status: found.status, [Symbol.asyncIterator]: each };
  };
  const result = (name: string, { returnData }: Pick<Receipt, "returnData">): unknown => {
    return decodeResult(abi.functions.find((f) => f.name === name)?.returns, returnData, abi, name);
  };
  return { id, view, call, result, events, watch } as unknown as Contract<A>;
}
