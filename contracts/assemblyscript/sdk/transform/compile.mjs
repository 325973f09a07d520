import asc from "assemblyscript/asc";
import ContractTransform, { START } from "./index.mjs";
import { mergeSegments } from "./segments.mjs";

/**
 * The options with which asc writes only code that a contract may contain (docs/protocol.md, "Modules"): no start
 * function, no bulk memory, no conversions of floats. The runtime never frees: an instance lives for one call.
 */
const FLAGS = [
  ["--runtime", "stub"],
  ["--initialMemory", "1"],
  ["--exportStart", START],
  ["--use", "abort=~lib/@cairn-chain/contract/assembly/revert/abort"],
  ["--disable", "bulk-memory"],
  ["--disable", "nontrapping-f2i"],
  ["--optimizeLevel", "3"],
  ["--shrinkLevel", "2"],
].flat();

class WithInvariants extends ContractTransform {
  invariants = true;
}

/**
 * Compiles a contract's entry file to a module, with the names of its functions and with its invariants if asked to. A function
 * `sourceMap` gets the text of the source map. Errors contain the compiler's output.
 */
export async function compile(entry, { names = false, invariants = false, sourceMap } = {}) {
  let code;
  const written = { "out.wasm": (contents) => (code = contents), "out.wasm.map": sourceMap };
  const flags = [...(names ? ["--debug"] : []), ...(sourceMap ? ["--sourceMap"] : [])];
  const { error, stderr } = await asc.main([entry, ...FLAGS, ...flags, "--outFile", "out.wasm"], {
    transforms: [invariants ? WithInvariants : ContractTransform],
    writeFile: (name, contents) => written[name]?.(contents),
  });
  if (error) throw new Error(`${stderr.toString()}${error.message}`);
  return mergeSegments(code);
}
