import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AddressError, AmountError, formatAddress, formatCoins, formatUnits, fromHex, isKey, parseAccount, parseCoins, parseUnits, toHex, type Account, type Network,
} from "@cairn-chain/sdk";
import { AccountKey, KeyError, KeySigner, Wallet, generateMnemonic, keyFromMnemonic } from "@cairn-chain/sdk/keys";
import { random, vectors } from "./vectors.js";

test("amounts are read and written exactly", () => {
  for (const [text, units] of [["0", 0n], ["1.5", 150_000_000n], ["0.00000001", 1n], ["184467440737.09551615", (1n << 64n) - 1n]] as const) {
    assert.equal(parseCoins(text), units);
    assert.equal(formatCoins(units), text);
  }
  assert.equal(formatCoins(-150_000_000n), "-1.5");
  assert.equal(parseUnits("007", 0), 7n);
  assert.equal(formatUnits(70n, 0), "70");
});

test("what is no amount is refused with its reason", () => {
  const cases: [string, string][] = [
    ["", "syntax"], ["-1", "syntax"], ["1e3", "syntax"], ["1,000", "syntax"], [".5", "syntax"], ["5.", "syntax"], [" 1", "syntax"], ["0x1", "syntax"],
    ["0.000000001", "decimals"], ["184467440737.09551616", "range"],
  ];
  for (const [text, reason] of cases) {
    assert.throws(() => parseCoins(text), (e) => e instanceof AmountError && e.reason === reason, text);
  }
  assert.throws(() => parseUnits("1", -1), RangeError);
});

test("hex is read strictly", () => {
  assert.deepEqual(fromHex("0x00Ff"), Uint8Array.of(0, 255));
  assert.equal(toHex(Uint8Array.of(0, 255)), "0x00ff");
  for (const text of ["00", "0x0", "0xgg", "0X00", " 0x00"]) assert.throws(() => fromHex(text), TypeError, text);
});

test("keys and addresses are those of the vectors", () => {
  const { mnemonic } = vectors.wallet;
  for (const list of ["accounts_of_testnet_and_regtest", "accounts_of_mainnet"]) {
    vectors.wallet[list].forEach((v: { private_key: string; public_key: string; addresses: Record<Network, string> }, index: number) => {
      for (const [network, address] of Object.entries(v.addresses) as [Network, string][]) {
        const key = new KeySigner(fromHex(`0x${v.private_key}`));
        assert.equal(key.account, `0x${v.public_key}`);
        if (index < 3) assert.equal(keyFromMnemonic(mnemonic, { network, index }).account, key.account); // it takes 60 ms
        assert.equal(formatAddress(key.account, network), address);
        assert.equal(parseAccount(address, network), key.account);
        assert.equal(parseAccount(address.toUpperCase(), network), key.account);
      }
    });
  }
});

test("an account's extended public key gives the addresses that its mnemonic does", () => {
  for (const network of ["mainnet", "testnet", "regtest"] as const) {
    const wallet = new Wallet(vectors.wallet.mnemonic, { network });
    const publicly = new AccountKey(wallet.accountKey.text, network);
    assert.match(publicly.text, network === "mainnet" ? /^xpub/ : /^tpub/);
    const list = network === "mainnet" ? "accounts_of_mainnet" : "accounts_of_testnet_and_regtest";
    vectors.wallet[list].forEach((v: { public_key: string; addresses: Record<Network, string> }, index: number) => {
      assert.equal(wallet.key(index).account, `0x${v.public_key}`);
      assert.equal(publicly.account(index), `0x${v.public_key}`);
      assert.equal(publicly.address(index), v.addresses[network]);
    });
    assert.throws(() => publicly.account(2 ** 31), KeyError);
  }
  // The example of BIP-86.
  const about = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
  const xpub = "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ";
  assert.equal(new Wallet(about, { network: "mainnet" }).accountKey.text, xpub);
  for (const wrong of ["", about, `${xpub}x`]) assert.throws(() => new AccountKey(wrong, "mainnet"), (e) => e instanceof KeyError && !e.message.includes("abandon"));
  assert.throws(() => new AccountKey(xpub, "regtest"), KeyError);
});

test("mnemonics are made and checked", () => {
  for (const words of [12, 24] as const) {
    const mnemonic = generateMnemonic(words);
    assert.equal(mnemonic.split(" ").length, words);
    assert.notEqual(generateMnemonic(words), mnemonic);
    assert.notEqual(
      keyFromMnemonic(mnemonic, { network: "testnet", passphrase: "x" }).account, keyFromMnemonic(mnemonic, { network: "testnet" }).account,
    );
  }
  const junk = vectors.wallet.mnemonic.replace("junk", "test");
  assert.throws(() => keyFromMnemonic(junk, { network: "regtest" }), (e) => e instanceof KeyError && !e.message.includes("test"));
  assert.throws(() => keyFromMnemonic(vectors.wallet.mnemonic, { network: "regtest", index: -1 }), KeyError);
  assert.throws(() => new KeySigner(new Uint8Array(32)), KeyError);
});

const address = "bcrt1pfewlxm8meyyvgjydfu7v8j4ej64symj6ut8sf66h9germp94qgzs92e5zv";

test("an account is read in hex as the node reads it", () => {
  const hex = "4e5df36cfbc908c4488d4f3cc3cab996ab026e5ae2cf04eb572a323d84b50205";
  for (const text of [hex, "0x" + hex, "02" + hex, "0x03" + hex.toUpperCase()]) assert.equal(parseAccount(text, "regtest"), "0x" + hex);
});

test("what is no key in hex may be the account of a policy or a contract", () => {
  const nobody: Account = `0x${"0".repeat(63)}5`;
  for (const text of [nobody, nobody.slice(2), "0x02" + nobody.slice(2)]) assert.equal(parseAccount(text, "regtest"), nobody);
  assert.ok(!isKey(nobody) && !isKey(`0x${"ff".repeat(32)}`));
  const keys = [1, 2, 3, 4, 6, 8].map((n): Account => `0x${"0".repeat(63)}${n}`); // 5, 7, 9 and 10 are invalid
  assert.deepEqual(keys.filter((key) => !isKey(key)), []);
});

test("a wrong address says what is wrong", () => {
  const cases: [string, string, number[] | undefined][] = [
    ["bc1pfewlxm8meyyvgjydfu7v8j4ej64symj6ut8sf66h9germp94qgzs3gpv8t", "network", undefined],
    ["hello", "network", [0]],
    [address.slice(0, -1), "length", undefined],
    [address.slice(0, 20) + "b" + address.slice(21), "character", [20]],
    [address.slice(0, 20) + address[20]!.toUpperCase() + address.slice(21), "character", [20]],
    ["0x4e5d", "network", [0]],
  ];
  for (const [text, reason, at] of cases) {
    assert.throws(() => parseAccount(text, "regtest"), (e) => {
      assert.ok(e instanceof AddressError);
      assert.equal(e.reason, reason, text);
      assert.deepEqual(e.at, at);
      return true;
    });
  }
});

test("one or two wrong characters are located, three are told", () => {
  const next = random(7);
  const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  for (let round = 0; round < 60; round++) {
    const wrong = 1 + (round % 3);
    const places = new Set<number>();
    while (places.size < wrong) places.add(5 + next(address.length - 5));
    const text = [...address];
    for (const i of places) text[i] = charset[(charset.indexOf(text[i]!) + 1 + next(31)) % 32]!;
    assert.throws(() => parseAccount(text.join(""), "regtest"), (e) => {
      assert.ok(e instanceof AddressError && e.reason === "checksum");
      if (wrong < 3) assert.deepEqual(e.at, [...places].sort((a, b) => a - b));
      return true;
    });
  }
});
