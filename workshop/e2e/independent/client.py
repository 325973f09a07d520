#!/usr/bin/env python3
"""An independent client of Cairn, written from docs/protocol.md alone, with the standard library of Python 3.11.

    client.py URL             follow the chain from genesis, send transactions, check everything they lead to
    client.py --verify URL    only follow and check
    client.py --vectors FILE  check docs/vectors.json; no node is needed

It prints one JSON report: {"ok", "checks": {name: bool}, "failed": null or {"check", "detail"}, "seen"}. It ends at the
first failed check, with exit code 1. It runs contracts with its own interpreter. For a block with contracts it also
checks the node's access list, and counts the block in seen.with_contracts.
"""

import argparse
import http.client
import itertools
import json
import os
import re
import sys
import time
import traceback
from urllib.parse import urlsplit

import contracts
import curve
import execution
import gas
import headers
import keys
import messages
import texts
import tree
import vectors
import witnesses
from execution import account_key, require
from wire import DecodeError, decode

MNEMONIC = "test test test test test test test test test test test junk"
RECEIPT_TIMEOUT = 20  # seconds


class Report:
    """Counts what was checked; a check that fails raises."""

    def __init__(self):
        self.checks, self.seen = {}, {}

    def check(self, name, condition, detail=""):
        self.checks[name] = self.checks.get(name, True) and bool(condition)
        require(name, condition, detail)

    def equal(self, name, got, want, detail=""):
        self.check(name, got == want, "%s: got %s, want %s" % (detail, show(got), show(want)))


def show(value):
    return value.hex() if isinstance(value, bytes) else repr(value)


def data(text):
    """The bytes of 0x-hex."""
    require("json_form", isinstance(text, str) and re.fullmatch("0x([0-9a-fA-F]{2})*", text), "data: %r" % (text,))
    return bytes.fromhex(text[2:])


def quantity(text):
    """The number of a quantity: minimal digits."""
    digits = isinstance(text, str) and re.fullmatch("0x(0|[1-9a-f][0-9a-f]*)", text)
    require("json_form", digits, "quantity: %r" % (text,))
    return int(text, 16)


def to_hex(value):
    return "0x" + value.hex()


class Node:
    """JSON-RPC 2.0 by HTTP POST."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        self.path = parts.path or "/"

    def post(self, body):
        self.connection.request("POST", self.path, json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(self.connection.getresponse().read())

    def call(self, method, *params):
        return self.batch((method, params))[0]

    def batch(self, *calls):
        """The results of (method, params) pairs, in their order; one alone is not sent as an array."""
        requests = [{"jsonrpc": "2.0", "id": i, "method": method, "params": list(params)}
                    for i, (method, params) in enumerate(calls)]
        answers = self.post(requests) if len(requests) > 1 else [self.post(requests[0])]
        by_id = {answer["id"]: answer for answer in answers}
        for i, (method, _) in enumerate(calls):
            require("json_rpc", i in by_id and "result" in by_id[i], "%s: %s" % (method, by_id.get(i)))
        return [by_id[i]["result"] for i in range(len(calls))]


class Chain:
    """The chain as this client derives it: headers, hashes and states by height, from genesis on."""

    def __init__(self, node, report):
        self.node, self.report, self.codes = node, report, contracts.Codes()
        self.headers, self.hashes, self.seals, self.states, self.transactions = [], [], [], [], []

    def head(self):
        return len(self.headers) - 1

    def follow(self):
        """Check the blocks from the last one known up to the node's head."""
        if not self.headers:
            self.start()
        while True:
            first = len(self.headers)
            items = self.node.call("svc_getBlocks", {"from_height": first, "to_height": first + 255,
                                                     "include_transactions": True})
            if not items:
                return
            for item in items:
                self.block(item)

    def start(self):
        """Genesis to header 0."""
        check, equal = self.report.check, self.report.equal
        info = self.node.call("svc_getGenesis")
        genesis = decode(messages.GENESIS, data(info["raw"]), messages.MAX_GENESIS)
        check("genesis_decodes", messages.GENESIS.encode(genesis) == data(info["raw"]))
        execution.check_genesis(genesis)
        check("genesis_valid", True)
        self.genesis, header = genesis, execution.genesis_header(genesis)
        item, = self.node.call("svc_getBlocks", {"from_height": 0, "to_height": 0, "include_transactions": True})
        block = decode(messages.BLOCK, data(item["raw"]))
        for name in messages.HEADER.fields:
            equal("genesis_header", block["header"][name], header[name], name)
        unsealed = {"type": "signature", "signature": bytes(64)}
        check("genesis_header", block["seal"] == unsealed and not block["transactions"], "unsigned and empty")
        equal("genesis_hash", data(info["hash"]), messages.block_hash(header))
        self.accept(block, execution.genesis_state(genesis))
        for allocation in genesis["allocations"]:
            self.same_account(allocation["account"], 0)
        self.json_block(item["block"], block, len(data(item["raw"])))

    def accept(self, block, state):
        self.headers.append(block["header"])
        self.hashes.append(messages.block_hash(block["header"]))
        self.seals.append(block["seal"])
        self.transactions.append(block["transactions"])
        self.states.append(state)

    def block(self, item):
        """Check one block against all before it, and append it."""
        check, equal, report = self.report.check, self.report.equal, self.report
        raw = data(item["raw"])
        block = decode(messages.BLOCK, raw, messages.MAX_BLOCK)
        check("block_decodes", messages.BLOCK.encode(block) == raw, "encode(decode(raw)) = raw")
        header, parent, before = block["header"], self.headers[-1], self.states[-1]
        parameters = execution.parameters_of(before)
        execution.check_begin(header, parent, parameters, check)
        equal("transactions_root", header["transactions_root"], execution.transactions_root(block["transactions"]))
        hashes = [messages.transaction_hash(signed["transaction"]) for signed in block["transactions"]]
        answers = [self.node.call("svc_getTransactionReceipt", to_hex(h)) for h in hashes]
        check("receipts_present", None not in answers, "a transaction of a block has no receipt")
        receipts = [receipt(answer) for answer in answers]
        equal("receipts_root", header["receipts_root"], execution.receipts_root(receipts))
        equal("gas_used", header["gas_used"], sum(r["gas_used"] for r in receipts))

        result = self.execute(block, receipts, parameters)
        writes = execution.writes(before, result.state)
        check("writes_are_listed", writes.keys() <= result.accesses.keys())
        equal("state_root", header["state_root"], tree.state_root(result.state))
        execution.check_supply(result.state, check)
        check("seal", execution.seal_holds(header, block["seal"]))

        self.accept(block, result.state)
        for key in writes:
            if key[:1] == b"\1":
                self.same_account(key[1:], header["height"])
        for i, (answer, signed) in enumerate(zip(answers, block["transactions"])):
            self.json_receipt(answer, signed["transaction"], i, result.reasons[i])
        self.json_block(item["block"], block, len(raw))
        report.seen["blocks"] = self.head()
        report.seen["transactions"] = report.seen.get("transactions", 0) + len(hashes)

    def execute(self, block, receipts, parameters):
        header = block["header"]
        environment = execution.environment_of(header, parameters, self.genesis["network"])
        environment.codes = self.codes
        try:
            result = execution.execute(self.states[-1], environment, block["transactions"])
        except execution.Invalid as invalid:
            self.report.check("transaction_valid", False, ": ".join(invalid.args))
        self.report.check("transaction_valid", True)
        self.report.equal("receipts_of_execution", receipts, result.receipts)
        if any(key[:1] == b"\2" for key in result.accesses):
            self.report.equal("access_list", self.access_list(header["height"]), result.accesses)
            self.report.seen["with_contracts"] = self.report.seen.get("with_contracts", 0) + 1
        return result

    def access_list(self, height):
        """A block's access list, {key: (old, new)}, from its pages."""
        encoded, cursor = b"", []
        while True:
            page = self.node.call("svc_getAccessList", height, *cursor)
            encoded, cursor = encoded + data(page["data"]), [page["cursor"]]
            if page["cursor"] is None:
                break
        entries = decode(messages.ACCESSES, encoded)
        keys_listed = [entry["key"] for entry in entries]
        self.report.check("access_list", all(a < b for a, b in zip(keys_listed, keys_listed[1:])), "order")
        return {entry["key"]: (entry["old"], entry["new"]) for entry in entries}

    def same_account(self, account, height):
        """The node's balance and nonce at a height are those of the state derived here."""
        entry = execution.get_account(self.states[height], account)
        block = hex(height)
        balance, nonce = self.node.batch(("svc_getBalance", (keys.address(account, self.genesis["network"]), block)),
                                         ("svc_getTransactionCount", (to_hex(account), block)))
        self.report.equal("balances", quantity(balance), entry.balance, "%s at %s" % (account.hex(), block))
        self.report.equal("nonces", quantity(nonce), entry.nonce, "%s at %s" % (account.hex(), block))

    def json_receipt(self, answer, tx, index, reason):
        """The members of an RPC receipt that no root covers."""
        payload, height = tx["payload"], self.head()
        price = execution.price_of(tx, self.headers[height]["base_fee"])
        want = {"blockHeight": height, "blockHash": to_hex(self.hashes[height]), "transactionIndex": index,
                "effectiveGasPrice": hex(price), "fee": hex(price * quantity(answer["gasUsed"])),
                "from": to_hex(tx["sender"]), "payer": None if tx["payer"] is None else to_hex(tx["payer"])}
        if payload["type"] == "transfer":
            want["to"] = to_hex(tx["target"])
        want["error"] = reason or None
        for name, value in want.items():
            self.report.equal("json_receipt", answer[name], value, name)

    def json_block(self, rendering, block, size):
        """The JSON rendering says what raw says."""
        header = block["header"]
        hashes = [to_hex(messages.transaction_hash(signed["transaction"])) for signed in block["transactions"]]
        want = {"height": header["height"], "hash": to_hex(self.hashes[header["height"]]), "size": size,
                "timestamp": header["timestamp"] // 1000, "timestampMs": header["timestamp"],
                "txCount": len(block["transactions"]), "transactions": hashes,
                "stateRoot": to_hex(header["state_root"]), "parentHash": to_hex(header["parent"]),
                "transactionsRoot": to_hex(header["transactions_root"]), "producer": to_hex(header["producer"]),
                "receiptsRoot": to_hex(header["receipts_root"]), "gasUsed": hex(header["gas_used"]),
                "gasLimit": hex(header["gas_limit"]), "baseFee": hex(header["base_fee"]),
                "version": header["version"],
                "seal": {"type": "signature", "signature": to_hex(block["seal"]["signature"])}}
        for name, value in want.items():
            self.report.equal("json_block", rendering[name], value, name)

    def prove(self, key, proof):
        """A Merkle proof of the node's holds under the derived root, and shows the derived value."""
        if self.head() < proof["height"]:
            self.follow()
        self.report.check("proof_height", 0 <= proof["height"] <= self.head(), str(proof["height"]))
        header, decoded = self.headers[proof["height"]], proof_of(proof)
        self.report.equal("proof_key", decoded["key"], key)
        self.report.equal("proof_state_root", data(proof["stateRoot"]), header["state_root"])
        self.report.check("proof_verifies", tree.proof_holds(header["state_root"], decoded), key.hex())
        self.report.equal("proof_value", decoded["value"] or None, self.states[proof["height"]].get(key), key.hex())
        ends = self.report.seen.setdefault("proof_ends", {})
        kind = proof["end"]["type"]
        ends[kind] = ends.get(kind, 0) + 1


def proof_of(answer):
    """The Merkle proof of an RPC result."""
    end = dict(answer["end"])
    if end["type"] == "other":
        end["value_hash"] = end.pop("valueHash")
    value = "" if answer["value"] is None else answer["value"]
    return messages.MERKLE_PROOF.from_json({"key": answer["key"], "value": value, "siblings": answer["siblings"],
                                            "end": end})


def receipt(answer):
    """The consensus receipt of an RPC result (the table in "Check a block yourself")."""
    for log in answer["logs"]:
        require("json_receipt", data(log["topics"][0]) == messages.sha256(log["eventName"].encode()), "first topic")
    return {"status": quantity(answer["status"]),
            "gas_used": quantity(answer["gasUsed"]), "output": data(answer["returnData"]),
            "contract": None if answer["contractAddress"] is None else data(answer["contractAddress"]),
            "logs": [{"contract": data(log["address"]), "name": log["eventName"], "data": data(log["data"]),
                      "topics": [data(topic) for topic in log["topics"][1:]]} for log in answer["logs"]]}


class KeySigner:
    """Signs as a key account: the transaction's hash, or its text as a wallet does by BIP-322."""

    def __init__(self, account, sighash=None):
        self.account, self.sighash, self.public = account, sighash, account.public

    def sign(self, message, text):
        if self.sighash is None:
            return {"type": "key", "signature": keys.sign(self.account.private, message, os.urandom(32))}
        signed = witnesses.bip322(self.public, text, self.sighash)
        return {"type": "text", "signature": keys.sign(self.account.private, signed, os.urandom(32)),
                "sighash": self.sighash}


class PolicySigner:
    """Signs as a policy of one passkey and one P-256 key, both of which must sign."""

    SECRETS = {"passkey": 0x1234567890ABCDEF, "p256": 0xFEDCBA0987654321}

    def __init__(self):
        points = {kind: curve.ecdsa_point(secret) for kind, secret in self.SECRETS.items()}
        signers = [{"type": "p256", "point": points["p256"]},
                   {"type": "passkey", "point": points["passkey"], "verified": True}]
        self.policy = {"number": 0, "owner": {"threshold": 2, "signers": signers}, "recovery": None}

    def sign(self, message, text):
        key = {"type": "p256", "signature": curve.ecdsa_sign(self.SECRETS["p256"], messages.sha256(message))}
        passkey = {"type": "passkey", "authenticator": messages.sha256(b"localhost") + b"\5" + bytes(4),
                   "client": b'","origin":"http://localhost:8080","crossOrigin":false}'}
        client = b'{"type":"webauthn.get","challenge":"' + witnesses.challenge_text(message) + passkey["client"]
        digest = messages.sha256(passkey["authenticator"] + messages.sha256(client))
        passkey["signature"] = curve.ecdsa_sign(self.SECRETS["passkey"], digest)
        return {"type": "policy", "policy": self.policy,
                "proofs": [{"signer": 0, "evidence": key}, {"signer": 1, "evidence": passkey}]}


class Sender:
    """Makes, signs and sends transactions of one account."""

    def __init__(self, chain, account, signer):
        self.chain, self.node, self.report = chain, chain.node, chain.report
        self.account, self.signer, self.network = account, signer, chain.genesis["network"]
        self.chain_id = quantity(self.node.call("svc_chainId"))
        self.report.equal("chain_id", self.chain_id, chain.genesis["chain_id"])
        self.nonce = quantity(self.node.call("svc_getTransactionCount", to_hex(account), "pending"))

    def transaction(self, target, value, payload, gas_limit):
        prices = self.node.call("svc_gasPrice")
        return {"sender": self.account, "target": target, "chain_id": self.chain_id, "nonce": self.nonce,
                "gas_limit": gas_limit, "max_fee_per_gas": quantity(prices["suggested_max_fee"]),
                "max_priority_fee_per_gas": quantity(prices["suggested_priority_fee"]), "value": value,
                "payer": None, "valid_until": None, "payload": payload}

    def transfer(self, to, value, gas_limit=None):
        """A signed transfer with the next nonce; the node estimates its gas unless a limit is given."""
        tx = self.transaction(to, value, {"type": "transfer", "memo": None}, gas_limit or 200000)
        if gas_limit is None:
            unsigned = messages.UNSIGNED.encode({"version": 2, "transaction": tx})
            tx["gas_limit"] = quantity(self.node.call("svc_estimateGas", to_hex(unsigned)))
            # An account that never sent may by then have lost its entry with its last coin.
            makes = value > 0 and execution.get_account(self.chain.states[-1], to).nonce == 0
            needed = 10000 + (100000 if makes else 0)
            self.report.equal("estimated_gas", tx["gas_limit"], needed * 105 // 100, "5 %% over %d" % needed)
        return self.sign(tx)

    def sign(self, tx, payer=None):
        """Sign it, and take the next nonce. A payer has an account's public key and signs too."""
        self.nonce += 1
        if payer is not None:
            tx["payer"] = payer.public
        tx_id = messages.transaction_hash(tx)
        signed = {"version": 2, "transaction": tx, "payer_witness": None,
                  "witness": self.signer.sign(tx_id, texts.sender_text(tx, self.network))}
        if payer is not None:
            signed["payer_witness"] = payer.sign(messages.payer_hash(tx_id), texts.payer_text(tx, self.network))
        return signed

    def send(self, *signed):
        """Send them at once; returns when each has a receipt, with the highest block that holds one."""
        raw = [to_hex(messages.SIGNED_TRANSACTION.encode(s)) for s in signed]
        want = [to_hex(messages.transaction_hash(s["transaction"])) for s in signed]
        self.report.equal("sent_hash", self.node.batch(*(("svc_sendRawTransaction", (r,)) for r in raw)), want)
        return max(self.await_receipt(h)["blockHeight"] for h in want)

    def await_receipt(self, transaction_hash):
        deadline = time.monotonic() + RECEIPT_TIMEOUT
        while time.monotonic() < deadline:
            answer = self.node.call("svc_getTransactionReceipt", transaction_hash)
            if answer is not None:
                return answer
            time.sleep(0.05)
        raise execution.Invalid("receipt_in_time", transaction_hash)


def send_transactions(chain):
    """dev0 pays dev1; then, at once, makes an account, fails to make another for want of gas, and pays itself."""
    seed = keys.seed(MNEMONIC)
    dev0, dev1 = keys.Account(seed, 0), keys.Account(seed, 1)
    unused = (account for account in (keys.Account(seed, i).public for i in itertools.count(100))
              if account_key(account) not in chain.states[-1])
    sender = Sender(chain, dev0.public, KeySigner(dev0))
    before = execution.get_account(chain.states[-1], dev1.public).balance
    height = sender.send(sender.transfer(dev1.public, 150000000))
    chain.follow()
    gained = execution.get_account(chain.states[height], dev1.public).balance - before
    chain.report.equal("payment_arrived", gained, 150000000)
    sender.send(sender.transfer(next(unused), 1000), sender.transfer(next(unused), 1000, gas_limit=30000),
                sender.transfer(dev0.public, 7))
    chain.follow()
    send_by_policy(chain, sender, seed)


def send_by_policy(chain, sender, seed):
    """A batch with memos pays dev2, which then signs by texts and sets a policy. Under the policy it sends a payment
    whose fee dev1 pays."""
    dev1, dev2 = keys.Account(seed, 1), keys.Account(seed, 2)
    memo = b"rent".ljust(32, b"\0")
    steps = [{"target": to, "value": value, "action": {"type": "transfer", "memo": memo}}
             for to, value in ((dev2.public, 50000000), (dev1.public, 1))]
    sender.send(sender.sign(sender.transaction(bytes(32), 0, {"type": "batch", "steps": steps}, 300000)))
    policy = PolicySigner()
    second = Sender(chain, dev2.public, KeySigner(dev2, sighash=1))
    payload = {"type": "set_policy", "recovery": False, "policy": policy.policy}
    second.send(second.sign(second.transaction(bytes(32), 0, payload, 100000)))
    chain.follow()
    state = execution.get_account(chain.states[-1], dev2.public)
    chain.report.equal("policy_in_force", state.authority, messages.policy_hash(policy.policy))
    second.signer = policy
    payment = second.transaction(dev1.public, 5, {"type": "transfer", "memo": memo}, 300000)
    payment["valid_until"] = chain.headers[-1]["timestamp"] + 3600000
    second.send(second.sign(payment, payer=KeySigner(dev1, sighash=0)))
    chain.follow()


def check_signed_header(chain):
    """Without its transactions raw is the signed header."""
    head = chain.head()
    item, = chain.node.call("svc_getBlocks", {"from_height": head, "to_height": head})
    signed = {"header": chain.headers[head], "seal": chain.seals[head]}
    chain.report.equal("signed_header", data(item["raw"]), messages.SIGNED_HEADER.encode(signed))


def check_proofs(chain):
    """Proofs of the accounts of genesis, of some that do not exist, and of the parameters."""
    accounts = [a["account"] for a in chain.genesis["allocations"]] + [bytes([i]) * 32 for i in range(8)]
    for account in accounts:
        chain.prove(account_key(account), chain.node.call("svc_getAccountProof", to_hex(account)))
    info = chain.node.call("svc_getParameters")
    chain.prove(execution.PARAMETERS_KEY, info["proof"])
    derived = messages.PARAMETERS.from_json({name: info[name] for name in messages.PARAMETERS.fields})
    chain.report.equal("json_parameters", derived, execution.parameters_of(chain.states[info["height"]]))


def check_headers(chain):
    """Who follows headers only, by the node's, takes the same ones."""
    follower, height = headers.Follower(chain.genesis), 0
    shown = chain.node.call("svc_getHeaders", {"from_height": 0, "to_height": 0})[0]["parameters"]
    while height < chain.head():
        last = min(height + 1000, chain.head())
        items = chain.node.call("svc_getHeaders", {"from_height": height + 1, "to_height": last})
        chain.report.check("followed_by_headers", items, "none from %d on" % (height + 1))
        for item in items:
            try:
                signed = decode(messages.SIGNED_HEADER, data(item["header"]))
                follower.take(signed, None if shown is None else proof_of(shown))
            except execution.Invalid as invalid:
                chain.report.check("followed_by_headers", False, ": ".join(invalid.args))
            shown = item["parameters"]
        height = follower.header["height"]
    chain.report.equal("followed_by_headers", follower.header, chain.headers[-1])


def check_inclusion(chain):
    """The first and the last transaction are in their blocks, with their receipts."""
    sent = [(height, block) for height, block in enumerate(chain.transactions) if block]
    for height, signed in [(sent[0][0], sent[0][1][0]), (sent[-1][0], sent[-1][1][-1])] if sent else []:
        answer = chain.node.call("svc_getInclusionProof", to_hex(messages.transaction_hash(signed["transaction"])))
        found, header = decode(messages.SIGNED_HEADER, data(answer["header"])), chain.headers[height]
        raw, encoded = data(answer["rawTransaction"]), data(answer["rawReceipt"])
        chain.report.equal("inclusion", found, {"header": header, "seal": chain.seals[height]})
        chain.report.equal("inclusion", raw, messages.SIGNED_TRANSACTION.encode(signed))
        proofs = [messages.INCLUSION_PROOF.from_json(answer[name]) for name in ("transaction", "receipt")]
        leaves = (execution.leaf_of_transaction(execution.decode_transaction(raw)),
                  execution.leaf_of_receipt(decode(messages.RECEIPT, encoded)))
        for proof, leaf, tag, root in zip(proofs, leaves, (tree.TRANSACTIONS, tree.RECEIPTS),
                                          (header["transactions_root"], header["receipts_root"])):
            chain.report.check("inclusion", proof["leaf"] == tree.digest_bytes(leaf)
                               and tree.inclusion_holds(tag, root, proof), "of block %d" % height)
        chain.report.equal("inclusion", proofs[0]["number"], proofs[1]["number"], "one number")


def check_node(report, url, send):
    node = Node(url)
    info = node.call("svc_getNodeInfo")
    report.equal("schedule_digest", info["schedule_digest"], to_hex(gas.DIGEST))
    chain = Chain(node, report)
    chain.follow()
    if send:
        send_transactions(chain)
    check_signed_header(chain)
    check_proofs(chain)
    check_headers(chain)
    check_inclusion(chain)


def main():
    parser = argparse.ArgumentParser(description="Checks a Cairn node, or the test vectors, by docs/protocol.md alone.")
    parser.add_argument("url", nargs="?", help="address of the node's JSON-RPC")
    parser.add_argument("--verify", action="store_true", help="send nothing")
    parser.add_argument("--vectors", metavar="FILE", help="check docs/vectors.json instead of a node")
    arguments = parser.parse_args()
    if (arguments.url is None) == (arguments.vectors is None):
        parser.error("give a URL or --vectors FILE")
    report, failed = Report(), None
    try:
        if arguments.vectors:
            with open(arguments.vectors, encoding="utf-8") as file:
                vectors.check(report, json.load(file))
        else:
            check_node(report, arguments.url, not arguments.verify)
    except execution.Invalid as broken:
        name, detail = broken.args
        failed = {"check": name, "detail": detail}
    except DecodeError as error:
        failed = {"check": "decodes", "detail": str(error)}
    except (LookupError, TypeError, ValueError) as error:  # an answer without a member, or with a wrong type
        traceback.print_exc()
        failed = {"check": "json_form", "detail": repr(error)}
    if failed:
        report.checks[failed["check"]] = False
    print(json.dumps({"ok": not failed, "checks": report.checks, "failed": failed, "seen": report.seen}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
