// What a contract's sources declare: functions with @init, @read and @write, classes with @event, @error, @record and @tuple,
// and enums.
import { CommonFlags, NodeKind } from "assemblyscript";
import { BadType, isVoid, typeOf } from "./types.mjs";

const MODES = ["init", "read", "write"];

/** So many parameters or fields an SDK writes (docs/protocol.md, "ABI"). */
const MAX_PARAMETERS = 16;

/** An error in a contract, with the place. */
export class ContractError extends Error {
  constructor(node, message) {
    const { source, start } = node.range;
    const line = source.text.slice(0, start).split("\n").length;
    super(`${source.normalizedPath}:${line}: ${message}`);
    this.name = "ContractError";
    this.stack = this.message;
  }
}

function decoratorNames(node) {
  return (node.decorators ?? []).map((d) => d.name.text).filter(Boolean);
}

/** The functions of an entry file that can be called. */
export function contractFunctions(source, declared) {
  const found = [];
  for (const node of source.statements) {
    const decorators = decoratorNames(node);
    const modes = MODES.filter((mode) => decorators.includes(mode));
    if (node.kind !== NodeKind.FunctionDeclaration) {
      if (modes.length > 0) throw new ContractError(node, `@${modes[0]} is for functions`);
      continue;
    }
    if (modes.length === 0) {
      if (decorators.includes("payable")) throw new ContractError(node, "@payable is for functions with @init or @write");
      continue;
    }
    found.push(contractFunction(node, modes, decorators.includes("payable"), declared));
  }
  return found;
}

/** Whether an entry file exports _reentrant, which lets the contract be called while it is on the call stack. */
export function isReentrant(source) {
  const named = (node) => node.kind === NodeKind.FunctionDeclaration && node.name.text === "_reentrant";
  return source.statements.some((node) => named(node) && Boolean(node.flags & CommonFlags.Export));
}

function contractFunction(node, modes, payable, declared) {
  const name = node.name.text;
  if (modes.length > 1) throw new ContractError(node, `${name} is @${modes.join(" and @")}`);
  const [mode] = modes;
  if (!(node.flags & CommonFlags.Export)) throw new ContractError(node, `${name} is @${mode}, but not exported`);
  if ((mode === "init") !== (name === "init")) throw new ContractError(node, "@init and the name init belong together");
  if (name.startsWith("_") || name === "memory") throw new ContractError(node, `a function called ${name} cannot be called`);
  if (payable && mode === "read") throw new ContractError(node, `${name} is @read: no coins come with it`);
  if (node.typeParameters?.length) throw new ContractError(node, `${name} has type parameters`);
  const { parameters, returnType } = node.signature;
  if (parameters.length > MAX_PARAMETERS) throw new ContractError(node, `${name} has more than ${MAX_PARAMETERS} parameters`);
  for (const p of parameters) {
    if (p.initializer || p.parameterKind !== 0) throw new ContractError(p, "a parameter is neither optional nor a rest; use Option<T>");
  }
  return {
    name,
    mode,
    payable,
    args: parameters.map((p) => ({ name: p.name.text, type: checked(p, p.type, declared) })),
    returns: isVoid(returnType) ? null : checked(node, returnType, declared),
  };
}

function checked(node, type, declared) {
  try {
    return typeOf(type, declared);
  } catch (error) {
    if (error instanceof BadType) throw new ContractError(node, error.message);
    throw error;
  }
}

/** The classes with a decorator: { name, node, exported, fields: [{ name, owner, node }], end }, end being where the class's } stands. */
export function decoratedClasses(source, decorator) {
  const found = [];
  for (const node of source.statements) {
    if (!decoratorNames(node).includes(decorator)) continue;
    if (node.kind !== NodeKind.ClassDeclaration) throw new ContractError(node, `@${decorator} is for classes`);
    const name = node.name.text;
    const constructor = node.members.find((m) => m.kind === NodeKind.MethodDeclaration && m.is(CommonFlags.Constructor));
    const stray = node.members.find((m) => m.kind === NodeKind.FieldDeclaration && m.parameterIndex < 0 && !m.is(CommonFlags.Static));
    if (!constructor || stray || node.extendsType) {
      throw new ContractError(node, `the fields of ${name} are the parameters of its constructor, and nothing else`);
    }
    const fields = constructor.signature.parameters.map((p) => {
      if (!p.implicitFieldDeclaration) throw new ContractError(p, `${p.name.text} is not a field: write public before it`);
      return { name: p.name.text, owner: p, node: p.type };
    });
    found.push({ name, node, exported: node.is(CommonFlags.Export), fields, end: node.range.end - 1 });
  }
  return found;
}

/** Whether the entry file of a contract declares functions that can be called. */
export function hasFunctions(source) {
  return source.statements.some((node) => decoratorNames(node).some((name) => MODES.includes(name)));
}

/**
 * The types of sources by name: { kind: record, tuple or enum; name, source, exported, fields or variants }. Of two with one name
 * there is { twice: true }: it may not be part of the ABI.
 */
export function declaredTypes(sources) {
  const found = new Map();
  const add = (type) => found.set(type.name, found.has(type.name) ? { twice: true } : type);
  for (const source of sources) {
    for (const kind of ["record", "tuple"]) {
      for (const c of decoratedClasses(source, kind)) add({ ...c, kind, source });
    }
    for (const node of source.statements.filter((n) => n.kind === NodeKind.EnumDeclaration)) {
      if (node.values.some((v) => v.initializer)) continue; // numbers of its own: none of the ABI
      const variants = node.values.map((v) => v.name.text);
      add({ kind: "enum", name: node.name.text, variants, exported: node.is(CommonFlags.Export), source });
    }
  }
  return found;
}

/** The events of a source. */
export function events(source, declared) {
  return decoratedClasses(source, "event").map((c) => withTypes(c, declared));
}

/** The typed errors of a source, each with its code: the argument of the decorator. */
export function errors(source, declared) {
  return decoratedClasses(source, "error").map((c) => {
    const [argument, ...more] = c.node.decorators.find((d) => d.name.text === "error").args ?? [];
    const text = argument ? source.text.slice(argument.range.start, argument.range.end) : "";
    if (more.length > 0 || !/^\d{1,10}$/.test(text) || Number(text) > 0xffffffff) {
      throw new ContractError(c.node, `the error ${c.name} needs its code: @error(1)`);
    }
    return { ...withTypes(c, declared), code: Number(text) };
  });
}

function withTypes(c, declared) {
  if (c.fields.length > MAX_PARAMETERS) throw new ContractError(c.node, `${c.name} has more than ${MAX_PARAMETERS} fields`);
  return { ...c, fields: c.fields.map(({ name, owner, node }) => ({ name, type: checked(owner, node, declared) })) };
}

/** The records and tuples of a source; `type` is that of the ABI, if they are of one. */
export function records(source, declared) {
  return ["record", "tuple"].flatMap((kind) => decoratedClasses(source, kind)).map((c) => ({
    ...c,
    fields: c.fields.map(({ name, node }) => ({ name, source: source.text.slice(node.range.start, node.range.end) })),
    type: abiType(c.name, declared),
  }));
}

/** The type of the ABI that a class of a name is; none if it is for storage only. */
function abiType(name, declared) {
  try {
    return typeOf({ name: { identifier: { text: name } } }, declared);
  } catch (error) {
    if (error instanceof BadType) return undefined;
    throw error;
  }
}
