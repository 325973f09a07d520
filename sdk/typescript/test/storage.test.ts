import assert from "node:assert/strict";
import { test } from "node:test";
import { AbiError, decodeResult, decodeStored, storageKey, storageSlot, toHex, type Abi, type AbiStorage, type Hex } from "@cairn-chain/sdk";
import { vectors } from "./vectors.js";

interface Section {
  storage: AbiStorage;
  keys: { bytes: string; cell: string; key?: unknown; value: string }[];
  values: { type: string; bytes: string; json: unknown }[];
  unknown_keys: string[];
  refused_values: { type: string; bytes: string }[];
}
const known = vectors.abi as { abi: Abi; storage: Section[] };

/** typed converts a value in JSON to the SDK's form. */
const typed = (type: string, json: unknown): unknown => decodeResult(type, toHex(new TextEncoder().encode(JSON.stringify(json))), known.abi);

test("storage is read by the ABI, in both encodings", () => {
  assert.deepEqual(known.storage.map(({ storage }) => storage.encoding), ["prefixed", "bare"]);
  for (const { storage, keys, values, unknown_keys, refused_values } of known.storage) {
    const abi = { ...known.abi, storage };
    assert.ok(keys.length > 10 && values.length > 14 && unknown_keys.length > 10 && refused_values.length > 10);
    for (const { bytes, cell, key, value } of keys) {
      const slot = storageSlot(abi, `0x${bytes}`);
      const type = slot?.cell.kind === "list" ? "u32" : slot?.cell.key;
      const want = { cell: storage.cells.find(({ name }) => name === cell), value, ...(key !== undefined && { key: typed(type!, key) }) };
      assert.deepEqual(slot, want, `${storage.encoding} ${bytes}`);
      if (key === undefined) assert.equal(storageKey(abi, slot!.cell), `0x${bytes}`);
    }
    for (const { type, bytes, json } of values) assert.deepEqual(decodeStored(abi, type, `0x${bytes}`), typed(type, json), `${storage.encoding} ${type} ${bytes}`);
    for (const bytes of unknown_keys) assert.equal(storageSlot(abi, `0x${bytes}`), undefined, `${storage.encoding} ${bytes}`);
    for (const { type, bytes } of refused_values) {
      assert.throws(() => decodeStored(abi, type, `0x${bytes}`), AbiError, `${storage.encoding} ${type} ${bytes}`);
    }
  }
});

test("what storage cannot hold is refused before it is read", () => {
  for (const { storage } of known.storage) {
    const abi = { ...known.abi, storage: { ...storage, cells: [{ name: "a", kind: "map", key: "bytes", value: "bytes" }] } };
    const long = (head: string, bytes: number): Hex => `0x${head}${"00".repeat(bytes - head.length / 2)}`;
    const bare = storage.encoding === "bare";
    assert.equal(storageSlot(abi, long(bare ? "6100" : "0161fc00", 256))?.cell.name, "a");
    assert.equal(storageSlot(abi, long(bare ? "6100" : "0161fd00", 257)), undefined);
    assert.equal((decodeStored(abi, "bytes", long(bare ? "" : "fe3f", 16 << 10)) as Uint8Array).length, (16 << 10) - (bare ? 0 : 2));
    assert.throws(() => decodeStored(abi, "bytes", long(bare ? "" : "ff3f", (16 << 10) + 1)), AbiError);
    for (const bad of ["", "0", "0x0", "0xzz", "61", "0x 61"]) {
      assert.equal(storageSlot(abi, bad as Hex), undefined, bad);
      assert.throws(() => decodeStored(abi, "bytes", bad as Hex), AbiError, bad);
    }
  }
});

test("no ABI makes a reader throw anything else, or go on without end", () => {
  const record = (name: string, ...types: string[]) => ({ name, kind: "record" as const, fields: types.map((type, i) => ({ name: `f${i}`, type })) });
  const doubled = Array.from({ length: 40 }, (_, i) => record(`D${i}`, `D${i + 1}`, `D${i + 1}`));
  const hostile: Record<string, { types?: unknown; type: string }> = {
    "a type in itself": { types: [record("A", "B"), record("B", "u8", "A")], type: "A" },
    "a list of itself": { types: [record("A", "A[]")], type: "A" },
    "a record of nothing": { types: [record("A")], type: "(A,A)" },
    "an enum of nothing": { types: [{ name: "A", kind: "enum" }], type: "A" },
    "nothing, doubled": { types: [...doubled, record("D40")], type: "D0" },
    "u8, doubled": { types: [...doubled, record("D40", "u8")], type: "D0" },
    "a deep type": { type: `${"(".repeat(50_000)}u8${")".repeat(50_000)}` }, "many optionals": { type: `u8${"?".repeat(50_000)}` },
    "many lists": { type: `u8${"[]".repeat(50_000)}` }, "no types": { types: { find: 5 }, type: "A" }, "types of nothing": { types: [null], type: "A" },
    "fields that are none": { types: [{ name: "A", kind: "record", fields: 5 }], type: "A" },
    "a type that is none": { types: [{ name: "A", kind: "record", fields: [{ name: "a", type: 5 }] }], type: "A" },
    "no text": { type: 5 as unknown as string },
  };
  for (const encoding of ["prefixed", "bare"]) {
    for (const [what, { types, type }] of Object.entries(hostile)) {
      const cells = [{ name: "a", kind: "map", key: type, value: type }];
      const abi = { types, storage: { encoding, cells } } as unknown as Abi;
      assert.throws(() => decodeStored(abi, type, `0x${"01".repeat(16 << 10)}`), AbiError, `${encoding}: ${what}`);
      assert.equal(storageSlot(abi, encoding === "bare" ? "0x610001" : "0x016101"), undefined, `${encoding}: ${what}`);
    }
    for (const cells of [5, null, {}, [null], [5], [{}], [{ name: "a", kind: "cell" }], [{ name: "a", kind: "set", value: "u8" }],
      [{ name: "a", kind: "map", value: "u8" }], [{ name: "a", kind: "cell", key: "u8", value: "u8" }], [{ name: 5, kind: "cell", value: "u8" }]]) {
      const abi = { storage: { encoding, cells } } as unknown as Abi;
      for (const key of ["0x61", "0x0161", "0x6100", "0x016100", "0x", "0x00"] as const) assert.equal(storageSlot(abi, key), undefined, JSON.stringify(cells));
    }
  }
  for (const storage of [undefined, { encoding: "later", cells: [{ name: "a", kind: "cell", value: "u8" }] }]) {
    const abi = storage ? { storage } : {};
    for (const key of ["0x61", "0x0161"] as const) assert.equal(storageSlot(abi, key), undefined);
    assert.throws(() => decodeStored(abi, "u8", "0x01"), AbiError);
  }
});
