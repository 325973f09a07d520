// Holds the verifier to cases that have a bundle in base64, the bits asked for, and the verdict, or none for one that
// must be refused. Node.js and the browser both run it.
import { loadVerifier, ProofRefused } from "./index.js";

export async function check(cases) {
  const problems = [];
  const milliseconds = [];
  const [{ verifyProof, verifyRange }, again] = await Promise.all([loadVerifier(), loadVerifier()]);
  for (const { name, bundle, range, bits, verdict } of cases) {
    const bytes = Uint8Array.from(atob(bundle), (c) => c.charCodeAt(0));
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
  return { checked: cases.length, problems, milliseconds };
}
