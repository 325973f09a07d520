// What a contract's sources declare: functions with @init, @read and @write, classes with @event and @record.
import { CommonFlags, NodeKind } from "assemblyscript";
import { BadType, isVoid, typeOf } from "./types.mjs";

const MODES = ["init", "read", "write"];

/** Arguments has a bit for each parameter. */
const MAX_PARAMETERS = 32;

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
export function contractFunctions(source) {
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
    found.push(contractFunction(node, modes, decorators.includes("payable")));
  }
  return found;
}

/** Whether an entry file exports _reentrant, which lets the contract be called while it is on the call stack. */
export function isReentrant(source) {
  const named = (node) => node.kind === NodeKind.FunctionDeclaration && node.name.text === "_reentrant";
  return source.statements.some((node) => named(node) && Boolean(node.flags & CommonFlags.Export));
}

function contractFunction(node, modes, payable) {
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
    args: parameters.map((p) => ({ name: p.name.text, type: checked(p, p.type) })),
    returns: isVoid(returnType) ? null : checked(node, returnType),
  };
}

function checked(node, type) {
  try {
    return typeOf(type);
  } catch (error) {
    if (error instanceof BadType) throw new ContractError(node, error.message);
    throw error;
  }
}

/** The classes with a decorator: { name, fields: [{ name, node }], end }, end being where the class's } stands. */
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
      return { name: p.name.text, node: p };
    });
    found.push({ name, fields, end: node.range.end - 1 });
  }
  return found;
}

/** The events of a source. */
export function events(source) {
  return decoratedClasses(source, "event").map((c) => ({
    ...c,
    fields: c.fields.map(({ name, node }) => ({ name, type: checked(node, node.type) })),
  }));
}

/** The records of a source. */
export function records(source) {
  return decoratedClasses(source, "record").map((c) => ({
    ...c,
    fields: c.fields.map(({ name, node }) => ({
      name,
      type: source.text.slice(node.type.range.start, node.type.range.end),
    })),
  }));
}
