// What the transform refuses, and where it says the fault is.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { compile } from "../transform/compile.mjs";

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

test("says where the compiler found a fault", async () => {
  await writeFile("index.ts", `${IMPORT}\n@event\nclass E { constructor(public a: u8) {} }\n\n@read\nexport function f(): u8 { return missing; }`);
  await assert.rejects(compile("index.ts"), /index\.ts\(6,/);
});
