// Compares the verifier with cases. Each has a bundle in base64, the required bits, and the verdict, or none if it must
// be refused. Both Node.js and the browser run this.
import { loadVerifier, ProofRefused } from "./index.js";

export async function check(cases) {
  const problems = [];
  const milliseconds = [];
  const [{ verifyProof, verifyRange, newChain, verifyInclusion, newFollower }, again] = await Promise.all([loadVerifier(), loadVerifier()]);
  for (const { name, bundle, range, bits, verdict, chain, follow, inclusion } of cases) {
    if (chain) {
      problems.push(...checkChain(newChain(chain.trusted, bits), chain).map((problem) => `${name}: ${problem}`));
      continue;
    }
    if (follow) {
      problems.push(...checkFollower(newFollower, follow).map((problem) => `${name}: ${problem}`));
      continue;
    }
    if (inclusion) {
      problems.push(...checkInclusion(verifyInclusion, inclusion).map((problem) => `${name}: ${problem}`));
      continue;
    }
    const bytes = decode(bundle);
    try {
      const start = performance.now();
      const got = JSON.stringify(range ? verifyRange(bytes, bits) : verifyProof(bytes, bits));
      milliseconds.push(performance.now() - start);
      if (got !== JSON.stringify(verdict)) problems.push(`${name}: ${got}`);
      if (JSON.stringify(range ? again.verifyRange(bytes, bits) : again.verifyProof(bytes, bits)) !== got) problems.push(`${name}: a second verifier disagrees`);
    } catch (e) {
      if (verdict || !(e instanceof ProofRefused) || !e.message.startsWith("the proof is refused: ")) problems.push(`${name}: ${e}`);
    }
  }
  for (const args of [[], ["bundle"], [[1, 2]], [new Uint8Array(), "128"], [new Uint8Array(), 128.5]]) {
    try {
      verifyProof(...args);
      problems.push(`${args} is accepted`);
    } catch (e) {
      if (!(e instanceof TypeError)) problems.push(`${args}: ${e}`);
    }
  }
  for (const args of [[{ height: -1, hash }], [{ height: 0.5, hash }], [{ height: 0, hash: "0x12" }], [{ height: 0 }], [{ height: 0, hash }, "128"]]) {
    try {
      newChain(...args);
      problems.push(`${JSON.stringify(args)} begins a chain`);
    } catch (e) {
      if (!(e instanceof TypeError)) problems.push(`${JSON.stringify(args)}: ${e}`);
    }
  }
  const header = new Uint8Array(280);
  for (const args of [[{ header, hash: "0x12" }], [{ header: "0x1", hash }], [{ header, hash }, { override: { height: -1 } }], [{ hash }]]) {
    try {
      newFollower(...args);
      problems.push(`${JSON.stringify(args)} begins to follow`);
    } catch (e) {
      if (!(e instanceof TypeError)) problems.push(`${JSON.stringify(args)}: ${e}`);
    }
  }
  return { checked: cases.length, problems, milliseconds };
}

const hash = `0x${"11".repeat(32)}`;
const decode = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/**
 * Gives proofs to a chain. Each must be refused, which leaves the chain as it is, or move the chain to the stated
 * block.
 */
function checkChain(chain, { trusted, steps }) {
  const problems = [];
  let at = trusted;
  for (const [i, { proof, end }] of steps.entries()) {
    try {
      const { height, blockHash, fromHeight, producerShown } = chain.next(decode(proof));
      if (!end || height !== end.height || blockHash !== end.hash || fromHeight !== at.height + 1 || producerShown !== true) {
        problems.push(`step ${i}: blocks ${fromHeight} to ${height}, ${blockHash}, ${producerShown}`);
      }
      at = end ?? at;
    } catch (e) {
      if (end || !(e instanceof ProofRefused) || e.handedOver !== false) problems.push(`step ${i}: ${e}`);
    }
    if (chain.height !== at.height || chain.hash !== at.hash) problems.push(`after step ${i}: block ${chain.height}, ${chain.hash}`);
  }
  return problems;
}

/**
 * Gives headers to a follower. Each must be accepted, or be refused for the stated reason, which leaves the follower as
 * it is.
 */
function checkFollower(newFollower, { header, hash, eachProof, override, steps }) {
  const problems = [];
  let follower;
  try {
    follower = newFollower({ header, hash }, { eachProof, override });
  } catch (e) {
    return e instanceof ProofRefused && steps[0].refused === "begin" ? [] : [`it does not begin: ${e}`];
  }
  for (const [i, { header, parameters, refused }] of steps.entries()) {
    const { height, blockHash } = follower.head;
    try {
      const head = follower.next(header, parameters);
      if (refused || head.height !== height + 1 || head !== follower.head) problems.push(`step ${i}: ${JSON.stringify(head)}`);
    } catch (e) {
      const reasons = ["parametersNeeded", "forked", "unknownVersion", "equivocation"].filter((reason) => e[reason]);
      if (!(e instanceof ProofRefused) || refused === "" || `${reasons}` !== (refused === "refused" ? "" : refused)) {
        problems.push(`step ${i}: ${e}, ${reasons}`);
      }
      if (refused === "equivocation" && !(e.equivocation.length === 2 && e.equivocation.every((h) => h instanceof Uint8Array && h.length === 280))) {
        problems.push(`step ${i}: ${e.equivocation}`);
      }
      if (follower.head.height !== height || follower.head.blockHash !== blockHash) problems.push(`step ${i}: it goes on`);
    }
  }
  return problems;
}

function checkInclusion(verifyInclusion, { answer, said }) {
  try {
    const got = JSON.stringify(verifyInclusion(answer), Object.keys(said ?? {}).sort());
    return said && got === JSON.stringify(said, Object.keys(said).sort()) ? [] : [got];
  } catch (e) {
    return said || !(e instanceof ProofRefused) ? [`${e}`] : [];
  }
}
