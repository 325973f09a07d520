// The code that the transform adds to a contract, as text.
import { Codec, data } from "./types.mjs";

/** A log has three topics at most: the accounts, hashes and integers among an event's first fields. */
const MAX_TOPICS = 3;

/** The file of the contract's exports: each reads its arguments, calls the function and writes the result. */
export function exportsFile(sdk, entry, functions, reentrant) {
  const codec = new Codec({ Reader: "Reader", Writer: "Writer", Option: "Option" });
  const bodies = functions.map((f) => exported(f, codec));
  return [
    `import * as contract from "${entry}";`,
    `import { Account, Bytes, Hash, Option } from "${sdk}/types";`,
    `import { answer, Arguments, refuseCoins } from "${sdk}/arguments";`,
    `import { Reader } from "${sdk}/reader";`,
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
  const names = data(f.args.flatMap((a) => [Buffer.byteLength(a.name), ...Buffer.from(a.name)]));
  const optional = f.args.reduce((bits, a, i) => (a.type.held ? (bits | (1 << i)) >>> 0 : bits), 0);
  const table = f.args.length ? names.at : "0";
  lines.push(`  const args = new Arguments(${table}, ${f.args.length}, ${optional});`);
  f.args.forEach((a, i) => lines.push(`  let a${i}: ${a.type.source} = ${initial(a.type)};`));
  if (f.args.length === 0) {
    lines.push("  args.next();");
  } else {
    lines.push("  for (let i = args.next(); i >= 0; i = args.next()) {");
    f.args.forEach((a, i) => lines.push(`    ${i ? "else " : ""}if (i == ${i}) a${i} = ${codec.read(a.type, "args")};`));
    lines.push("  }");
  }
  const call = `contract.${f.name}(${f.args.map((_, i) => "a" + i).join(", ")})`;
  if (f.returns) {
    lines.push(`  const result = ${call};`, "  const writer = new Writer();");
    lines.push(`  ${codec.write(f.returns, "writer", "result")}`, "  answer(writer);");
  } else {
    lines.push(`  ${call};`);
  }
  return [...lines, "}"].join("\n");
}

function initial(type) {
  if (type.held) return `Option.none<${type.held.source}>()`;
  if (type.source === "bool") return "false";
  if (type.base?.integer) return "0";
  return `changetype<${type.source}>(0)`;
}

/** What names of the SDK are called in a contract's own files. */
const OWN = { Reader: "__Reader", Writer: "__Writer", Option: "__Option", Account: "__Account", Hash: "__Hash", Bytes: "__Bytes" };

/**
 * The text of a contract's file with what its events and records need: a method before each class's closing brace and
 * the rest behind the end, all without a further line, so that places in messages stay right.
 */
export function completed(sdk, text, events, records) {
  const codec = new Codec(OWN);
  const insertions = [
    ...events.map((e) => ({ at: e.end, code: emitMethod(e, codec) })),
    ...records.map((r) => ({ at: r.end, code: recordMethods(r) })),
  ].sort((a, b) => b.at - a.at);
  for (const { at, code } of insertions) text = `${text.slice(0, at)} ${code} ${text.slice(at)}`;
  const imports = [
    `import { Account as __Account, Bytes as __Bytes, Hash as __Hash, Option as __Option } from "${sdk}/types";`,
    `import { EventWriter as __EventWriter } from "${sdk}/event";`,
    `import { Fields as __Fields, writeField as __writeField } from "${sdk}/storage";`,
    `import { Writer as __Writer } from "${sdk}/writer";`,
  ];
  return `${text.trimEnd()} ;${[...imports, ...codec.functions].join(" ")}\n`;
}

function emitMethod(event, codec) {
  const parts = ["__emit(): void {", "const w = new __EventWriter();"];
  const raw = (text) => {
    const { at, length } = data(text);
    parts.push(`w.raw(${at}, ${length});`);
  };
  event.fields.forEach((f, i) => {
    raw(`${i ? "," : "{"}${JSON.stringify(f.name)}:`);
    parts.push(codec.write(f.type, "w", `this.${f.name}`));
  });
  raw(event.fields.length ? "}" : "{}");
  for (const f of event.fields.slice(0, MAX_TOPICS).filter((f) => f.type.base?.integer || f.type.base?.topic)) {
    if (f.type.base.topic) parts.push(`w.topic32(this.${f.name});`);
    else parts.push(`w.topicInteger(<u64>this.${f.name}, ${f.type.source === "i64" ? `this.${f.name} < 0` : "false"});`);
  }
  const name = data(event.name);
  return [...parts, `w.send(${name.at}, ${name.length});`, "}"].join(" ");
}

function recordMethods(record) {
  const write = record.fields.map((f) => `__writeField<${f.type}>(w, this.${f.name});`);
  const read = record.fields.map((f) => `f.read<${f.type}>()`);
  return (
    `__encode(w: __Writer): void { ${write.join(" ")} } ` +
    `__decode(f: __Fields): ${record.name} { return new ${record.name}(${read.join(", ")}); }`
  );
}

/** The ABI as the JSON of the custom section `cairn_abi`. */
export function abi(functions, events) {
  const parameters = (list) => list.map(({ name, type }) => ({ name, type: type.abi }));
  return JSON.stringify({
    functions: functions.map((f) => ({
      name: f.name,
      mode: f.mode,
      args: parameters(f.args),
      ...(f.returns && { returns: f.returns.abi }),
    })),
    events: events.map((e) => ({ name: e.name, args: parameters(e.fields) })),
  });
}
