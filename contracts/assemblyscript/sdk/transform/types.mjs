// The types of the ABI and the code that reads and writes their JSON and their binary form.

const pack = (statement) => (writer, value) => statement.replaceAll("W", writer).replaceAll("V", value);

function integer(name) {
  return { abi: name, read: name, unpack: `integer<${name}>`, write: name, pack: pack(`W.integer<${name}>(V);`), integer: true };
}

/** For each AssemblyScript type with an ABI type: the ABI type, and the functions that read and write it. */
const BASES = {
  bool: { abi: "bool", read: "bool", unpack: "bool", write: "bool", pack: pack("W.byte(V ? 1 : 0);") },
  u8: integer("u8"),
  u16: integer("u16"),
  u32: integer("u32"),
  u64: integer("u64"),
  i8: integer("i8"),
  i16: integer("i16"),
  i32: integer("i32"),
  i64: integer("i64"),
  U128: { abi: "u128", read: "u128", unpack: "u128", write: "u128", pack: pack("W.packU128(V);"), wide: true },
  I128: { abi: "i128", read: "i128", unpack: "i128", write: "i128", pack: pack("W.packI128(V);"), wide: true },
  string: { abi: "string", read: "string", unpack: "string", write: "string", pack: pack("W.packString(V);") },
  Bytes: { abi: "bytes", read: "bytes", unpack: "bytes", write: "bytes", pack: pack("W.packBytes(V);") },
  Account: { abi: "account", read: "account", unpack: "account", write: "bytes32", pack: pack("W.packBytes32(V);"), topic: true },
  Hash: { abi: "hash", read: "hash", unpack: "hash", write: "bytes32", pack: pack("W.packBytes32(V);"), topic: true },
};

/** The maximum nesting depth of an ABI type, including the types that it names. */
const MAX_DEPTH = 16;

/** The error for a type that the ABI does not have. */
export class BadType extends Error {}

/**
 * Returns the type that a node of the syntax tree names: { source, abi } and one of base, element (of a list), held (by
 * an optional), variants (of an enum) and declaration (of a class of the contract). For a record or tuple, `of` holds
 * its fields; for a union, its variants. `declared` are the classes and enums of the contract by name, as
 * declarations.mjs gives them.
 */
export function typeOf(node, declared, depth = 1) {
  const name = node?.name?.identifier?.text;
  const args = node?.typeArguments ?? [];
  if (!name || node.isNullable || node.name.next) throw new BadType("this type is not of the ABI");
  if (depth > MAX_DEPTH) throw new BadType(`the type ${name} nests too deep`);
  if (name === "Array" && args.length === 1) {
    const element = typeOf(args[0], declared, depth + 1);
    return { source: `Array<${element.source}>`, abi: element.abi + "[]", element };
  }
  if (name === "Option" && args.length === 1) {
    const held = typeOf(args[0], declared, depth + 1);
    if (held.held) throw new BadType("an Option of an Option is not of the ABI");
    return { source: `Option<${held.source}>`, abi: held.abi + "?", held };
  }
  if (args.length > 0) throw new BadType(`the type ${name} is not of the ABI`);
  if (Object.hasOwn(BASES, name)) return { source: name, abi: BASES[name].abi, base: BASES[name] };
  const found = declared.get(name);
  if (!found) throw new BadType(`the type ${name} is not of the ABI`);
  if (found.twice) throw new BadType(`two types are called ${name}`);
  if (!found.exported) throw new BadType(`${name} is part of the ABI, but not exported`);
  if (found.kind === "bytes") return { source: name, abi: `bytes${found.size}`, declaration: found };
  if (found.kind !== "tuple" && !/^[A-Z]/.test(name)) throw new BadType(`the name of the type ${name} begins with no capital letter`);
  if (found.kind === "enum") return { source: "i32", abi: name, variants: found.variants };
  const typed = (list) => list.map(({ name, node }) => ({ name, type: typeOf(node, declared, depth + 1) }));
  if (found.kind === "union") {
    const of = found.variants.map((v) => ({ class: v.name, name: v.named, end: v.end, fields: typed(v.fields) }));
    return { source: name, abi: name, of, declaration: found };
  }
  const fields = typed(found.fields);
  if (found.kind === "record") return { source: name, abi: name, fields, declaration: found };
  if (fields.length < 2 || fields.length > 8) throw new BadType(`the tuple ${name} has not 2 to 8 fields`);
  return { source: name, abi: `(${fields.map((f) => f.type.abi).join(",")})`, fields, declaration: found };
}

/** The types that make up a type, and last the type itself. */
export function parts(type) {
  const fields = type.fields ?? type.of?.flatMap((v) => v.fields);
  const inner = fields?.map((f) => f.type) ?? [type.element ?? type.held].filter(Boolean);
  return [...inner.flatMap(parts), type];
}

/** Whether a function has no result. */
export function isVoid(node) {
  return node?.name?.identifier?.text === "void";
}

/** The address of the concatenated names of members or variants, each preceded by its length. */
export function names(list) {
  return data(list.flatMap((name) => [Buffer.byteLength(name), ...Buffer.from(name)])).at;
}

/** Writes the code that reads and writes values, and collects the functions that lists and optionals need. */
export class Codec {
  functions = [];
  #names = new Map();

  /**
   * @param names the names of types in the code: those of the SDK { Reader, Unpacker, Writer, Option }, and a
   * contract's own
   */
  constructor(names) {
    this.names = names;
  }

  /** An expression that reads a value of a type from JSON. */
  read(type, reader) {
    if (type.base) return `${reader}.${type.base.read}()`;
    if (type.variants) return `${reader}.variant("${type.abi}", ${names(type.variants)}, ${type.variants.length})`;
    if (type.declaration) return `${this.source(type)}.__read(${reader})`;
    return `${this.#function("__read", type, (name) => this.#reader(name, type))}(${reader})`;
  }

  /** An expression that reads a value of a type from the binary form. */
  unpack(type, reader) {
    if (type.base) return `${reader}.${type.base.unpack}()`;
    if (type.variants) return `${reader}.variant(${type.variants.length})`;
    if (type.declaration) return `${this.source(type)}.__unpack(${reader})`;
    return `${this.#function("__unpack", type, (name) => this.#unpacker(name, type))}(${reader})`;
  }

  /** A statement that writes a value of a type as JSON. */
  write(type, writer, value) {
    if (type.base) return `${writer}.${type.base.write}(${value});`;
    if (type.variants) return `${writer}.variant(${names(type.variants)}, ${value});`;
    if (type.declaration) return `${value}.__write(${writer});`;
    return `${this.#function("__write", type, (name) => this.#writer(name, type))}(${writer}, ${value});`;
  }

  /** A statement that writes a value of a type in the binary form. */
  pack(type, writer, value) {
    if (type.base) return type.base.pack(writer, value);
    if (type.variants) return `${writer}.integer<u32>(${value});`;
    if (type.declaration) return `${value}.__pack(${writer});`;
    return `${this.#function("__pack", type, (name) => this.#packer(name, type))}(${writer}, ${value});`;
  }

  #function(verb, type, body) {
    const key = verb + type.abi;
    if (!this.#names.has(key)) {
      this.#names.set(key, verb + this.#names.size);
      this.functions.push(body(this.#names.get(key)));
    }
    return this.#names.get(key);
  }

  /** The name of a type in the code. */
  source(type) {
    if (type.element) return `Array<${this.source(type.element)}>`;
    if (type.held) return `${this.names.Option}<${this.source(type.held)}>`;
    return this.names[type.source] ?? type.source;
  }

  /** The initial value of a variable of a type. */
  initial(type) {
    if (type.held) return `${this.names.Option}.none<${this.source(type.held)}>()`;
    if (type.source === "bool") return "false";
    if (type.base?.integer || type.variants) return "0";
    return `changetype<${this.source(type)}>(0)`;
  }

  #reader(name, type) {
    const { Reader } = this.names;
    const source = this.source(type);
    if (type.held) {
      return (
        `function ${name}(r: ${Reader}): ${source} { if (r.nothing()) return ${this.initial(type)}; ` +
        `return ${this.#some(type, this.read(type.held, "r"))}; }`
      );
    }
    return (
      `function ${name}(r: ${Reader}): ${source} { const list = new ${source}(); ` +
      `for (let more = r.list("${type.abi}"); more; more = r.more()) list.push(${this.read(type.element, "r")}); return list; }`
    );
  }

  #unpacker(name, type) {
    const source = this.source(type);
    const head = `function ${name}(r: ${this.names.Unpacker}): ${source} { `;
    if (type.held) {
      return `${head}if (!r.bool()) return ${this.initial(type)}; return ${this.#some(type, this.unpack(type.held, "r"))}; }`;
    }
    return (
      `${head}const list = new ${source}(); ` +
      `for (let n = r.count(); n > 0; n--) list.push(${this.unpack(type.element, "r")}); return list; }`
    );
  }

  #some(type, value) {
    return `${this.names.Option}.some<${this.source(type.held)}>(${value})`;
  }

  #writer(name, type) {
    const head = `function ${name}(w: ${this.names.Writer}, v: ${this.source(type)}): void { `;
    if (type.held) {
      return head + `if (v.exists) { ${this.write(type.held, "w", "v.value")} } else { w.nothing(); } }`;
    }
    return (
      head +
      `w.byte(91); for (let i = 0; i < v.length; i++) { if (i > 0) w.byte(44); ` +
      `${this.write(type.element, "w", "v[i]")} } w.byte(93); }`
    );
  }

  #packer(name, type) {
    const head = `function ${name}(w: ${this.names.Writer}, v: ${this.source(type)}): void { `;
    if (type.held) return head + `w.byte(v.exists ? 1 : 0); if (v.exists) { ${this.pack(type.held, "w", "v.value")} } }`;
    return head + `w.integer<u64>(v.length); for (let i = 0; i < v.length; i++) { ${this.pack(type.element, "w", "v[i]")} } }`;
  }
}

/** Turns text into an expression for the address and the number of its UTF-8 bytes. */
export function data(text) {
  const bytes = typeof text === "string" ? [...Buffer.from(text)] : text;
  return { at: `memory.data<u8>([${bytes.join(",")}])`, length: bytes.length };
}
