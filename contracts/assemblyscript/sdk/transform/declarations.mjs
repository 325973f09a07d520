// The declarations in a contract's sources: functions with @init, @read and @write, classes with @event, @error,
// @record, @tuple, @bytes, @union and @variant, enums, and names in storage.
import { CommonFlags, LiteralKind, NodeKind } from "assemblyscript";
import { BadType, isVoid, typeOf } from "./types.mjs";

const MODES = ["init", "read", "write"];

/** The maximum number of parameters or fields that an SDK writes (docs/protocol.md, "ABI"). */
const MAX_PARAMETERS = 16;

/** An error in a contract, with its position. */
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

/** The callable functions of an entry file, and on request those with @invariant. */
export function contractFunctions(source, declared, invariants) {
  const found = [];
  for (const node of source.statements) {
    const decorators = decoratorNames(node);
    const modes = MODES.filter((mode) => decorators.includes(mode));
    if (decorators.includes("invariant")) {
      const held = invariant(node, modes, declared);
      if (invariants) found.push(held);
      continue;
    }
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

/** A function without arguments that reverts if its condition, which must always hold, does not. */
function invariant(node, modes, declared) {
  const name = node.name?.text;
  const bare = node.kind === NodeKind.FunctionDeclaration && node.signature.parameters.length === 0 && isVoid(node.signature.returnType);
  if (!bare || modes.length > 0) throw new ContractError(node, `${name} is @invariant: a function with no arguments, no result and no mode`);
  return contractFunction(node, ["read"], false, declared);
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

/**
 * The classes with a decorator: { name, node, exported, fields: [{ name, owner, node }], end }, end is the position of
 * the class's }.
 */
export function decoratedClasses(source, decorator) {
  const found = [];
  for (const node of source.statements) {
    if (!decoratorNames(node).includes(decorator)) continue;
    if (node.kind !== NodeKind.ClassDeclaration) throw new ContractError(node, `@${decorator} is for classes`);
    const name = node.name.text;
    const constructor = node.members.find((m) => m.kind === NodeKind.MethodDeclaration && m.is(CommonFlags.Constructor));
    const stray = node.members.find((m) => m.kind === NodeKind.FieldDeclaration && m.parameterIndex < 0 && !m.is(CommonFlags.Static));
    const variant = decorator === "variant";
    if ((!constructor && !variant) || stray || (node.extendsType && !variant)) {
      throw new ContractError(node, `the fields of ${name} are the parameters of its constructor, and nothing else`);
    }
    const fields = (constructor?.signature.parameters ?? []).map((p) => {
      if (!p.implicitFieldDeclaration) throw new ContractError(p, `${p.name.text} is not a field: write public before it`);
      return { name: p.name.text, owner: p, node: p.type };
    });
    found.push({ name, node, exported: node.is(CommonFlags.Export), fields, end: node.range.end - 1 });
  }
  return found;
}

/** The argument of a decorator as text; none if there is none. More than one is an error. */
function decoratorArgument(node, decorator) {
  const [argument, ...more] = node.decorators.find((d) => d.name?.text === decorator).args ?? [];
  if (more.length > 0) throw new ContractError(node, `@${decorator} has one argument`);
  return argument && node.range.source.text.slice(argument.range.start, argument.range.end);
}

/** The classes of a source with a fixed number of bytes, such as @bytes(4). */
function fixedBytes(source) {
  return source.statements.filter((node) => decoratorNames(node).includes("bytes")).map((node) => {
    if (node.kind !== NodeKind.ClassDeclaration) throw new ContractError(node, "@bytes is for classes");
    const name = node.name.text;
    const size = Number(decoratorArgument(node, "bytes"));
    if (!Number.isInteger(size) || size < 1 || size > 256) throw new ContractError(node, `${name} has 1 to 256 bytes: @bytes(4)`);
    if (node.members.length > 0 || node.extendsType) throw new ContractError(node, `${name} is @bytes: the class is empty`);
    return { name, node, exported: node.is(CommonFlags.Export), size, end: node.range.end - 1 };
  });
}

/**
 * The unions of a source: each is a class with @union, and its subclasses with @variant in order. In the ABI, a variant
 * has the name in its decorator, or else that of its class.
 */
function unions(source) {
  const variants = decoratedClasses(source, "variant").map((v) => {
    const text = decoratorArgument(v.node, "variant");
    const named = text === undefined ? v.name : /^"(\w+)"$/.exec(text)?.[1];
    if (!named) throw new ContractError(v.node, `the variant ${v.name} needs a name: @variant("Sold")`);
    return { ...v, named, of: v.node.extendsType?.name.identifier.text };
  });
  const found = source.statements.filter((node) => decoratorNames(node).includes("union")).map((node) => {
    if (node.kind !== NodeKind.ClassDeclaration) throw new ContractError(node, "@union is for classes");
    const name = node.name.text;
    if (node.members.length > 0 || node.extendsType) throw new ContractError(node, `${name} is @union: the class is empty`);
    const own = variants.filter((v) => v.of === name);
    if (own.length === 0) throw new ContractError(node, `no class with @variant extends ${name}`);
    const twice = own.find((v, i) => own.findIndex((other) => other.named === v.named) !== i);
    if (twice) throw new ContractError(twice.node, `two variants of ${name} are called ${twice.named}`);
    return { name, node, exported: node.is(CommonFlags.Export), variants: own, end: node.range.end - 1 };
  });
  const stray = variants.find((v) => !found.some((u) => u.name === v.of));
  if (stray) throw new ContractError(stray.node, `${stray.name} is @variant, but extends no class with @union of this file`);
  return found;
}

/** The classes that make a name in storage, and their kinds in the ABI. */
const STORES = { Cell: "cell", List: "list", Map: "map" };

/** The name under which contracts import the package. */
const PACKAGE = "@cairn-chain/contract";

/**
 * The top-level declarations of a source that are names in storage: { name, node, start, end, type, kind, of }. start
 * to end is the text of the constructor, and `of` holds the nodes of its types. Names made in functions are known only
 * to the SDK, at run time.
 */
export function stored(source) {
  const imported = source.statements.filter((node) => node.kind === NodeKind.Import && node.path.value === PACKAGE);
  const known = new Map(
    imported.flatMap((node) => node.declarations ?? []).filter((d) => Object.hasOwn(STORES, d.foreignName.text))
      .map((d) => [d.name.text, STORES[d.foreignName.text]]),
  );
  const found = [];
  for (const declaration of source.statements.filter((node) => node.kind === NodeKind.Variable).flatMap((node) => node.declarations)) {
    const made = declaration.initializer;
    if (made?.kind !== NodeKind.New || made.typeName.next || !known.has(made.typeName.identifier.text)) continue;
    const [argument, ...more] = made.args;
    if (!made.typeArguments?.length || more.length > 0 || argument?.literalKind !== LiteralKind.String) continue;
    const { start, end } = made.range;
    const types = made.typeArguments.map((t) => source.text.slice(t.range.start, t.range.end)).join(", ");
    const bytes = Buffer.byteLength(argument.value);
    if (argument.value.includes("\0")) throw new ContractError(declaration, "a name in storage has no byte 0");
    if (bytes > 255) throw new ContractError(declaration, `storage name of ${bytes} bytes: at most 255`);
    const { text } = made.typeName.identifier;
    found.push({
      name: argument.value, node: declaration, start, end, type: `${text}<${types}>`, kind: known.get(text), of: made.typeArguments,
    });
  }
  return found;
}

/**
 * The names in storage that a source puts into the ABI with @storage: { name, kind, key, value }. Only a map has a key.
 */
export function cells(source, declared) {
  const all = stored(source);
  const found = [];
  for (const node of source.statements.flatMap((node) => (node.kind === NodeKind.Variable ? node.declarations : [node]))) {
    if (!decoratorNames(node).includes("storage")) continue;
    const made = all.find((s) => s.node === node);
    if (!made) throw new ContractError(node, '@storage is for a Cell, List or Map of a name: const count = new Cell<u64>("count")');
    const { name, kind, of } = made;
    if (!/^[A-Za-z0-9]\w{0,63}$/.test(name)) throw new ContractError(node, `the name ${JSON.stringify(name)} is no plain identifier`);
    const [value, key] = of.map((t) => checked(node, t, declared)).reverse();
    if ([value, key].some((t) => t?.element || t?.held)) throw new ContractError(node, "lists and options are stored in records only");
    if (key?.variants || key?.of) throw new ContractError(node, "an enum is no key that the ABI describes");
    found.push({ name, kind, key, value });
  }
  return found;
}

/** Refuses equal names in storage: two declarations would share one value. */
export function refuseSharedNames(sources) {
  const seen = new Set();
  for (const { name, node } of sources.flatMap(stored)) {
    if (seen.has(name)) throw new ContractError(node, `two names in storage are ${JSON.stringify(name)}`);
    seen.add(name);
  }
}

/** Whether the entry file of a contract declares functions that can be called. */
export function hasFunctions(source) {
  return source.statements.some((node) => decoratorNames(node).some((name) => MODES.includes(name)));
}

/**
 * The types of sources by name: { kind: record, tuple, bytes, union or enum; name, source, exported, fields, size or
 * variants }. Two types of the same name become { twice: true }, which the ABI may not use.
 */
export function declaredTypes(sources) {
  const found = new Map();
  const add = (type) => found.set(type.name, found.has(type.name) ? { twice: true } : type);
  for (const source of sources) {
    for (const kind of ["record", "tuple"]) {
      for (const c of decoratedClasses(source, kind)) add({ ...c, kind, source });
    }
    for (const c of fixedBytes(source)) add({ ...c, kind: "bytes", source });
    for (const c of unions(source)) add({ ...c, kind: "union", source });
    for (const node of source.statements.filter((n) => n.kind === NodeKind.EnumDeclaration)) {
      if (node.values.some((v) => v.initializer)) continue; // an enum with explicit numbers has no form in the ABI
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

/** The typed errors of a source. The code of each is the argument of its decorator. */
export function errors(source, declared) {
  return decoratedClasses(source, "error").map((c) => {
    const text = decoratorArgument(c.node, "error") ?? "";
    if (!/^\d{1,10}$/.test(text) || Number(text) > 0xffffffff) {
      throw new ContractError(c.node, `the error ${c.name} needs its code: @error(1)`);
    }
    return { ...withTypes(c, declared), code: Number(text) };
  });
}

function withTypes(c, declared) {
  if (c.fields.length > MAX_PARAMETERS) throw new ContractError(c.node, `${c.name} has more than ${MAX_PARAMETERS} fields`);
  return { ...c, fields: c.fields.map(({ name, owner, node }) => ({ name, type: checked(owner, node, declared) })) };
}

/** The records, tuples, fixed bytes and unions of a source. `type` is the ABI type, if there is one. */
export function records(source, declared) {
  const classes = ["record", "tuple"].flatMap((kind) => decoratedClasses(source, kind)).map((c) => ({
    ...c,
    fields: c.fields.map(({ name, node }) => ({ name, source: source.text.slice(node.range.start, node.range.end) })),
  }));
  return [...classes, ...fixedBytes(source), ...unions(source)].map((c) => ({ ...c, type: abiType(c.name, declared) }));
}

/** The ABI type of the class with the given name; none if the class is for storage only. */
function abiType(name, declared) {
  try {
    return typeOf({ name: { identifier: { text: name } } }, declared);
  } catch (error) {
    if (error instanceof BadType) return undefined;
    throw error;
  }
}
