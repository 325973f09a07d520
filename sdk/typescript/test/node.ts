import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createClient, fromHex, type Client } from "@cairn-chain/sdk";
import { KeySigner } from "@cairn-chain/sdk/keys";
import { vectors } from "./vectors.js";

export const program = process.env["CAIRN"];

/** devKey returns the key of a development chain's account. */
export const devKey = (index: number): KeySigner => {
  return new KeySigner(fromHex(`0x${vectors.wallet.accounts_of_testnet_and_regtest[index].private_key}`));
};

/** directory makes a directory that is removed at the end of the test. */
export function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "cairn-sdk-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export interface RunningNode {
  client: Client;
  url: string;
  process: ChildProcess;
}

/** startNode runs a development chain in memory until the test ends. */
export function startNode(t: TestContext, ...flags: string[]): Promise<RunningNode> {
  return launch(t, "--ephemeral", "--rpc-addr", "127.0.0.1:0", ...flags);
}

/** startProver is startNode for a chain with proven blocks. */
export function startProver(t: TestContext, ...flags: string[]): Promise<RunningNode> {
  return run(t, "--ephemeral", "--rpc-addr", "127.0.0.1:0", ...flags);
}

/** launch runs a development chain until the test ends. Flags set its directory, if any. */
export function launch(t: TestContext, ...flags: string[]): Promise<RunningNode> {
  return run(t, "--prove", "off", ...flags);
}

async function run(t: TestContext, ...flags: string[]): Promise<RunningNode> {
  if (!program) throw new Error("CAIRN names no program: run test.sh");
  const ready = join(directory(t), "ready.json");
  const args = ["dev", "--rate-limit", "0", "--admin-addr", "127.0.0.1:0"];
  const node = spawn(program, [...args, "--ready-file", ready, ...flags], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  node.stderr!.on("data", (data) => (said += data));
  t.after(() => new Promise((resolve) => {
    if (node.exitCode !== null || node.signalCode !== null) resolve(0);
    else node.once("exit", resolve).kill("SIGKILL");
  }));
  while (!existsSync(ready)) {
    if (node.exitCode !== null) throw new Error(`the node ended: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const url = JSON.parse(readFileSync(ready, "utf8")).rpc;
  return { client: createClient(url), url, process: node };
}
