// Runs everywhere.mjs in each runtime and, from each bundler, in Chromium, and checks the package's types and exports.
// It uses the packed SDK, like its users. CAIRN is the node's program. The runtimes are for Linux on amd64.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const work = mkdtempSync(join(tmpdir(), "cairn-runtimes-"));
const modules = join(here, "node_modules");
const children = [];
const want = "paid 1";
let failures = 0;

/** run runs a command to its end, and returns its output. */
function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: work, ...options });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += data));
    child.on("error", (error) => resolve({ code: -1, said: String(error) }));
    child.on("close", (code) => resolve({ code, said: said.trim() }));
  });
}

/** report prints the outcome of a part. */
function report(part, version, good, said) {
  console.log(`${good ? "ok  " : "FAIL"} ${part} ${version}${good ? "" : `: ${said}`}`);
  if (!good) failures++;
}

const versionOf = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version;

/** install installs the packed SDK as a user would, with the programs next to it. */
function install() {
  const packed = spawnSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", work, join(here, "..")], { encoding: "utf8" });
  const archive = join(work, packed.stdout.trim());
  mkdirSync(join(work, "node_modules", "@cairn-chain/sdk"), { recursive: true });
  spawnSync("tar", ["xzf", archive, "-C", join(work, "node_modules", "@cairn-chain/sdk"), "--strip-components", "1"]);
  for (const name of ["@noble", "@scure", "ws"]) cpSync(join(here, "..", "node_modules", name), join(work, "node_modules", name), { recursive: true });
  for (const file of ["everywhere.mjs", "main.mjs", "page.mjs"]) cpSync(join(here, file), join(work, file));
  writeFileSync(join(work, "package.json"), '{ "name": "user", "private": true, "type": "module", "browserslist": "last 1 chrome version", "@parcel/resolver-default": { "packageExports": true } }');
  return archive;
}

/** startNode starts a development chain that accepts requests of pages from an origin, and returns its URL. */
async function startNode(origin) {
  const ready = join(work, "ready.json");
  children.push(spawn(process.env.CAIRN, [
    "dev", "--ephemeral", "--prove", "off", "--rate-limit", "0", "--block-time", "50ms", "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
    "--cors-origin", origin, "--ready-file", ready,
  ], { stdio: "ignore" }));
  while (!existsSync(ready)) await new Promise((resolve) => setTimeout(resolve, 20));
  return JSON.parse(readFileSync(ready, "utf8")).rpc;
}

/** startPages serves each bundle as a page, and returns its address and a function that waits for a page's report. */
async function startPages() {
  let heard;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://pages");
    if (request.method === "POST") {
      let said = "";
      request.on("data", (data) => (said += data)).on("end", () => heard(said));
      return response.end();
    }
    const file = join(work, pathname);
    if (pathname.endsWith(".js") && existsSync(file)) return response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(file));
    response.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><script type="module" src="${pathname}page.js"></script>`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${server.address().port}`, hear: () => new Promise((resolve) => (heard = resolve)) };
}

const tool = (name) => join(modules, ".bin", name);
const runtimes = [
  ["Node.js", process.version.slice(1), process.execPath, []],
  ["Node.js", versionOf("node22"), join(modules, "node22/bin/node"), []],
  ["Node.js", versionOf("node24"), join(modules, "node24/bin/node"), []],
  ["Deno", versionOf("@deno/linux-x64-glibc"), join(modules, "@deno/linux-x64-glibc/deno"), ["run", "--allow-all", "--no-remote", "--quiet"]],
  ["Bun", versionOf("@oven/bun-linux-x64-baseline"), join(modules, "@oven/bun-linux-x64-baseline/bin/bun"), []],
];
// Each bundler writes page.js into a folder with its name.
const bundlers = {
  esbuild: ["page.mjs", "--bundle", "--format=esm", "--outfile=esbuild/page.js", "--log-level=warning"],
  rollup: ["page.mjs", "--plugin", join(modules, "@rollup/plugin-node-resolve"), "--format", "es", "--file", "rollup/page.js", "--silent"],
  vite: ["build", "--config", "vite.config.mjs", "--logLevel", "warn"],
  webpack: [],
  parcel: ["build", "page.mjs", "--dist-dir", "parcel", "--no-source-maps", "--no-cache", "--log-level", "error"],
};

async function bundle(name) {
  if (name === "vite") {
    writeFileSync(join(work, "vite.config.mjs"), 'export default { build: { lib: { entry: "page.mjs", formats: ["es"], fileName: () => "page.js" }, outDir: "vite" } };');
  }
  if (name === "webpack") {
    const { default: webpack } = await import(join(modules, "webpack/lib/index.js"));
    return new Promise((resolve) => webpack({
      mode: "production", context: work, entry: "./page.mjs", output: { path: join(work, name), filename: "page.js", module: true },
      experiments: { outputModule: true },
    }, (error, stats) => resolve({ code: error || stats.hasErrors() ? 1 : 0, said: String(error ?? stats.toString("errors-only")) })));
  }
  return run(tool(name), bundlers[name]);
}

const { server, origin, hear } = await startPages();
try {
  const archive = install();
  const url = await startNode(origin);
  for (const [name, version, program, flags] of runtimes) {
    const { said } = await run(program, [...flags, "main.mjs", url, join(work, `${name} ${version}.journal`)]);
    report(name, version, said === want, said);
  }
  for (const name of Object.keys(bundlers)) {
    const made = await bundle(name);
    if (made.code !== 0) {
      report(name, versionOf(name), false, made.said);
      continue;
    }
    const said = hear();
    const chromium = spawn("chromium", [
      "--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${join(work, `chromium-${name}`)}`, `${origin}/${name}/?node=${encodeURIComponent(url)}`,
    ], { stdio: "ignore" });
    const ended = new Promise((resolve) => chromium.on("exit", resolve));
    const got = await Promise.race([said, ended.then(() => "Chromium ended")]);
    chromium.kill("SIGKILL");
    await ended;
    report(`${name}, Chromium`, versionOf(name), got === want, got);
  }
  const publint = await run(tool("publint"), ["run", archive, "--strict"]);
  report("publint", versionOf("publint"), publint.code === 0, publint.said);
  // It is ESM, which require of Node.js 20.19 and newer accepts too.
  const types = await run(tool("attw"), [archive, "--ignore-rules", "cjs-resolves-to-esm", "--no-emoji", "--format", "ascii"]);
  report("are-the-types-wrong", versionOf("@arethetypeswrong/cli"), types.code === 0, types.said);
} finally {
  server.close();
  for (const child of children) child.kill("SIGKILL");
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = failures === 0 ? 0 : 1;
