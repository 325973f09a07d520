// Verifies proofs of blocks in Node.js and in browsers: package proof of the node, compiled to WebAssembly.
let loads = 0;

/** What is thrown for a bundle that does not hold, or is none. */
export class ProofRefused extends Error {
  name = "ProofRefused";
  constructor(message, handedOver = false) {
    super(message);
    this.handedOver = handedOver;
  }
}

/**
 * Loads the verifier. source is where verifier.wasm is, or what was loaded of it: a URL, a Response or a promise of one,
 * its bytes, or a WebAssembly.Module.
 */
export async function loadVerifier(source = new URL("verifier.wasm", import.meta.url)) {
  // Node.js 18 has no global crypto, which Go's glue asks for.
  globalThis.crypto ??= (await import("node:crypto")).webcrypto;
  await import("./wasm_exec.js"); // Go's glue; defines globalThis.Go
  const go = new globalThis.Go();
  const instance = await WebAssembly.instantiate(await compile(await source), go.importObject);
  const name = `cairnProofVerifier${++loads}`; // the global function through which Go hands the verifier out
  const [verify, begin] = await new Promise((resolve, reject) => {
    globalThis[name] = (...functions) => resolve(functions);
    go.argv.push(name);
    go.run(instance).then(() => reject(new Error("the verifier ended")), reject);
  }).finally(() => delete globalThis[name]);

  /** Returns the verdict on a bundle, whose proof must have at least so many bits. It runs at once, on this thread. */
  const verifyProof = (bundle, bits = 128) => verdict(bundle, bits, false);

  /** Likewise on a range of blocks that have a proof together. */
  const verifyRange = (range, bits = 128) => verdict(range, bits, true);

  /** Verifies proofs that follow each other, from a block on that is trusted. */
  function newChain({ height, hash }, bits = 128) {
    if (!Number.isSafeInteger(height) || height < 0) throw new TypeError("the height is none");
    if (!Number.isInteger(bits)) throw new TypeError("bits is no integer");
    const verifyNext = begin(height, `${hash}`, bits);
    if (verifyNext === undefined) throw new Error("the verifier ended; load it again");
    if (verifyNext === null) throw new TypeError("the hash is none");
    return {
      get height() { return height; },
      get hash() { return hash; },
      next(bytes) {
        const said = given(verifyNext(asBytes(bytes)));
        [height, hash] = [said.height, said.blockHash];
        return said;
      },
    };
  }

  function verdict(bytes, bits, ofRange) {
    asBytes(bytes);
    if (!Number.isInteger(bits)) throw new TypeError("bits is no integer");
    return given(verify(bytes, bits, ofRange));
  }
  return { verifyProof, verifyRange, newChain };
}

function asBytes(bytes) {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("the bundle is no Uint8Array");
  return bytes;
}

/** What the verifier answers, unless it refuses. */
function given(answer) {
  if (answer === undefined) throw new Error("the verifier ended; load it again");
  if (answer.refused !== undefined) throw new ProofRefused(answer.refused, answer.handedOver);
  return answer;
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (!(source instanceof Response)) {
    const url = new URL(source, import.meta.url);
    if (url.protocol === "file:") {
      const { readFile } = await import("node:fs/promises"); // Node's fetch reads no files
      return WebAssembly.compile(await readFile(url));
    }
    source = await fetch(url);
  }
  if (!source.ok) throw new Error(`${source.url}: status ${source.status}`);
  return WebAssembly.compile(await source.arrayBuffer());
}
