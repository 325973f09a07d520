import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { compile } from "@cairn-chain/contract/compile";
import { account, built, Chain, ZERO } from "@cairn-chain/contract/testing";

const [minter, alice, bob, eve] = ["minter", "alice", "bob", "eve"].map(account);
const vaultCode = await compile("test/vault.ts");
const properties = '{"name":"One"}';
let chain, nft;

// Alice has the tokens 01, 02 and 03.
beforeEach(() => {
  chain = new Chain();
  nft = chain.deploy(built(), { from: minter, args: { symbol: "ART" } });
  for (const tokenId of ["0x01", "0x02", "0x03"]) nft.call("mint", { to: alice, tokenId, properties }, { from: minter });
});

const transfer = (from, to, tokenId, data) => nft.call("transfer", { to, tokenId, data }, { from });
const owner = (tokenId) => nft.view("ownerOf", { tokenId });

/** The lists of alice's tokens, of bob's and of all tokens. */
function lists() {
  const page = { start: 0, count: 100 };
  const of = (owner) => nft.view("tokensOf", { owner, ...page });
  return [of(alice), of(bob), nft.view("tokens", page)].map((ids) => ids.map((id) => Number(id)).join(" "));
}

test("says what it is", () => {
  assert.deepEqual([nft.view("symbol"), nft.view("decimals"), nft.view("totalSupply")], ["ART", 0, 3]);
  assert.equal(nft.view("properties", { tokenId: "0x01" }), properties);
  assert.equal(nft.view("balanceOf", { owner: alice }), 3);
  for (const id of ["0x04", "0x", "0x" + "07".repeat(300)]) assert.throws(() => owner(id), { reason: "no such token" });
});

test("moves by its owner only", () => {
  for (const from of [bob, minter]) assert.throws(() => transfer(from, bob, "0x01"), { reason: "not the owner's, nor approved" });
  assert.throws(() => transfer(alice, ZERO, "0x01"), { reason: "the zero account cannot receive" });
  const { result, events } = transfer(alice, bob, "0x01");
  assert.equal(result, true);
  assert.deepEqual(events.map((e) => [e.name, e.data]), [["Transfer", { from: alice, to: bob, amount: 1, tokenId: "0x01" }]]);
  assert.equal(owner("0x01"), bob);
});

test("an approval is used up and does not outlive the owner", () => {
  const approve = (from, to) => nft.call("approve", { to, tokenId: "0x01" }, { from });
  const taken = () => transfer(eve, eve, "0x01");
  const refused = { reason: "not the owner's, nor approved" };
  assert.throws(() => approve(eve, eve), { reason: "only the owner may approve" });
  approve(alice, eve);
  transfer(alice, bob, "0x01");
  assert.throws(taken, refused);
  approve(bob, eve);
  assert.equal(nft.view("approved", { tokenId: "0x01" }), eve);
  transfer(eve, alice, "0x01");
  assert.throws(taken, refused);
  assert.equal(nft.view("approved", { tokenId: "0x01" }), null);
  approve(alice, eve);
  approve(alice, null);
  assert.throws(taken, refused);
});

test("a page is bounded, whatever others mint", () => {
  for (let i = 0; i < 100; i++) {
    nft.call("mint", { to: alice, tokenId: "0x09" + i.toString(16).padStart(2, "0"), properties }, { from: minter });
  }
  for (const [start, want] of [[0, 100], [50, 53]]) {
    const page = { start, count: 2 ** 32 - 1 };
    const pages = [nft.view("tokens", page), nft.view("tokensOf", { owner: alice, ...page })];
    assert.deepEqual(pages.map((ids) => ids.length), [want, want]);
  }
});

test("is minted once and by the minter", () => {
  const mint = (from, to, tokenId) => nft.call("mint", { to, tokenId, properties }, { from });
  assert.throws(() => mint(alice, alice, "0x04"), { reason: "only the minter may mint" });
  assert.throws(() => mint(minter, alice, "0x01"), { reason: "there is such a token" });
  assert.throws(() => mint(minter, ZERO, "0x04"), { reason: "the zero account cannot receive" });
  for (const id of ["0x", "0x" + "00".repeat(65)]) assert.throws(() => mint(minter, alice, id), { reason: "a token's ID has 1 to 64 bytes" });
  mint(minter, alice, "0x" + "00".repeat(64));
});

test("the lists hold what there is", () => {
  const burn = (from, tokenId) => nft.call("burn", { tokenId }, { from });
  transfer(alice, bob, "0x01");
  assert.deepEqual(lists(), ["3 2", "1", "1 2 3"]);
  transfer(alice, alice, "0x03"); // a transfer to oneself
  transfer(alice, alice, "0x03"); // the token is the last of its list
  assert.deepEqual(lists(), ["2 3", "1", "1 2 3"]);
  assert.throws(() => burn(alice, "0x01"), { reason: "only the owner may burn" });
  burn(bob, "0x01");
  assert.deepEqual(lists(), ["2 3", "", "3 2"]);
  burn(alice, "0x02");
  burn(alice, "0x03");
  assert.deepEqual([...lists(), nft.view("totalSupply")], ["", "", "", 0]);
  nft.call("mint", { to: bob, tokenId: "0x01", properties }, { from: minter });
  assert.deepEqual(lists(), ["", "1", "1"]);
  for (const [start, count, want] of [[0, 0, 0], [1, 2 ** 32 - 1, 0], [2 ** 32 - 1, 1, 0], [0, 2 ** 32 - 1, 1]]) {
    assert.equal(nft.view("tokens", { start, count }).length, want);
  }
});

test("a contract is told and can refuse, but not come back", () => {
  const vault = chain.deploy(vaultCode);
  assert.throws(() => transfer(alice, vault.id, "0x01", "0x01"), { reason: "not wanted" });
  assert.equal(owner("0x01"), alice);
  assert.throws(() => transfer(alice, vault.id, "0x01", "0x02"), { reason: /code 6/ });
  transfer(alice, vault.id, "0x01");
  assert.equal(vault.view("received"), "0x01");
  transfer(alice, nft.id, "0x02", "0x01"); // a contract that does not ask to be notified
  nft.call("mint", { to: vault.id, tokenId: "0x04", properties }, { from: minter });
  assert.equal(vault.view("received"), "0x04");
  // A contract that fetches a token itself is not notified; it is still on the call stack.
  nft.call("approve", { to: vault.id, tokenId: "0x03" }, { from: alice });
  vault.call("collect", { nft: nft.id, tokenId: "0x03" });
  assert.equal(owner("0x03"), vault.id);
});
