import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { account, built, Chain, Signer } from "@cairn-chain/contract/testing";

const [alice, bob, shop] = ["alice", "bob", "shop"].map(account);
const other = readFileSync(new URL("../../../../wasm/as-nep20.wasm", import.meta.url));

function setup() {
  const chain = new Chain();
  return { chain, coin: chain.deploy(built(), { from: alice, args: { supply: 1000, delay: 60 } }) };
}

test("takes a permit once", () => {
  const { chain, coin } = setup();
  const holder = new Signer("holder");
  coin.call("transfer", { to: holder.account, amount: 100 }, { from: alice });
  const terms = { owner: holder.account, spender: shop, amount: 30, deadline: Number(chain.time) + 50 };
  const message = Buffer.from(coin.view("permitMessage", terms).slice(2), "hex");
  assert.equal(message.toString(), `permit 30 to ${shop}, number 0, until ${terms.deadline}`);
  const witness = holder.sign(coin.id, message);
  const permit = (change) => coin.call("permit", { ...terms, witness, ...change });
  const unsigned = { reason: "the owner has not signed it" };
  assert.throws(() => permit({ amount: 31 }), unsigned);
  assert.throws(() => permit({ spender: bob }), unsigned);
  assert.throws(() => permit({ owner: bob }), unsigned);
  assert.throws(() => permit({ witness: witness.slice(0, -2) }), unsigned);
  permit({});
  assert.throws(() => permit({}), unsigned);
  assert.equal(coin.view("allowance", { owner: holder.account, spender: shop }), 30);
  const take = { from: holder.account, to: bob, amount: 30 };
  coin.call("transferFrom", take, { from: shop });
  assert.throws(() => coin.call("transferFrom", take, { from: shop }), { reason: "allowance is too low" });
  chain.time += 51n;
  assert.throws(() => permit({}), { reason: "the permit has expired" });
});

test("takes no permit of another contract", () => {
  const { chain, coin } = setup();
  const second = chain.deploy(built(), { from: alice, args: { supply: 1000, delay: 60 } });
  const holder = new Signer("holder");
  const terms = { owner: holder.account, spender: shop, amount: 5, deadline: Number(chain.time) };
  const witness = holder.sign(coin.id, Buffer.from(coin.view("permitMessage", terms).slice(2), "hex"));
  assert.throws(() => second.call("permit", { ...terms, witness }), { reason: "the owner has not signed it" });
  coin.call("permit", { ...terms, witness });
});

test("new code comes after the delay", () => {
  const { chain, coin } = setup();
  const template = chain.deploy(other, { args: { name: "Gold", symbol: "GLD", decimals: 2, initialSupply: 1 } }).id;
  assert.throws(() => coin.call("announce", { template }, { from: bob }), { reason: "only the owner may" });
  assert.throws(() => coin.call("announce", { template: bob }, { from: alice }), { reason: "there is no such contract" });
  assert.throws(() => coin.call("upgrade"), { reason: "nothing is announced" });
  coin.call("announce", { template }, { from: alice });
  coin.call("cancel", undefined, { from: alice });
  assert.equal(coin.view("next"), null);
  coin.call("announce", { template }, { from: alice });
  assert.equal(coin.view("next"), template);
  chain.time += 59n;
  assert.throws(() => coin.call("upgrade"), { reason: "the delay is not over" });
  chain.time += 1n;
  coin.call("upgrade");
  const now = chain.contract(coin.id);
  assert.equal(now.view("balanceOf", { address: alice }), 1000); // the new code reads the storage of the old code
  now.call("burn", { amount: 1 }, { from: alice });
  assert.throws(() => coin.call("upgrade"), { reason: "no function upgrade" });
});
