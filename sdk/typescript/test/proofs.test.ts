import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createClient, UnreachableError, watchRangeProofs, type Client } from "@cairn-chain/sdk";
import { MissingProofError, verifyChain, type TrustedBlock, type Verdict, type Verifier } from "@cairn-chain/sdk/proofs";
import { createSender } from "@cairn-chain/sdk/sender";
import { devKey, startProver } from "./node.js";

interface Refusal extends Error {
  handedOver: boolean;
}

const name: string = "@cairn-chain/proof"; // test.sh installs it in node_modules
const { loadVerifier, ProofRefused } = (await import(name)) as { loadVerifier(): Promise<Verifier>; ProofRefused: new () => Refusal };

/** proven runs a chain of 35 proven blocks, with two ranges of sixteen. Three blocks have a transfer. */
async function proven(t: TestContext): Promise<{ url: string; genesis: TrustedBlock }> {
  const { client, url } = await startProver(t, "--block-time", "0", "--proof-bits", "100", "--range-blocks", "16");
  const sender = await createSender(client, devKey(0), { poll: 20 });
  for (const empty of [10, 10, 12]) {
    await sender.send({ type: "transfer", to: devKey(1).account, value: 1n }).receipt;
    await client.call("dev_mine", empty);
  }
  await sender.close();
  for await (const [ranges] of watchRangeProofs(client)) if (ranges?.newest === 32) break;
  await client.proven(35);
  return { url, genesis: { height: 0, hash: (await client.call("svc_getNodeInfo")).genesis_hash } };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

test("a real node's proofs are verified by its longest ranges, and no changed one is accepted", async (t) => {
  const { url, genesis } = await proven(t);
  const verifier = await loadVerifier();
  let change = (_path: string, _bytes: Uint8Array): Uint8Array | null => _bytes;
  const asked: string[] = [];
  const client = createClient(url, {
    fetch: async (input, init) => {
      const path = new URL(String(input)).pathname;
      if (!path.startsWith("/proof/")) return fetch(input, init);
      asked.push(path);
      const answer = await fetch(input, init);
      const changed = answer.status === 200 ? change(path, new Uint8Array(await answer.arrayBuffer())) : null;
      return changed ? new Response(new Uint8Array(changed)) : new Response(null, { status: answer.status === 200 ? 404 : answer.status });
    },
  });
  const during: number[] = [];
  const noted: Verifier = {
    newChain(trusted, bits) {
      const chain = verifier.newChain(trusted, bits);
      return { get height() { return chain.height; }, get hash() { return chain.hash; }, next: (encoded) => (during.push(asked.length), chain.next(encoded)) };
    },
  };
  const options = { to: 35, bits: 100 };
  const steps = await all(verifyChain(client, noted, genesis, options));
  assert.deepEqual(steps.map((step) => [step.fromHeight, step.height]), [[1, 16], [17, 32], [33, 33], [34, 34], [35, 35]]);
  const block = (await client.block(35))!;
  const last = steps.at(-1)!;
  assert.deepEqual([last.blockHash, last.postRoot, last.producerShown], [block.hash, block.stateRoot, true]);
  assert.ok(steps.every((step) => step.securityBits >= 100 && step.bytes > 100));
  assert.deepEqual(asked, ["/proof/1-16", "/proof/17-32", "/proof/33", "/proof/34", "/proof/35"]);
  assert.deepEqual(during, [2, 3, 4, 5, 5], "while one is verified, the next one is fetched");

  const from16 = { height: 16, hash: steps[0]!.blockHash };
  assert.deepEqual((await all(verifyChain(client, verifier, from16, options))).map((step) => step.height), [32, 33, 34, 35]);
  assert.deepEqual(await all(verifyChain(client, verifier, { ...last, hash: last.blockHash }, options)), []);
  const refused = (trusted: TrustedBlock, bits = 100): Promise<void> => {
    return assert.rejects(all(verifyChain(client, verifier, trusted, { to: 35, bits })), (error: Error) => error instanceof ProofRefused);
  };
  await refused({ height: 0, hash: `0x${"11".repeat(32)}` });
  await refused({ height: 16, hash: genesis.hash });
  await refused(genesis, 128);

  const flipped = (at: (length: number) => number) => (path: string, bytes: Uint8Array): Uint8Array => {
    if (path === "/proof/17-32" || path === "/proof/33") bytes[at(bytes.length)]! ^= 4;
    return bytes;
  };
  for (const at of [() => 0, () => 300, (n: number) => n >> 1, (n: number) => n - 1]) {
    change = flipped(at);
    await refused(genesis);
    await refused({ height: 32, hash: steps[1]!.blockHash });
  }
  change = (_, bytes) => bytes.subarray(0, -1);
  await refused(genesis);
  let first: Uint8Array | undefined;
  change = (_, bytes) => (first ??= bytes);
  await refused(genesis); // the same range again
  change = (path, bytes) => (path.includes("-") ? null : bytes);
  assert.equal((await all(verifyChain(client, verifier, genesis, options))).length, 35, "without ranges block by block");
  change = (path, bytes) => (path === "/proof/34" ? null : bytes);
  await assert.rejects(all(verifyChain(client, verifier, genesis, options)), (error: Error) => error instanceof MissingProofError && error.height === 34);
  const aborted = AbortSignal.abort(new Error("enough"));
  await assert.rejects(all(verifyChain(client, verifier, genesis, { ...options, signal: aborted })), /enough/);
  await assert.rejects(createClient("http://127.0.0.1:1").proof(1), UnreachableError);
});

test("a range in which the producer changes is taken by shorter ones", async () => {
  const asked: string[] = [];
  const client = {
    call: async () => ({ range_proofs: [4, 2].map((blocks) => ({ blocks, oldest: 1, newest: 8 })) }),
    proof: async (from: number, to: number) => {
      asked.push(`${from}-${to}`);
      return Uint8Array.of(from, to);
    },
  } as unknown as Client;
  const verifier: Verifier = {
    newChain({ height, hash }) {
      return {
        get height() { return height; },
        hash,
        next([from, to]: Uint8Array): Verdict {
          assert.equal(from, height + 1);
          if (from! < 6 && to! >= 6) throw Object.assign(new Error("refused"), { handedOver: from !== to });
          height = to!;
          return { fromHeight: from!, height, blockHash: "", postRoot: "", securityBits: 128, producerShown: true };
        },
      };
    },
  };
  const steps = await all(verifyChain(client, verifier, { height: 0, hash: "0x" }));
  assert.deepEqual(steps.map((step) => `${step.fromHeight}-${step.height}`), ["1-4", "5-5", "6-6", "7-8"]);
  assert.deepEqual(asked, ["1-4", "5-8", "5-6", "7-8", "5-5", "6-6", "7-8"]);
});
