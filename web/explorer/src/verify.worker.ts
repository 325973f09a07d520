// Verifies proofs in a worker. The node serves the verifier's files; pages of a program without them do not start this
// worker.
const at = "/explorer/verifier/index.js";
let loading: Promise<{ verifyProof(bundle: Uint8Array): object }> | undefined;

onmessage = async ({ data }: MessageEvent<ArrayBuffer>) => {
  try {
    const module = (await import(/* @vite-ignore */ at)) as { loadVerifier(): typeof loading };
    const { verifyProof } = await (loading ??= module.loadVerifier()!);
    const begun = performance.now();
    const verdict = verifyProof(new Uint8Array(data));
    postMessage({ verdict, took: performance.now() - begun });
  } catch (error) {
    postMessage({ refused: error instanceof Error ? error.message : "the verifier failed" });
  }
};
