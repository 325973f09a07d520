// Runs the real node for a test.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createClient, type Client } from "@cairn-chain/sdk";

const program = process.env["CAIRN"];

export interface Node {
  client: Client;
  url: string;
  /** cairn runs a command of the program on the node's chain */
  cairn(...args: string[]): Promise<string>;
  /** kill ends the node at once; start runs it again at the same address with the same chain */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** startNode runs a development chain until the test ends. */
export async function startNode(t: TestContext, ...flags: string[]): Promise<Node> {
  if (!program) throw new Error("CAIRN names no program: run test.sh");
  const home = mkdtempSync(join(tmpdir(), "cairn-explorer-node-"));
  const env = { ...process.env, HOME: home, XDG_DATA_HOME: home };
  let address = "127.0.0.1:0";
  let running: ChildProcess | undefined;
  const start = async (): Promise<string> => {
    const ready = join(home, `ready-${Date.now()}.json`);
    const args = [
      "dev",
      "--data-dir",
      join(home, "chain"),
      "--rpc-addr",
      address,
      "--admin-addr",
      "127.0.0.1:0",
      "--rate-limit",
      "0",
      "--ready-file",
      ready,
    ];
    const node = (running = spawn(program, [...args, ...flags], { stdio: ["ignore", "ignore", "pipe"], env }));
    let said = "";
    node.stderr!.on("data", (data) => (said += data));
    while (!existsSync(ready)) {
      if (node.exitCode !== null) throw new Error(`the node ended: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return JSON.parse(readFileSync(ready, "utf8")).rpc as string;
  };
  const kill = async (): Promise<void> => {
    const node = running;
    running = undefined;
    if (!node || node.exitCode !== null) return;
    node.kill("SIGKILL");
    await once(node, "exit");
  };
  t.after(async () => {
    await kill();
    rmSync(home, { recursive: true, force: true });
  });
  const url = await start();
  address = new URL(url).host;
  const cairn = (...args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      execFile(program, [...args, "--rpc-url", url], { env }, (error, out, err) =>
        error ? reject(new Error(`${args.join(" ")}: ${err}`)) : resolve(out),
      );
    });
  return { client: createClient(url), url, cairn, kill, start: async () => void (await start()) };
}
