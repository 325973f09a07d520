// Tests docs/view-vectors.json: valid proofs of views give the stated result, and changed ones are refused at the
// stated step.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromHex, toHex, type Account, type Hex, type rpc } from "@cairn-chain/sdk";
import { IncompleteError, VerifyError, execute, verifyView, type Outcome, type Trust } from "@cairn-chain/sdk/view";

interface Vectors {
  chainId: number;
  producer: Account;
  contract: Account;
  code: Hex;
  answers: { function: string; args: Hex; proof: rpc.ViewProof; outcome: string; output: Hex }[];
  refused: { about: string; step: string; with: Partial<rpc.ViewProof> }[];
}
const vectors: Vectors = JSON.parse(readFileSync(new URL("../../../docs/view-vectors.json", import.meta.url), "utf8"));
const trust: Trust = { chainId: BigInt(vectors.chainId), network: "regtest", producer: vectors.producer };

function answered(asked: { function: string; args: Hex }, proof: rpc.ViewProof): Outcome {
  const codes = [fromHex(vectors.code)];
  return execute(verifyView(trust, { contract: vectors.contract, function: asked.function, args: fromHex(asked.args), codes }, proof));
}

test("proofs of views in the vectors hold", () => {
  for (const v of vectors.answers) {
    const got = answered(v, v.proof);
    assert.deepEqual([got.outcome, toHex(got.data)], [v.outcome, v.output], v.function);
  }
  assert.equal(vectors.answers.length, 5);
});

test("changed proofs of views in the vectors are refused", () => {
  const honest = vectors.answers[0]!;
  for (const v of vectors.refused) {
    const step = (e: unknown): string => {
      if (e instanceof VerifyError) return e.step;
      if (!(e instanceof IncompleteError)) return String(e);
      return /the witness has \d+ codes/.test(e.message) ? "code" : "execute"; // an unused code shows only at the end
    };
    assert.throws(() => answered(honest, { ...honest.proof, ...v.with }), (e) => step(e) === v.step, `${v.about}: ${v.step}`);
  }
  assert.ok(vectors.refused.length > 10);
});
