// The types of the ABI and the code that reads and writes their JSON.

/** Of each type of AssemblyScript that has a type in the ABI: that type, and the method of Reader and of Writer. */
const BASES = {
  bool: { abi: "bool", read: "bool", write: "bool" },
  u8: { abi: "u8", read: "u8", write: "u8", integer: true },
  u32: { abi: "u32", read: "u32", write: "u32", integer: true },
  u64: { abi: "u64", read: "u64", write: "u64", integer: true },
  i64: { abi: "i64", read: "i64", write: "i64", integer: true },
  string: { abi: "string", read: "string", write: "string" },
  Bytes: { abi: "bytes", read: "bytes", write: "bytes" },
  Account: { abi: "account", read: "account", write: "bytes32", topic: true },
  Hash: { abi: "hash", read: "hash", write: "bytes32", topic: true },
};

/** What a type that is not of the ABI is refused with. */
export class BadType extends Error {}

/**
 * The type that a node of the syntax tree names: { source, abi, base | element | held }. A list has an element, an
 * optional what it holds.
 */
export function typeOf(node) {
  const name = node?.name?.identifier?.text;
  const args = node?.typeArguments ?? [];
  if (!name || node.isNullable || node.name.next) throw new BadType("this type is not of the ABI");
  if (name === "Array" && args.length === 1) {
    const element = typeOf(args[0]);
    return { source: `Array<${element.source}>`, abi: element.abi + "[]", element };
  }
  if (name === "Option" && args.length === 1) {
    const held = typeOf(args[0]);
    return { source: `Option<${held.source}>`, abi: held.abi + "?", held };
  }
  const base = Object.hasOwn(BASES, name) ? BASES[name] : undefined;
  if (!base || args.length > 0) throw new BadType(`the type ${name} is not of the ABI`);
  return { source: name, abi: base.abi, base };
}

/** Whether a function has no result. */
export function isVoid(node) {
  return node?.name?.identifier?.text === "void";
}

/** Writes the code that reads and writes values, and collects the functions that lists and optionals need. */
export class Codec {
  functions = [];
  #names = new Map();

  /** @param names what the code calls the SDK's types: { Reader, Writer, Option } */
  constructor(names) {
    this.names = names;
  }

  /** An expression that reads a value of a type. */
  read(type, reader) {
    if (type.base) return `${reader}.${type.base.read}()`;
    return `${this.#function("__read", type, (name) => this.#reader(name, type))}(${reader})`;
  }

  /** A statement that writes a value of a type. */
  write(type, writer, value) {
    if (type.base) return `${writer}.${type.base.write}(${value});`;
    return `${this.#function("__write", type, (name) => this.#writer(name, type))}(${writer}, ${value});`;
  }

  #function(verb, type, body) {
    const key = verb + type.abi;
    if (!this.#names.has(key)) {
      this.#names.set(key, verb + this.#names.size);
      this.functions.push(body(this.#names.get(key)));
    }
    return this.#names.get(key);
  }

  #source(type) {
    if (type.element) return `Array<${this.#source(type.element)}>`;
    if (type.held) return `${this.names.Option}<${this.#source(type.held)}>`;
    return this.names[type.source] ?? type.source;
  }

  #reader(name, type) {
    const { Reader, Option } = this.names;
    const source = this.#source(type);
    if (type.held) {
      return (
        `function ${name}(r: ${Reader}): ${source} { ` +
        `if (r.nothing()) return ${Option}.none<${this.#source(type.held)}>(); ` +
        `return ${Option}.some<${this.#source(type.held)}>(${this.read(type.held, "r")}); }`
      );
    }
    return (
      `function ${name}(r: ${Reader}): ${source} { const list = new ${source}(); ` +
      `for (let more = r.list("${type.abi}"); more; more = r.more()) list.push(${this.read(type.element, "r")}); return list; }`
    );
  }

  #writer(name, type) {
    const head = `function ${name}(w: ${this.names.Writer}, v: ${this.#source(type)}): void { `;
    if (type.held) {
      return head + `if (v.exists) { ${this.write(type.held, "w", "v.value")} } else { w.nothing(); } }`;
    }
    return (
      head +
      `w.byte(91); for (let i = 0; i < v.length; i++) { if (i > 0) w.byte(44); ` +
      `${this.write(type.element, "w", "v[i]")} } w.byte(93); }`
    );
  }
}

/** Text as an expression for the address of its UTF-8 bytes, and their number. */
export function data(text) {
  const bytes = typeof text === "string" ? [...Buffer.from(text)] : text;
  return { at: `memory.data<u8>([${bytes.join(",")}])`, length: bytes.length };
}
