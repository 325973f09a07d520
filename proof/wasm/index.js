// Verifies headers and proofs in Node.js and in browsers: package proof of the node, compiled to WebAssembly.
let loads = 0;

/** Thrown for an invalid proof or header, and for other input. */
export class ProofRefused extends Error {
  name = "ProofRefused";
  constructor(message, { handedOver = false, parametersNeeded = false, forked = false, unknownVersion = false, equivocation } = {}) {
    super(message);
    Object.assign(this, { handedOver, parametersNeeded, forked, unknownVersion, equivocation });
  }
}

/**
 * Loads the verifier. source is verifier.wasm or its location: a URL, a Response or a promise of one, its bytes, or a
 * WebAssembly.Module.
 */
export async function loadVerifier(source = new URL("verifier.wasm", import.meta.url)) {
  // Node.js 18 has no global crypto, which Go's glue asks for.
  globalThis.crypto ??= (await import("node:crypto")).webcrypto;
  await import("./wasm_exec.js"); // Go's glue; defines globalThis.Go
  const go = new globalThis.Go();
  const instance = await WebAssembly.instantiate(await compile(await source), go.importObject);
  const name = `cairnProofVerifier${++loads}`; // the global function by which Go provides the verifier
  const [verify, begin, include, follow] = await new Promise((resolve, reject) => {
    globalThis[name] = (...functions) => resolve(functions);
    go.argv.push(name);
    go.run(instance).then(() => reject(new Error("the verifier ended")), reject);
  }).finally(() => delete globalThis[name]);

  /**
   * Returns the verdict on a bundle, whose proof must have at least the given number of bits. It runs synchronously, on
   * this thread.
   */
  const verifyProof = (bundle, bits = 128) => verdict(bundle, bits, false);

  /** Likewise for a range of blocks with a common proof. */
  const verifyRange = (range, bits = 128) => verdict(range, bits, true);

  /** Verifies consecutive proofs, starting after a trusted block. */
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

  /** Verifies a result of svc_getInclusionProof, and returns the transaction and its block. */
  const verifyInclusion = ({ header, rawTransaction, rawReceipt, transaction, receipt }) => given(include(
    bytesOf(header), bytesOf(rawTransaction), bytesOf(rawReceipt), inclusionProof(transaction), inclusionProof(receipt)));

  /** Follows headers, starting at one whose hash is trusted. */
  function newFollower({ header, hash }, { eachProof = false, override = null } = {}) {
    if (override && !(Number.isSafeInteger(override.height) && override.height > 0)) throw new TypeError("the override's height is none");
    const following = given(follow(bytesOf(header), `${hash}`, Boolean(eachProof), override?.height ?? null,
      override && bytesOf(override.parameters)));
    if (following === null) throw new TypeError("the hash is none");
    let head = given(following());
    return {
      get head() { return head; },
      next(header, parameters = null) {
        return head = given(following(bytesOf(header), parameters && merkleProof(parameters)));
      },
    };
  }

  function verdict(bytes, bits, ofRange) {
    asBytes(bytes);
    if (!Number.isInteger(bits)) throw new TypeError("bits is no integer");
    return given(verify(bytes, bits, ofRange));
  }
  return { verifyProof, verifyRange, newChain, verifyInclusion, newFollower };
}

/** The bytes of a Uint8Array, or of "0x" and hex. */
function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== "string" || !/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new TypeError("neither a Uint8Array nor 0x and hex");
  return Uint8Array.from({ length: value.length / 2 - 1 }, (_, i) => parseInt(value.slice(2 * i + 2, 2 * i + 4), 16));
}

/** Encodes an integer in the given number of bytes, little-endian. */
function integer(value, size) {
  if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** (8 * size)) throw new TypeError("an integer that does not fit");
  return Uint8Array.from({ length: size }, (_, i) => Math.floor(value / 2 ** (8 * i)) % 256);
}

function digest(value) {
  const bytes = bytesOf(value);
  if (bytes.length !== 32) throw new TypeError("a digest of other than 32 bytes");
  return bytes;
}

const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const vector = (value) => join(integer(bytesOf(value).length, 8), bytesOf(value));
const digests = (list) => join(integer(list.length, 8), ...list.map(digest));

/** Encodes an inclusion proof in a node's form. */
function inclusionProof(proof) {
  if (proof instanceof Uint8Array) return proof;
  return join(integer(Number(proof.number), 4), integer(Number(proof.n), 4), digest(proof.leaf), digests(proof.siblings));
}

/** Encodes a Merkle proof in a node's form. */
function merkleProof(proof) {
  if (proof instanceof Uint8Array) return proof;
  const kind = ["leaf", "empty", "other"].indexOf(proof.end?.type);
  if (kind < 0) throw new TypeError("the end of the Merkle proof is none");
  const end = kind === 2 ? [digest(proof.end.path), digest(proof.end.valueHash)] : [];
  return join(vector(proof.key), vector(proof.value ?? "0x"), digests(proof.siblings), integer(kind, 4), ...end);
}

function asBytes(bytes) {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("the bundle is no Uint8Array");
  return bytes;
}

/** Returns the verifier's answer, or throws its refusal. */
function given(answer) {
  if (answer === undefined) throw new Error("the verifier ended; load it again");
  if (answer?.refused !== undefined) throw new ProofRefused(answer.refused, answer);
  return answer;
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (!(source instanceof Response)) {
    const url = new URL(source, import.meta.url);
    if (url.protocol === "file:") {
      const { readFile } = await import("node:fs/promises"); // Node.js's fetch does not read files
      return WebAssembly.compile(await readFile(url));
    }
    source = await fetch(url);
  }
  if (!source.ok) throw new Error(`${source.url}: status ${source.status}`);
  return WebAssembly.compile(await source.arrayBuffer());
}
