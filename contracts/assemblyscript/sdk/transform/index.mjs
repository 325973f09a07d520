// An asc transform: makes a contract of a module whose functions and classes have decorators.
import { SourceKind } from "assemblyscript";
import { Transform } from "assemblyscript/transform";
import { ContractError, contractFunctions, events, isReentrant, records } from "./declarations.mjs";
import { abi, completed, exportsFile } from "./generate.mjs";

/** Where the SDK's library is found by asc. */
const SDK = "~lib/@cairn-chain/contract/assembly";

/** What asc is told to export the start function as; it is called by each export instead. */
export const START = "__cairn_start";

export default class ContractTransform extends Transform {
  afterParse(parser) {
    const own = parser.sources.filter((s) => !s.normalizedPath.startsWith("~lib/"));
    const entries = own.filter((s) => s.sourceKind === SourceKind.UserEntry);
    if (entries.length !== 1) throw new Error("a contract has one entry file");
    const [entry] = entries;
    const functions = contractFunctions(entry);
    if (functions.length === 0) throw new Error(`${entry.normalizedPath}: no function has the decorator @init, @read or @write`);
    const declared = [];
    for (const source of own) {
      if (source !== entry && contractFunctions(source).length > 0) {
        throw new ContractError(source, "the functions of a contract are in its entry file");
      }
      declared.push(...this.#complete(parser, source));
    }
    const twice = declared.find((e, i) => declared.findIndex((other) => other.name === e.name) !== i);
    if (twice) throw new Error(`two events are called ${twice.name}`);
    this.exports = `${entry.internalPath}~exports`;
    parser.parseFile(exportsFile(SDK, `./${entry.simplePath}`, functions, isReentrant(entry)), `${this.exports}.ts`, true);
    this.abi = abi(functions, declared);
  }

  /** Replaces a source by one in which events and records are complete; gives its events. */
  #complete(parser, source) {
    const found = events(source);
    const path = source.normalizedPath;
    const text = completed(SDK, source.text, found, records(source));
    parser.sources.splice(parser.sources.indexOf(source), 1);
    parser.donelog.delete(source.internalPath);
    parser.parseFile(text, path, false);
    return found;
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
