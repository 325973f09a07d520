// In tests, hashes and signature checks give the results of a node (contracts/rust/host_test.go writes the lines).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { blake3, ecdsaRecover, keccak256, p256Verify, schnorrVerify, sha256 } from "../testing/cryptography.mjs";
import { witnessHolds } from "../testing/witness.mjs";

const bytes = (hex) => Buffer.from(hex, "hex");
const hashes = { sha256, keccak256, blake3 };

function result([name, ...given]) {
  if (name === "schnorr_verify") return String(Number(schnorrVerify(...given.map(bytes))));
  if (name === "ecdsa_recover") return ecdsaRecover(...given.map(bytes))?.toString("hex") ?? "-";
  if (name === "p256_verify") return String(Number(p256Verify(...given.map(bytes))));
  if (name === "account_verify") {
    const [account, message, witness] = given.map((word) => bytes(word.replace(".", "")));
    return String(Number(witnessHolds(31337n, Buffer.alloc(32), account, message, witness)));
  }
  return hashes[name](Buffer.from(Array.from({ length: Number(given[0]) }, (_, i) => i % 251))).toString("hex");
}

test("as on a node", () => {
  const lines = readFileSync(new URL("../../../testdata/host.txt", import.meta.url), "utf8").trim().split("\n");
  assert.ok(lines.length > 100, `got ${lines.length} lines, want over 100`);
  for (const line of lines) {
    const words = line.split(" ");
    assert.equal(result(words.slice(0, -1)), words.at(-1), line);
  }
});
