// An asc transform that turns a module with decorated functions and classes into a contract.
import { SourceKind } from "assemblyscript";
import { Transform } from "assemblyscript/transform";
import { posix } from "node:path";
import {
  cells, ContractError, contractFunctions, declaredTypes, errors, events, hasFunctions, isReentrant, records, refuseSharedNames, stored,
} from "./declarations.mjs";
import { abi, completed, exportsFile } from "./generate.mjs";

/** The path at which asc finds the SDK's library. */
const SDK = "~lib/@cairn-chain/contract/assembly";

/** The name under which asc exports the start function. Each export calls it. */
export const START = "__cairn_start";

export default class ContractTransform extends Transform {
  /** Whether the module exports the contract's invariants. The fuzzer needs them; a deployed module never has them. */
  invariants = false;

  afterParse(parser) {
    const own = parser.sources.filter((s) => !s.normalizedPath.startsWith("~lib/"));
    const entries = own.filter((s) => s.sourceKind === SourceKind.UserEntry);
    if (entries.length !== 1) throw new Error("a contract has one entry file");
    const [entry] = entries;
    refuseSharedNames(own);
    const types = declaredTypes(own);
    const functions = contractFunctions(entry, types, this.invariants);
    if (functions.length === 0) throw new Error(`${entry.normalizedPath}: no function has the decorator @init, @read or @write`);
    const declared = { functions, events: [], errors: [], storage: own.flatMap((source) => cells(source, types)) };
    for (const source of own) {
      if (source !== entry && hasFunctions(source)) {
        throw new ContractError(source, "the functions of a contract are in its entry file");
      }
      this.#complete(parser, source, types, declared);
    }
    refuseTwice(declared.events, (e) => e.name, "two events are called");
    refuseTwice(declared.errors, (e) => e.name, "two errors are called");
    refuseTwice(declared.errors, (e) => e.code, "two errors have the code");
    this.exports = `${entry.internalPath}~exports`;
    const path = (source) => {
      const relative = posix.relative(posix.dirname(entry.internalPath), source.internalPath);
      return relative.startsWith(".") ? relative : `./${relative}`;
    };
    const text = exportsFile(SDK, `./${entry.simplePath}`, functions, isReentrant(entry), path);
    parser.parseFile(text, `${this.exports}.ts`, true);
    this.abi = abi(declared);
  }

  /**
   * Replaces a source by one in which events, errors and records are complete; adds its events and errors to those
   * declared.
   */
  #complete(parser, source, types, declared) {
    const found = { events: events(source, types), errors: errors(source, types) };
    const path = source.normalizedPath;
    const text = completed(SDK, source.text, { ...found, records: records(source, types), stored: stored(source) });
    parser.sources.splice(parser.sources.indexOf(source), 1);
    parser.donelog.delete(source.internalPath);
    parser.parseFile(text, path, false);
    declared.events.push(...found.events);
    declared.errors.push(...found.errors);
  }

  afterCompile(module) {
    const start = module.getExport(START);
    if (start) {
      const { value } = this.binaryen.getExportInfo(start);
      module.removeExport(START);
      this.#replace(module, `${this.exports}/__begin`, value);
    }
    module.addCustomSection("cairn_abi", Buffer.from(this.abi));
  }

  #replace(module, begin, start) {
    module.removeFunction(begin);
    const { none } = this.binaryen;
    module.addFunction(begin, none, none, [], module.call(start, [], none));
  }
}

/** Refuses a list in which two items have the same value of the given property. */
function refuseTwice(list, of, problem) {
  const twice = list.find((item, i) => list.findIndex((other) => of(other) === of(item)) !== i);
  if (twice) throw new Error(`${problem} ${of(twice)}`);
}
