#!/usr/bin/env python3
"""An independent client of Cairn, written from docs/protocol.md alone, with the standard library of Python 3.9.

    client.py URL             follow the chain from genesis, send transactions, check everything they lead to
    client.py --verify URL    only follow and check
    client.py --vectors FILE  check docs/vectors.json; no node is needed

It prints one JSON report: {"ok", "checks": {name: bool}, "failed": null or {"check", "detail"}, "seen"}. It ends at the
first check that fails, with exit code 1. It cannot run contracts: of a block that does it takes the writes from the
access list, holds them to header and state root, and counts it in seen.not_executed.
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

import execution
import keys
import messages
import tree
import vectors
from execution import ACCOUNT, account_key, require
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
        self.node, self.report = node, report
        self.headers, self.hashes, self.signatures, self.states = [], [], [], []

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
        genesis = decode(messages.GENESIS, data(info["raw"]))
        check("genesis_decodes", messages.GENESIS.encode(genesis) == data(info["raw"]))
        execution.check_genesis(genesis, check)
        self.genesis, header = genesis, execution.genesis_header(genesis)
        item, = self.node.call("svc_getBlocks", {"from_height": 0, "to_height": 0, "include_transactions": True})
        block = decode(messages.BLOCK, data(item["raw"]))
        for name in messages.HEADER.fields:
            equal("genesis_header", block["header"][name], header[name], name)
        check("genesis_header", block["signature"] == bytes(64) and not block["transactions"], "unsigned and empty")
        equal("genesis_hash", data(info["hash"]), messages.block_hash(header))
        self.accept(block, execution.genesis_state(genesis))
        for allocation in genesis["allocations"]:
            self.same_account(allocation["account"], 0)
        self.json_block(item["block"], block, len(data(item["raw"])))

    def accept(self, block, state):
        self.headers.append(block["header"])
        self.hashes.append(messages.block_hash(block["header"]))
        self.signatures.append(block["signature"])
        self.states.append(state)

    def block(self, item):
        """Check one block against all before it, and append it."""
        check, equal, report = self.report.check, self.report.equal, self.report
        raw = data(item["raw"])
        block = decode(messages.BLOCK, raw)
        check("block_decodes", messages.BLOCK.encode(block) == raw, "encode(decode(raw)) = raw")
        header, parent, before = block["header"], self.headers[-1], self.states[-1]
        parameters = execution.parameters_of(before)
        equal("height", header["height"], parent["height"] + 1)
        equal("parent_link", header["parent"], self.hashes[-1])
        equal("chain_id", header["chain_id"], parent["chain_id"])
        for name in ("version", "producer", "gas_limit"):
            equal("parameters_in_header", header[name], parameters[name], name)
        check("timestamp", header["timestamp"] >= parent["timestamp"], "before the parent's")
        equal("base_fee", header["base_fee"], execution.next_base_fee(
            parent["base_fee"], parent["gas_used"], parent["gas_limit"], parameters))

        hashes = [messages.transaction_hash(signed) for signed in block["transactions"]]
        equal("transactions_root", header["transactions_root"], messages.merkle_root(hashes))
        answers = [self.node.call("svc_getTransactionReceipt", to_hex(h)) for h in hashes]
        check("receipts_present", None not in answers, "a transaction of a block has no receipt")
        receipts = [receipt(answer) for answer in answers]
        equal("receipts_root", header["receipts_root"],
              messages.merkle_root([messages.RECEIPT.encode(r) for r in receipts]))
        equal("gas_used", header["gas_used"], sum(r["gas_used"] for r in receipts))

        if execution.runs_contracts(block["transactions"]):
            accesses = self.access_list(header["height"])
            result = execution.apply_list(before, accesses, block["transactions"], check)
            result.reasons = [answer["error"] for answer in answers]
            report.seen["not_executed"] = report.seen.get("not_executed", 0) + 1
        else:
            result = execution.execute(before, header, block["transactions"], check)
            equal("receipts_of_execution", receipts, result.receipts)
        writes = execution.writes(before, result.state)
        equal("writes_digest", header["writes_digest"], messages.changes_digest(writes))
        check("writes_are_listed", writes.keys() <= result.accesses.keys())
        equal("state_root", header["state_root"], tree.state_root(result.state))
        execution.check_supply(result.state, check)
        check("producer_signature", keys.verify(header["producer"], messages.block_hash(header), block["signature"]))

        self.accept(block, result.state)
        for key in writes:
            if key[:1] == b"\1":
                self.same_account(key[1:], header["height"])
        for i, (answer, signed) in enumerate(zip(answers, block["transactions"])):
            self.json_receipt(answer, signed["transaction"], i, result.reasons[i])
        self.json_block(item["block"], block, len(raw))
        report.seen["blocks"] = self.head()
        report.seen["transactions"] = report.seen.get("transactions", 0) + len(hashes)

    def access_list(self, height):
        """A block's access list, {key: (old, new)}, from its pages."""
        encoded, cursor = b"", []
        while True:
            page = self.node.call("svc_getAccessList", height, *cursor)
            encoded, cursor = encoded + data(page["data"]), [page["cursor"]]
            if page["cursor"] is None:
                break
        entries = decode(messages.CHANGES, encoded)
        keys_listed = [entry["key"] for entry in entries]
        self.report.check("access_list", all(a < b for a, b in zip(keys_listed, keys_listed[1:])), "order")
        return {entry["key"]: (entry["old"], entry["new"]) for entry in entries}

    def same_account(self, account, height):
        """The node's balance and nonce at a height are those of the state derived here."""
        entry = execution.get_account(self.states[height], account)
        block = hex(height)
        balance, nonce = self.node.batch(("svc_getBalance", (keys.address(account, self.genesis["network"]), block)),
                                         ("svc_getTransactionCount", (to_hex(account), block)))
        self.report.equal("balances", quantity(balance), entry["balance"], "%s at %s" % (account.hex(), block))
        self.report.equal("nonces", quantity(nonce), entry["nonce"], "%s at %s" % (account.hex(), block))

    def json_receipt(self, answer, tx, index, reason):
        """The members of an RPC receipt that no root covers."""
        payload, height = tx["payload"], self.head()
        want = {"blockHeight": height, "blockHash": to_hex(self.hashes[height]), "transactionIndex": index,
                "effectiveGasPrice": hex(execution.price_of(tx, self.headers[height]["base_fee"])),
                "from": to_hex(tx["sender"]), "error": reason or None}
        if payload["variant"] == messages.TRANSFER:
            want["to"] = to_hex(payload["to"])
        for name, value in want.items():
            self.report.equal("json_receipt", answer[name], value, name)

    def json_block(self, rendering, block, size):
        """The JSON rendering says what raw says."""
        header = block["header"]
        want = {"height": header["height"], "hash": to_hex(self.hashes[header["height"]]), "size": size,
                "timestamp": header["timestamp"], "txCount": len(block["transactions"]),
                "transactions": [to_hex(messages.transaction_hash(signed)) for signed in block["transactions"]],
                "stateRoot": to_hex(header["state_root"]), "parentHash": to_hex(header["parent"]),
                "transactionsRoot": to_hex(header["transactions_root"]), "producer": to_hex(header["producer"]),
                "receiptsRoot": to_hex(header["receipts_root"]), "gasUsed": hex(header["gas_used"]),
                "gasLimit": hex(header["gas_limit"]), "baseFee": hex(header["base_fee"]),
                "signature": to_hex(block["signature"])}
        for name, value in want.items():
            self.report.equal("json_block", rendering[name], value, name)

    def prove(self, key, proof):
        """A Merkle proof of the node's holds under the derived root, and shows the derived value."""
        if self.head() < proof["height"]:
            self.follow()
        self.report.check("proof_height", 0 <= proof["height"] <= self.head(), str(proof["height"]))
        header, end = self.headers[proof["height"]], proof["end"]
        value = None if proof["value"] is None else data(proof["value"])
        self.report.equal("proof_key", data(proof["key"]), key)
        self.report.equal("proof_state_root", data(proof["stateRoot"]), header["state_root"])
        self.report.check("proof_verifies", tree.verify_proof(
            header["state_root"], key, value, [data(s) for s in proof["siblings"]], end["type"],
            data(end.get("path", "0x")), data(end.get("valueHash", "0x"))), key.hex())
        self.report.equal("proof_value", value, self.states[proof["height"]].get(key), key.hex())
        ends = self.report.seen.setdefault("proof_ends", {})
        ends[end["type"]] = ends.get(end["type"], 0) + 1


def receipt(answer):
    """The consensus receipt of an RPC result (the table in "Check a block yourself")."""
    for log in answer["logs"]:
        require("json_receipt", data(log["topics"][0]) == messages.sha256(log["eventName"].encode()), "first topic")
    return {"transaction": data(answer["transactionHash"]), "status": quantity(answer["status"]),
            "gas_used": quantity(answer["gasUsed"]), "output": data(answer["returnData"]),
            "contract": None if answer["contractAddress"] is None else data(answer["contractAddress"]),
            "logs": [{"contract": data(log["address"]), "name": log["eventName"], "data": data(log["data"]),
                      "topics": [data(topic) for topic in log["topics"][1:]]} for log in answer["logs"]]}


class Sender:
    """Makes, signs and sends transfers of one account."""

    def __init__(self, chain, account):
        self.chain, self.node, self.report, self.account = chain, chain.node, chain.report, account
        self.chain_id = quantity(self.node.call("svc_chainId"))
        self.report.equal("chain_id", self.chain_id, chain.genesis["chain_id"])
        self.nonce = quantity(self.node.call("svc_getTransactionCount", to_hex(account.public), "pending"))

    def transfer(self, to, value, gas_limit=None):
        """A signed transfer with the next nonce; the node estimates its gas unless a limit is given."""
        prices = self.node.call("svc_gasPrice")
        tx = {"version": 1, "chain_id": self.chain_id, "sender": self.account.public, "nonce": self.nonce,
              "gas_limit": gas_limit or 100000, "max_fee_per_gas": quantity(prices["suggested_max_fee"]),
              "max_priority_fee_per_gas": quantity(prices["suggested_priority_fee"]),
              "payload": {"variant": messages.TRANSFER, "to": to, "value": value}}
        if gas_limit is None:
            unsigned = messages.TRANSACTION.encode(tx)
            tx["gas_limit"] = quantity(self.node.call("svc_estimateGas", to_hex(unsigned)))
            # An account that never sent may have lost its entry by then, with its last coin.
            makes = value > 0 and execution.get_account(self.chain.states[-1], to)["nonce"] == 0
            needed = 21000 + (25000 if makes else 0)
            self.report.equal("estimated_gas", tx["gas_limit"], needed * 105 // 100, "5 %% over %d" % needed)
        self.nonce += 1
        return {"transaction": tx,
                "signature": keys.sign(self.account.private, messages.signing_hash(tx), os.urandom(32))}

    def send(self, *signed):
        """Send them at once; returns when each has a receipt, with the highest block that holds one."""
        raw = [to_hex(messages.SIGNED_TRANSACTION.encode(s)) for s in signed]
        want = [to_hex(messages.transaction_hash(s)) for s in signed]
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
    sender = Sender(chain, dev0)
    before = execution.get_account(chain.states[-1], dev1.public)["balance"]
    height = sender.send(sender.transfer(dev1.public, 150000000))
    chain.follow()
    gained = execution.get_account(chain.states[height], dev1.public)["balance"] - before
    chain.report.equal("payment_arrived", gained, 150000000)
    sender.send(sender.transfer(next(unused), 1000), sender.transfer(next(unused), 1000, gas_limit=30000),
                sender.transfer(dev0.public, 7))
    chain.follow()


def check_signed_header(chain):
    """Without its transactions raw is the signed header."""
    head = chain.head()
    item, = chain.node.call("svc_getBlocks", {"from_height": head, "to_height": head})
    signed = {"header": chain.headers[head], "signature": chain.signatures[head]}
    chain.report.equal("signed_header", data(item["raw"]), messages.SIGNED_HEADER.encode(signed))


def check_proofs(chain):
    """Proofs of the accounts of genesis, of some that do not exist, and of the parameters."""
    accounts = [a["account"] for a in chain.genesis["allocations"]] + [bytes([i]) * 32 for i in range(8)]
    for account in accounts:
        chain.prove(account_key(account), chain.node.call("svc_getAccountProof", to_hex(account)))
    info = chain.node.call("svc_getParameters")
    chain.prove(execution.PARAMETERS_KEY, info["proof"])
    for name, value in execution.parameters_of(chain.states[info["height"]]).items():
        chain.report.equal("json_parameters", info[name], to_hex(value) if isinstance(value, bytes) else value, name)


def check_node(report, url, send):
    node = Node(url)
    info = node.call("svc_getNodeInfo")
    report.equal("schedule_digest", info["schedule_digest"], "0x" + execution.SCHEDULE_DIGEST)
    chain = Chain(node, report)
    chain.follow()
    if send:
        send_transactions(chain)
    check_signed_header(chain)
    check_proofs(chain)


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
    except (LookupError, TypeError, ValueError) as error:  # an answer without a member, or with another type
        traceback.print_exc()
        failed = {"check": "json_form", "detail": repr(error)}
    if failed:
        report.checks[failed["check"]] = False
    print(json.dumps({"ok": not failed, "checks": report.checks, "failed": failed, "seen": report.seen}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
