// The code that the transform adds to a contract, as text.
import { Codec, data, names, parts } from "./types.mjs";

/** The maximum number of topics of a log. They are the accounts, hashes and integers among an event's first fields. */
const MAX_TOPICS = 3;

/** The names of the SDK's types in the code of the contract's exports. A contract's own class gets a prefix. */
const EXPORTS = Object.fromEntries(["Reader", "Unpacker", "Writer", "Option", "Account", "Hash", "Bytes", "U128", "I128"].map((n) => [n, n]));

/**
 * The file of the contract's exports: each reads its arguments, calls the function and writes the result. `path`
 * returns the import path of a source.
 */
export function exportsFile(sdk, entry, functions, reentrant, path) {
  const used = new Map();
  for (const type of functions.flatMap((f) => [...f.args.map((a) => a.type), ...(f.returns ? [f.returns] : [])]).flatMap(parts)) {
    if (type.declaration) used.set(type.source, type.declaration.source);
  }
  const own = Object.fromEntries([...used.keys()].map((name) => [name, `__type_${name}`]));
  const codec = new Codec({ ...EXPORTS, ...own });
  const bodies = functions.map((f) => exported(f, codec));
  return [
    `import * as contract from "${entry}";`,
    ...[...used].map(([name, source]) => `import { ${name} as ${own[name]} } from "${path(source)}";`),
    `import { Account, Bytes, Hash, Option } from "${sdk}/types";`,
    `import { answer, jsonArguments, packedArguments, receive, refuseCoins } from "${sdk}/arguments";`,
    `import { Members } from "${sdk}/members";`,
    `import { Reader } from "${sdk}/reader";`,
    `import { U128 } from "${sdk}/u128";`,
    `import { I128 } from "${sdk}/i128";`,
    `import { Unpacker } from "${sdk}/unpacker";`,
    `import { Writer } from "${sdk}/writer";`,
    "function __begin(): void {}",
    ...codec.functions,
    ...bodies,
    `export { ${functions.map((f) => `__call_${f.name} as ${f.name}`).join(", ")} };`,
    ...(reentrant ? [`export { _reentrant } from "${entry}";`] : []),
    "",
  ].join("\n");
}

function exported(f, codec) {
  const lines = [`function __call_${f.name}(): void {`, "  __begin();"];
  if (!f.payable) lines.push("  refuseCoins();");
  lines.push("  const binary = receive();");
  f.args.forEach((a, i) => lines.push(`  let a${i}: ${codec.source(a.type)} = ${codec.initial(a.type)};`));
  lines.push("  if (binary) {", "    const args = packedArguments();");
  f.args.forEach((a, i) => lines.push(`    a${i} = ${codec.unpack(a.type, "args")};`));
  lines.push("    args.end();", "  } else {", "    const args = jsonArguments();");
  lines.push(`    ${members(f.args, codec, "Members", "args")}`, "    args.finish();", "  }");
  const call = `contract.${f.name}(${f.args.map((_, i) => "a" + i).join(", ")})`;
  if (f.returns) {
    lines.push(`  const result = ${call};`, "  const writer = new Writer();", "  if (binary) {", "    writer.byte(1);");
    lines.push(`    ${codec.pack(f.returns, "writer", "result")}`);
    lines.push("  } else {", `    ${codec.write(f.returns, "writer", "result")}`, "  }", "  answer(writer);");
  } else {
    lines.push(`  ${call};`);
  }
  return [...lines, "}"].join("\n");
}

/** The code that reads the members of an object to variables a0, a1 and so on. */
function members(fields, codec, Members, reader) {
  const optional = fields.reduce((bits, f, i) => (f.type.held ? bits | (1 << i) : bits), 0);
  const table = fields.length ? names(fields.map((f) => f.name)) : "0";
  const made = `const members = new ${Members}(${reader}, ${table}, ${fields.length}, ${optional});`;
  if (fields.length === 0) return `${made} members.next();`;
  const cases = fields.map((f, i) => `if (i == ${i}) a${i} = ${codec.read(f.type, reader)};`).join(" else ");
  return `${made} for (let i = members.next(); i >= 0; i = members.next()) { ${cases} }`;
}

/** The names of the SDK's types in a contract's own files. */
const OWN = Object.fromEntries(Object.keys(EXPORTS).map((n) => [n, `__${n}`]));

/**
 * Returns the text of a contract's file with the generated code for events, errors and types: methods before each
 * class's closing brace, and the rest after the end. It also inserts the addresses of names in storage. It adds no
 * lines, so that positions in messages stay correct.
 */
export function completed(sdk, text, { events, errors, records, stored }) {
  const codec = new Codec(OWN);
  const edits = [
    ...events.map((e) => ({ at: e.end, code: emitMethod(e, codec) })),
    ...errors.map((e) => ({ at: e.end, code: failMethod(e, codec) })),
    ...records.flatMap((r) => typeEdits(r, codec)),
    ...stored.map((s) => ({ at: s.start, end: s.end, code: storedName(s) })),
  ].sort((a, b) => b.at - a.at);
  for (const { at, end = at, code } of edits) {
    const lines = text.slice(at, end).replace(/[^\n]/g, "");
    text = `${text.slice(0, at)} ${code} ${lines}${text.slice(end)}`;
  }
  const imports = [
    `import { Account as __Account, Bytes as __Bytes, Hash as __Hash, Option as __Option } from "${sdk}/types";`,
    `import { EventWriter as __EventWriter } from "${sdk}/event";`,
    `import { Members as __Members } from "${sdk}/members";`,
    `import { Reader as __Reader } from "${sdk}/reader";`,
    `import { Fields as __Fields, writeField as __writeField } from "${sdk}/storage";`,
    `import { U128 as __U128 } from "${sdk}/u128";`,
    `import { I128 as __I128 } from "${sdk}/i128";`,
    `import { require as __require } from "${sdk}/revert";`,
    `import { Unpacker as __Unpacker } from "${sdk}/unpacker";`,
    `import { Writer as __Writer } from "${sdk}/writer";`,
  ];
  return `${text.trimEnd()} ;${[...imports, ...codec.functions].join(" ")}\n`;
}

function raw(text) {
  const { at, length } = data(text);
  return `w.raw(${at}, ${length});`;
}

/** The statements that write the fields of `this` as an object. */
function object(fields, codec) {
  const members = fields.map((f, i) => raw(`${i ? "," : "{"}${JSON.stringify(f.name)}:`) + codec.write(f.type, "w", `this.${f.name}`));
  return [...members, raw(fields.length ? "}" : "{}")].join(" ");
}

function emitMethod(event, codec) {
  const parts = ["__emit(): void {", "const w = new __EventWriter();", object(event.fields, codec)];
  for (const { name, type } of event.fields.slice(0, MAX_TOPICS)) {
    const signed = /^i\d/.test(type.abi);
    if (type.base?.topic) parts.push(`w.topic32(this.${name});`);
    else if (type.base?.wide) {
      parts.push(`w.topicWide(this.${name}.lo, this.${name}.hi, ${signed ? `this.${name}.isNegative` : "false"});`);
    }
    else if (type.base?.integer) parts.push(`w.topicInteger(${signed ? `<u64><i64>this.${name}, this.${name} < 0` : `<u64>this.${name}, false`});`);
  }
  const name = data(event.name);
  return [...parts, `w.send(${name.at}, ${name.length});`, "}"].join(" ");
}

function failMethod(error, codec) {
  const packed = error.fields.map((f) => codec.pack(f.type, "w", `this.${f.name}`)).join(" ");
  const data = error.fields.length ? `${raw(',"data":')} ${object(error.fields, codec)}` : "";
  return (
    `__fail(w: __Writer, binary: bool): void { if (binary) { w.byte(1); w.integer<u32>(${error.code}); ${packed} } ` +
    `else { ${raw(`{"error":"${error.name}","code":${error.code}`)} ${data} ${raw("}")} } }`
  );
}

/** A name in storage in the SDK's form: the address of its length, its bytes and a byte 0. */
function storedName({ name, type }) {
  const bytes = [...Buffer.from(name)];
  return `changetype<${type}>(${data([bytes.length, ...bytes, 0]).at})`;
}

/** Generates the code for classes of a contract's own types. */
function typeEdits(record, codec) {
  const { type, end } = record;
  if (record.size) return [{ at: end, code: fixedMethods(record) }];
  if (record.variants) return type ? unionEdits(type, end, codec) : [];
  return [{ at: end, code: type ? `${packedMethods(type.source)} ${typeMethods(type, codec)}` : recordMethods(record) }];
}

/** Generates the code that storage, arguments, results and events use for fixed bytes. */
function fixedMethods({ name, size }) {
  return [
    `constructor(public readonly bytes: __Bytes = new StaticArray<u8>(${size})) { __require(bytes.length == ${size}, "${name} has ${size} bytes"); }`,
    `@operator("==") equals(other: ${name}): bool { for (let i = 0; i < ${size}; i++) { if (this.bytes[i] != other.bytes[i]) return false; } return true; }`,
    `@operator("!=") differs(other: ${name}): bool { return !this.equals(other); }`,
    `static __read(r: __Reader): ${name} { return new ${name}(r.fixed("bytes${size}", ${size})); }`,
    `static __unpack(r: __Unpacker): ${name} { return new ${name}(r.fixed(${size})); }`,
    "__write(w: __Writer): void { w.bytes(this.bytes); }",
    `__pack(w: __Writer): void { w.raw(changetype<usize>(this.bytes), ${size}); }`,
    packedMethods(name),
  ].join(" ");
}

/**
 * Generates the code that stores an ABI type in the binary form, and the code that reads one that the SDK knows only
 * as a T.
 */
function packedMethods(name) {
  return (
    "__encode(w: __Writer): void { this.__pack(w); } " +
    `__decode(f: __Fields): ${name} { const r = f.unpacker(); const value = ${name}.__unpack(r); r.end(); return value; } ` +
    `__readNew(r: __Reader): ${name} { return ${name}.__read(r); } __unpackNew(r: __Unpacker): ${name} { return ${name}.__unpack(r); }`
  );
}

/** Generates the code for a union and its variants. */
function unionEdits(type, end, codec) {
  const { source: name, of } = type;
  const table = names(of.map((v) => v.name));
  const read = of.map((v, i) => `if (i == ${i} && ${v.fields.length ? "" : "!"}fields) value = ${v.class}.__fields(r); else`);
  const unpack = of.map((v, i) => `if (i == ${i}) return ${v.class}.__take(r);`);
  const union = [
    `static __read(r: __Reader): ${name} { const fields = r.beginVariant("${name}"); const i = r.find(${table}, ${of.length});`,
    `let value = changetype<${name}>(0); ${read.join(" ")} r.refuse("${name}"); if (fields) r.endVariant("${name}"); return value; }`,
    `static __unpack(r: __Unpacker): ${name} { const i = r.variant(${of.length}); ${unpack.join(" ")} return changetype<${name}>(0); }`,
    "__write(w: __Writer): void { } __pack(w: __Writer): void { }",
    packedMethods(name),
  ].join(" ");
  return [{ at: end, code: union }, ...of.map((v, i) => ({ at: v.end, code: variantMethods(v, i, codec) }))];
}

function variantMethods(variant, position, codec) {
  const { class: name, fields } = variant;
  const variables = fields.map((f, i) => `let a${i}: ${codec.source(f.type)} = ${codec.initial(f.type)};`).join(" ");
  const made = `return new ${name}(${fields.map((_, i) => "a" + i).join(", ")});`;
  const quoted = JSON.stringify(variant.name);
  const text = fields.length ? `${raw(`{${quoted}:`)} ${object(fields, codec)} ${raw("}")}` : raw(quoted);
  return [
    `static __fields(r: __Reader): ${name} { ${variables} ${fields.length ? members(fields, codec, "__Members", "r") : ""} ${made} }`,
    `static __take(r: __Unpacker): ${name} { ${fields.map((f, i) => `const a${i} = ${codec.unpack(f.type, "r")};`).join(" ")} ${made} }`,
    `__write(w: __Writer): void { ${text} }`,
    `__pack(w: __Writer): void { w.integer<u32>(${position}); ${fields.map((f) => codec.pack(f.type, "w", `this.${f.name}`)).join(" ")} }`,
  ].join(" ");
}

/** Generates the code for a record that is for storage only. */
function recordMethods(record) {
  const write = record.fields.map((f) => `__writeField<${f.source}>(w, this.${f.name});`);
  const read = record.fields.map((f) => `f.read<${f.source}>()`);
  return (
    `__encode(w: __Writer): void { ${write.join(" ")} } ` +
    `__decode(f: __Fields): ${record.name} { return new ${record.name}(${read.join(", ")}); } `
  );
}

/** Generates the code that arguments, results and events use for a record or tuple. */
function typeMethods(type, codec) {
  const { source: name, fields, declaration } = type;
  const variables = fields.map((f, i) => `let a${i}: ${codec.source(f.type)} = ${codec.initial(f.type)};`).join(" ");
  const made = `return new ${name}(${fields.map((_, i) => "a" + i).join(", ")});`;
  const tuple = declaration.kind === "tuple";
  const read = tuple ? tupleItems(type, codec) : members(fields, codec, "__Members", "r");
  const items = fields.map((f, i) => `w.byte(${i ? 44 : 91}); ${codec.write(f.type, "w", `this.${f.name}`)}`).join(" ");
  return [
    `static __read(r: __Reader): ${name} { ${variables} ${read} ${made} }`,
    `static __unpack(r: __Unpacker): ${name} { ${fields.map((f, i) => `const a${i} = ${codec.unpack(f.type, "r")};`).join(" ")} ${made} }`,
    `__write(w: __Writer): void { ${tuple ? `${items} w.byte(93);` : object(fields, codec)} }`,
    `__pack(w: __Writer): void { ${fields.map((f) => codec.pack(f.type, "w", `this.${f.name}`)).join(" ")} }`,
  ].join(" ");
}

function tupleItems(type, codec) {
  const abi = `"${type.abi}"`;
  const items = type.fields.map((f, i) => `${i ? `r.item(${abi}); ` : ""}a${i} = ${codec.read(f.type, "r")};`);
  return `if (!r.list(${abi})) r.refuse(${abi}); ${items.join(" ")} r.closed(${abi});`;
}

/** The ABI as the JSON of the custom section `cairn_abi`: its members in the order of docs/protocol.md. */
export function abi({ functions, events, errors, storage }) {
  const parameters = (list) => list.map(({ name, type }) => ({ name, type: type.abi }));
  const types = new Map();
  const typesOf = (list) => list.map(({ type }) => type);
  const all = [
    ...functions.flatMap((f) => [...typesOf(f.args), f.returns]),
    ...[...events, ...errors].flatMap((e) => typesOf(e.fields)),
    ...storage.flatMap((c) => [c.key, c.value]),
  ];
  for (const type of all.filter(Boolean).flatMap(parts)) {
    if (type.variants) types.set(type.abi, { name: type.abi, kind: "enum", variants: type.variants.map((name) => ({ name })) });
    if (type.declaration?.kind === "record") types.set(type.abi, { name: type.abi, kind: "record", fields: parameters(type.fields) });
    if (type.of) {
      const variants = type.of.map(({ name, fields }) => ({ name, ...(fields.length && { fields: parameters(fields) }) }));
      types.set(type.abi, { name: type.abi, kind: "enum", variants });
    }
  }
  return JSON.stringify({
    abi: 2,
    binary: true,
    ...(types.size && { types: [...types.values()] }),
    functions: functions.map((f) => ({
      name: f.name,
      mode: f.mode,
      ...(f.payable && { payable: true }),
      args: parameters(f.args),
      ...(f.returns && { returns: f.returns.abi }),
    })),
    events: events.map((e) => ({ name: e.name, args: parameters(e.fields) })),
    ...(errors.length && {
      errors: errors.map((e) => ({ name: e.name, code: e.code, ...(e.fields.length && { fields: parameters(e.fields) }) })),
    }),
    ...(storage.length && {
      storage: {
        encoding: "bare",
        cells: storage.map((c) => ({ name: c.name, kind: c.kind, ...(c.key && { key: c.key.abi }), value: c.value.abi })),
      },
    }),
  });
}
