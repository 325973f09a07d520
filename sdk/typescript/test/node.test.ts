// Tests against the real node.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { RpcError, formatAddress, parseCoins, type Action } from "@cairn-chain/sdk";
import { MemoryStore, SenderError, TooLate, createSender } from "@cairn-chain/sdk/sender";
import { random } from "./vectors.js";
import { devKey, directory, startNode } from "./node.js";

const [from, to] = [devKey(0), devKey(1)];
const pay = (value: bigint): Action => ({ type: "transfer", to: to.account, value });

for (const count of [20, 500]) {
  test(`${count} sends at once from one account are all included`, async (t) => {
    const { client } = await startNode(t, "--block-time", "100ms");
    const fillers: string[] = [];
    const sender = await createSender(client, from, { poll: 50, onFiller: (hash) => fillers.push(hash) });
    const before = await client.balance(to.account);
    const sent = Array.from({ length: count }, (_, i) => sender.send(pay(BigInt(i + 1))));
    const receipts = await Promise.all(sent.map((s) => s.receipt));
    await sender.close();
    assert.ok(receipts.every((r) => r.status === 1n));
    assert.equal(new Set(receipts.map((r) => r.transactionHash)).size, count);
    assert.equal(await client.nonce(from.account), BigInt(count));
    assert.equal(await client.balance(to.account), before + BigInt((count * (count + 1)) / 2));
    assert.deepEqual(fillers, []);
  });
}

test("a sweep leaves nothing, to an account with an entry and to one without", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  for (const [index, target] of [[2, to.account], [3, `0x${"77".repeat(32)}`]] as const) {
    const sender = await createSender(client, devKey(index), { poll: 50 });
    const [first, all] = [sender.send(pay(5n)), sender.sendAll(target)];
    assert.equal((await all.receipt).status, 1n);
    assert.ok((await first.receipt).blockHeight <= (await all.receipt).blockHeight);
    assert.equal(await client.balance(devKey(index).account), 0n);
    await assert.rejects(sender.sendAll(target).receipt, (e) => e instanceof SenderError && e.reason === "insufficient_for_fee");
    await sender.close();
  }
});

test("what the node refuses uses no nonce, and an id is for one job", async (t) => {
  const { client } = await startNode(t, "--block-time", "100ms");
  const fillers: string[] = [];
  const sender = await createSender(client, from, { poll: 50, onFiller: (hash) => fillers.push(hash) });
  const poor = sender.send(pay(parseCoins("1000000")), { id: "too much" });
  const good = sender.send(pay(1n), { id: "7" });
  await assert.rejects(poor.accepted, (e) => e instanceof RpcError && e.is("cannot_pay") && e.data.balance === parseCoins("10000"));
  const again = sender.send(pay(1n), { id: "7" });
  assert.throws(() => sender.send(pay(2n), { id: "7" }), (e) => e instanceof SenderError && e.reason === "idempotency_conflict");
  assert.throws(() => sender.send(pay(2n), { id: "cairn:x" }), (e) => e instanceof SenderError && e.reason === "bad_id");
  const receipt = await good.receipt;
  assert.equal((await again.receipt).transactionHash, receipt.transactionHash);
  assert.equal((await sender.send(pay(1n), { id: "7" }).receipt).transactionHash, receipt.transactionHash, "also once it is done");
  const second = sender.send({ type: "call", contract: to.account, function: "f", args: new Uint8Array(), value: 0n });
  await assert.rejects(second.receipt, (e) => e instanceof RpcError && e.is("no_such_contract"));
  assert.equal((await sender.send(pay(1n)).receipt).status, 1n);
  assert.equal(await client.nonce(from.account), 2n + BigInt(fillers.length));
  assert.ok(fillers.length <= 1, "only the nonce that the first had in the batch was left");
  await sender.close();
  assert.throws(() => sender.send(pay(1n)), (e) => e instanceof SenderError && e.reason === "closed");
});

test("another program's transactions of the account are stepped over", async (t) => {
  const { client } = await startNode(t, "--block-time", "300ms");
  const [one, two] = [await createSender(client, from, { poll: 50 }), await createSender(client, from, { poll: 50 })];
  const sent = Array.from({ length: 20 }, (_, i) => [one.send(pay(1n)), two.send(pay(BigInt(i + 2)))]).flat();
  const receipts = await Promise.all(sent.map((s) => s.receipt));
  assert.equal(new Set(receipts.map((r) => r.transactionHash)).size, 40);
  assert.equal(await client.nonce(from.account), 40n);
  await Promise.all([one.close(), two.close()]);
});

test("a journal is taken up by the next sender", async (t) => {
  const { client } = await startNode(t, "--block-time", "1h");
  const store = new MemoryStore();
  const first = await createSender(client, from, { store });
  const sent = first.send(pay(9n), { id: "9" });
  const hash = await sent.accepted;
  await first.close();
  await assert.rejects(sent.receipt, (e) => e instanceof SenderError && e.reason === "closed");
  const second = await createSender(client, from, { store, poll: 20 });
  const taken = second.send(pay(9n), { id: "9" });
  assert.equal(await taken.accepted, hash);
  await client.call("dev_mine");
  assert.equal((await taken.receipt).transactionHash, hash);
  await second.close();
});

test("a journal is written anew once most of it is past, and keeps what is done and what is open", async (t) => {
  const { client } = await startNode(t, "--block-time", "1h");
  const store = new MemoryStore();
  const first = await createSender(client, from, { store, poll: 20 });
  const sent = [first.send(pay(1n), { id: "1" }), first.send(pay(2n), { id: "2" }), first.send(pay(3n))];
  await Promise.all(sent.map((s) => s.accepted));
  await client.call("dev_mine");
  const [one] = await Promise.all(sent.map((s) => s.receipt));
  await first.close();
  await store.append(Array.from({ length: 5000 }, (_, i) => ({ type: "refused", id: `r${i}`, reason: "x" })));
  const second = await createSender(client, from, { store, poll: 20 });
  const open = second.send(pay(4n), { id: "4" });
  const hash = await open.accepted;
  while (store.entries.length > 5000) await client.call("svc_blockNumber");
  assert.deepEqual(store.entries.map(({ type, id }) => `${type} ${id}`), ["done 1", "done 2", "signed 4"], "nobody can ask for what has no id");
  await second.close();
  const third = await createSender(client, from, { store, poll: 20 });
  assert.equal((await third.send(pay(1n), { id: "1" }).receipt).transactionHash, one!.transactionHash);
  assert.equal(await third.send(pay(4n), { id: "4" }).accepted, hash);
  assert.equal(third.forget(one!.blockHeight), 0);
  assert.equal(third.forget(one!.blockHeight + 1), 2);
  assert.notEqual(await third.send(pay(1n), { id: "1" }).accepted, one!.transactionHash, "it was forgotten");
  await third.close();
});

test("a job is cancelled at its nonce, and its id is free again; what is in a block stays", async (t) => {
  const { client } = await startNode(t, "--block-time", "1h");
  const sender = await createSender(client, from, { poll: 20 });
  const sent = [1n, 2n, 3n].map((value) => sender.send(pay(value), { id: String(value) }));
  await Promise.all(sent.map((s) => s.accepted));
  const cancelled = sent[1]!.cancel();
  const pool = async (): Promise<bigint[]> => (await client.call("svc_getPendingTransactions", { sender: from.account })).map((tx) => tx.value);
  while (String(await pool()) !== "1,0,3");
  await client.call("dev_mine");
  await cancelled;
  await assert.rejects(sent[1]!.receipt, (e) => e instanceof SenderError && e.reason === "cancelled");
  const again = sender.send(pay(20n), { id: "2" });
  await again.accepted;
  await client.call("dev_mine");
  assert.equal((await again.receipt).status, 1n);
  for (const late of [sent[0]!, sender.send(pay(3n), { id: "3" })]) {
    const receipt = await late.receipt;
    await assert.rejects(late.cancel(), (e) => e instanceof TooLate && e.receipt.transactionHash === receipt.transactionHash);
  }
  assert.equal(await client.balance(to.account), parseCoins("10000") + 1n + 20n + 3n);
  assert.equal(await client.nonce(from.account), 4n);
  await sender.close();
});

test("pay-outs are paid once each, however often the process is killed", async (t) => {
  const { client, url } = await startNode(t, "--block-time", "50ms");
  const journal = join(directory(t), "journal");
  const target = `0x${"33".repeat(32)}`;
  const next = random(3);
  const kills = Number(process.env["KILLS"] ?? 10);
  const count = 6 * kills;
  const program = new URL("payout.js", import.meta.url).pathname;
  let died = 0;
  for (let round = 0; ; round++) {
    const child = spawn(process.execPath, [program, url, journal, target, String(count)], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    if (died < kills) { // after a random number of its lines
      let lines = next(12);
      child.stdout.on("data", (data: Buffer) => {
        lines -= data.toString().split("\n").length - 1;
        if (lines <= 0) child.kill("SIGKILL");
      });
    } else {
      child.stdout.resume();
    }
    const code = await ended;
    if (code === null) died++;
    else assert.equal(code, 0);
    if (code === 0 && died >= kills) break;
  }
  assert.equal(await client.balance(target), BigInt((count * (count + 1)) / 2));
  assert.equal(await client.nonce(from.account), BigInt(count), "nothing was sent twice");
  assert.equal(formatAddress(from.account, "regtest").length, 64);
});
