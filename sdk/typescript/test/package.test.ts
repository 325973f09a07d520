// Tests the metadata and the contents of the packages for JavaScript.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const repository = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, repository), "utf8");

test("the packages have the product's version, licence and repository", () => {
  const version = /^const Next = "(.*)"$/m.exec(read("internal/build/build.go"))![1]!;
  const module = /^module (.*)$/m.exec(read("go.mod"))![1]!;
  for (const directory of ["sdk/typescript", "proof/wasm"]) {
    const said = JSON.parse(read(`${directory}/package.json`));
    assert.equal(said.version, `${version}-dev`, directory);
    assert.equal(said.license, "Apache-2.0", directory);
    assert.deepEqual(said.repository, { type: "git", url: `git+https://${module}.git`, directory });
    assert.equal(said.homepage, `https://${module}`, directory);
  }
});

test("each way to import the package is there for every resolution of modules, and packed with its sources and the licence", () => {
  const directory = new URL("sdk/typescript/", repository);
  const said = JSON.parse(read("sdk/typescript/package.json"));
  for (const [name, target] of Object.entries<{ types: string; default: string } | string>(said.exports)) {
    if (typeof target === "string") continue;
    for (const file of [target.types, target.default, `${target.default}.map`]) assert.ok(existsSync(new URL(file, directory)), file);
    const old = name === "." ? said.types : said.typesVersions["*"][name.slice(2)][0]; // of TypeScript's moduleResolution "node"
    assert.equal(old, target.types, name);
  }
  assert.equal(said.main, said.exports["."].default);
  const ran = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: fileURLToPath(directory), encoding: "utf8" });
  const files: string[] = JSON.parse(ran.stdout)[0].files.map(({ path }: { path: string }) => path);
  assert.equal(said.scripts.prepack.split(" && ")[0], "cp ../../LICENSE .");
  for (const file of ["README.md", "dist/index.js", "dist/index.js.map", "dist/index.d.ts"]) assert.ok(files.includes(file), file);
  assert.ok(!files.some((file) => /^(test|src|build)\//.test(file)), "only what is used is packed");
});
