// Sources that the transform refuses, and the line that each error names.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { compile } from "../transform/compile.mjs";
import { mergeSegments } from "../transform/segments.mjs";

let directory;
const home = process.cwd();

before(async () => {
  // Below the SDK, so that the compiler finds the package.
  directory = await mkdtemp(`${import.meta.dirname}/contract-`);
  process.chdir(directory);
});

after(async () => {
  process.chdir(home);
  await rm(directory, { recursive: true });
});

const IMPORT = 'import { Account, Cell, Hash, emit } from "@cairn-chain/contract";';

for (const [name, source, message] of [
  ["no function", "export function f(): void {}", "index.ts: no function has the decorator @init, @read or @write"],
  ["a function that is not exported", "\n\n@read\nfunction f(): void {}", "index.ts:3: f is @read, but not exported"],
  ["two modes", "@read\n@write\nexport function f(): void {}", "index.ts:1: f is @read and @write"],
  ["another name with @init", "@init\nexport function f(): void {}", "index.ts:1: @init and the name init belong together"],
  ["init with @write", "@write\nexport function init(): void {}", "index.ts:1: @init and the name init belong together"],
  ["a name that cannot be called", "@read\nexport function _f(): void {}", "index.ts:1: a function called _f cannot be called"],
  ["the memory's name", "@read\nexport function memory(): void {}", "index.ts:1: a function called memory cannot be called"],
  ["coins for @read", "@read\n@payable\nexport function f(): void {}", "index.ts:1: f is @read: no coins come with it"],
  ["@payable alone", "@payable\nexport function f(): void {}", "index.ts:1: @payable is for functions with @init or @write"],
  ["@read on a class", "@read\nclass C {}", "index.ts:1: @read is for functions"],
  ["type parameters", "@read\nexport function f<T>(): void {}", "index.ts:1: f has type parameters"],
  ["a type of another size", "@read\nexport function f(a: usize): void {}", "index.ts:2: the type usize is not of the ABI"],
  ["a float", "@read\nexport function f(): f64 { return 0; }", "index.ts:1: the type f64 is not of the ABI"],
  ["a type that may be null", "@read\nexport function f(a: string | null): void {}", "index.ts:2: this type is not of the ABI"],
  ["a default", "@read\nexport function f(a: u8 = 1): void {}", "index.ts:2: a parameter is neither optional nor a rest; use Option<T>"],
  ["an event with other fields", "@event\nclass E { a: u8 = 0; constructor(public b: u8) {} }\n@read\nexport function f(): void {}",
    "index.ts:1: the fields of E are the parameters of its constructor, and nothing else"],
  ["an event without constructor", "@event\nclass E {}\n@read\nexport function f(): void {}",
    "index.ts:1: the fields of E are the parameters of its constructor, and nothing else"],
  ["a field that is none", "@event\nclass E { constructor(b: u8) {} }\n@read\nexport function f(): void {}",
    "index.ts:2: b is not a field: write public before it"],
  ["a record that is not exported", "@record\nclass R { constructor(public a: u8) {} }\n@read\nexport function f(a: R): void {}",
    "index.ts:4: R is part of the ABI, but not exported"],
  ["a record that holds itself", "@record\nexport class R { constructor(public a: R[]) {} }\n@read\nexport function f(a: R): void {}",
    "index.ts:4: the type R nests too deep"],
  ["a tuple of one", "@tuple\nexport class R { constructor(public a: u8) {} }\n@read\nexport function f(a: R): void {}",
    "index.ts:4: the tuple R has not 2 to 8 fields"],
  ["a type without a capital", "@record\nexport class r { constructor(public a: u8) {} }\n@read\nexport function f(a: r): void {}",
    "index.ts:4: the name of the type r begins with no capital letter"],
  ["an enum with numbers", "export enum E { A = 1 }\n@read\nexport function f(a: E): void {}", "index.ts:3: the type E is not of the ABI"],
  ["an Option of an Option", "@read\nexport function f(a: Option<Option<u8>>): void {}", "index.ts:2: an Option of an Option is not of the ABI"],
  ["an error without code", "@error\nclass E { constructor() {} }\n@read\nexport function f(): void {}",
    "index.ts:1: the error E needs its code: @error(1)"],
  ["two errors of a code", "@error(1)\nclass E { constructor() {} }\n@error(1)\nclass F { constructor() {} }\n@read\nexport function f(): void {}",
    "two errors have the code 1"],
  ["two names in storage", `${IMPORT}\nconst a = new Cell<u8>("x");\nconst b = new Cell<u64>("x");\n@read\nexport function f(): void {}`,
    'index.ts:3: two names in storage are "x"'],
  ["a name in storage with a byte 0", `${IMPORT}\nconst a = new Cell<u8>("x\\0");\n@read\nexport function f(): void {}`,
    "index.ts:2: a name in storage has no byte 0"],
  ["@storage on another variable", `${IMPORT}\n@storage\nconst a: u8 = 1;\n@read\nexport function f(): void {}`,
    "index.ts:3: @storage is for a Cell, List or Map of a name"],
  ["@storage on a function", "@storage\nfunction a(): void {}\n@read\nexport function f(): void {}", "index.ts:1: @storage is for a Cell, List or Map"],
  ["a name that is no identifier", `${IMPORT}\n@storage\nconst a = new Cell<u8>("x y");\n@read\nexport function f(): void {}`,
    'index.ts:3: the name "x y" is no plain identifier'],
  ["a stored type that is not of the ABI", `${IMPORT}\n@record\nclass R { constructor(public a: u8) {} }\n@storage\nconst a = new Cell<R>("x");\n@read\nexport function f(): void {}`,
    "index.ts:5: R is part of the ABI, but not exported"],
  ["a stored list", `${IMPORT}\n@storage\nconst a = new Cell<u8[]>("x");\n@read\nexport function f(): void {}`, "index.ts:3: lists and options are stored in records only"],
  ["an enum as a described key", `import { Map } from "@cairn-chain/contract";\nexport enum E { A }\n@storage\nconst a = new Map<E, u8>("x");\n@read\nexport function f(): void {}`,
    "index.ts:4: an enum is no key that the ABI describes"],
  ["bytes of no number", "@bytes\nexport class B {}\n@read\nexport function f(a: B): void {}", "index.ts:1: B has 1 to 256 bytes: @bytes(4)"],
  ["too many bytes", "@bytes(257)\nexport class B {}\n@read\nexport function f(a: B): void {}", "index.ts:1: B has 1 to 256 bytes: @bytes(4)"],
  ["bytes with members", "@bytes(4)\nexport class B { a: u8 }\n@read\nexport function f(a: B): void {}", "index.ts:1: B is @bytes: the class is empty"],
  ["a union of nothing", "@union\nexport class U {}\n@read\nexport function f(a: U): void {}", "index.ts:1: no class with @variant extends U"],
  ["a variant of nothing", "@variant\nexport class V {}\n@read\nexport function f(): void {}",
    "index.ts:1: V is @variant, but extends no class with @union of this file"],
  ["two variants of a name", '@union\nclass U {}\n@variant\nclass V extends U {}\n@variant("V")\nclass W extends U {}\n@read\nexport function f(): void {}',
    "index.ts:5: two variants of U are called V"],
  ["an invariant with arguments", "@invariant\nexport function f(a: u8): void {}", "index.ts:1: f is @invariant: a function with no arguments"],
  ["an invariant that is called", "@invariant\n@read\nexport function f(): void {}", "index.ts:1: f is @invariant: a function with no arguments"],
  ["an event that is a function", "@event\nfunction E(): void {}\n@read\nexport function f(): void {}", "index.ts:1: @event is for classes"],
]) {
  test(`refuses ${name}`, async () => {
    await writeFile("index.ts", source);
    await assert.rejects(compile("index.ts"), (error) => error.message.includes(message) || assert.fail(error.message));
  });
}

test("gives what a contract of several files declares", async () => {
  await writeFile("events.ts", "@event\nexport class E { constructor(public list: Array<u8>) {} }");
  await writeFile("index.ts", `${IMPORT}\nimport { E } from "./events";\n@write\nexport function f(a: Account[]): Hash { emit(new E([1])); return new Hash(); }`);
  const module = new WebAssembly.Module(await compile("index.ts"));
  const [section] = WebAssembly.Module.customSections(module, "cairn_abi");
  assert.deepEqual(JSON.parse(Buffer.from(section).toString()), {
    abi: 2,
    binary: true,
    functions: [{ name: "f", mode: "write", args: [{ name: "a", type: "account[]" }], returns: "hash" }],
    events: [{ name: "E", args: [{ name: "list", type: "u8[]" }] }],
  });
  assert.deepEqual(WebAssembly.Module.exports(module).map((e) => e.name), ["f", "memory"]);
});

test("describes names in storage that have @storage", async () => {
  await writeFile("kept.ts", `import { Account, Map as Table } from "@cairn-chain/contract";
@record
export class Kept { constructor(public at: u64) {} }
@storage
export const table = new Table<Account, Kept>("table");`);
  await writeFile("index.ts", `${IMPORT}\nimport { table } from "./kept";\n@storage\nconst count = new Cell<u64>("count");\nconst other = new Cell<u8>("other");
@write\nexport function f(a: Account): u64 { other.set(1); return count.get() + table.get(a).at; }`);
  const [section] = WebAssembly.Module.customSections(new WebAssembly.Module(await compile("index.ts")), "cairn_abi");
  const { types, storage } = JSON.parse(Buffer.from(section).toString());
  assert.deepEqual(types, [{ name: "Kept", kind: "record", fields: [{ name: "at", type: "u64" }] }]);
  assert.equal(storage.encoding, "bare");
  assert.deepEqual(storage.cells.sort((a, b) => (a.name < b.name ? -1 : 1)), [
    { name: "count", kind: "cell", value: "u64" },
    { name: "table", kind: "map", key: "account", value: "Kept" },
  ]);
});

test("has invariants where they are asked for, and only there", async () => {
  await writeFile("index.ts", "@read\nexport function f(): void {}\n@invariant\nexport function holds(): void { unreachable(); }");
  const functions = async (options) => {
    const code = await compile("index.ts", options);
    const [section] = WebAssembly.Module.customSections(new WebAssembly.Module(code), "cairn_abi");
    return { names: JSON.parse(Buffer.from(section).toString()).functions.map((f) => f.name), size: code.length };
  };
  const [deployed, asked] = [await functions({}), await functions({ invariants: true })];
  assert.deepEqual([deployed.names, asked.names], [["f"], ["f", "holds"]]);
  assert.ok(deployed.size < asked.size);
});

test("puts neighbouring data segments together", async () => {
  await writeFile("index.ts", `import { revert } from "@cairn-chain/contract";\n@write\nexport function f(a: string): void { revert(a == "one" ? "two" : "three"); }`);
  const code = await compile("index.ts");
  const twice = mergeSegments(code);
  assert.deepEqual(twice, code);
  assert.ok(WebAssembly.validate(code));
  assert.equal(mergeSegments(withSegments([128, "ab"], [132, "cd"], [328, "ef"], [331, "g"])).toString("hex"),
    withSegments([128, "ab\0\0cd"], [328, "ef\0g"]).toString("hex"));
  for (const overlapping of [withSegments([0, "ab"], [1, "cd"]), withSegments([4, "a"], [4, "b"])]) {
    assert.deepEqual(mergeSegments(overlapping), overlapping);
  }
});

/** A module with a memory and data segments at addresses from 64 to 2^13. */
function withSegments(...segments) {
  const content = segments.flatMap(([at, text]) => [0, 0x41, (at & 0x7f) | 0x80, at >> 7, 0x0b, text.length, ...Buffer.from(text)]);
  const memory = [5, 3, 1, 0, 1];
  return Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...memory, 11, content.length + 1, segments.length, ...content]);
}

test("says where the compiler found a fault", async () => {
  await writeFile("index.ts", `${IMPORT}\n@event\nclass E { constructor(public a: u8) {} }\n\n@read\nexport function f(): u8 { return missing; }`);
  await assert.rejects(compile("index.ts"), /index\.ts\(6,/);
});
