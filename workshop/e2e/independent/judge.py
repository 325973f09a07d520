#!/usr/bin/env python3
"""Judges transactions, blocks, proofs and signatures, one a line, by docs/protocol.md alone.

Each line of the input is a command and its arguments, and gets one line:

    context JSON             a member like judged_in of docs/vectors.json judges what follows      ok
    tx HEX                   the first rule that the transaction breaks, or 0; and, if it          RULE [DIGEST]
                             decodes, the SHA-256 of what is derived from it
    genesis HEX              begins a chain, whose block 0 has the number 0                        ok HASH | no WHAT
    block PARENT HEX         a block on the one of this number; one that is valid gets a number    ok NUMBER DIGEST
                                                                                                   | no WHAT
    state ROOT HEX           whether a Merkle proof holds                                          1 | 0
    transactions ROOT HEX    whether an inclusion proof holds; receipts likewise                   1 | 0
    message CONTRACT ACCOUNT AUTHORITY MESSAGE WITNESS      what account_verify says               1 | 0
    p256 POINT DIGEST SIGNATURE          whether it holds with any s, and with the low one         1 | 0, twice
    schnorr KEY MESSAGE SIGNATURE                                                                  1 | 0

Empty bytes are -. Contracts run, if their modules are valid: nothing here validates one.
"""

import json
import sys

import contracts
import curve
import execution
import keys
import messages
import texts
import tree
import witnesses
from wire import U64, DecodeError, decode


def data(text):
    return b"" if text == "-" else bytes.fromhex(text)


class Judge:
    def __init__(self):
        self.state, self.environment, self.within = {}, None, {}
        self.network, self.headers, self.states = "", [], []

    def context(self, text):
        self.within = within = json.loads(text)
        self.parameters = messages.PARAMETERS.from_json(within["parameters"])
        self.state = {b"\1" + bytes.fromhex(account): bytes.fromhex(record)
                      for account, record in within["accounts"].items() if record}
        self.environment = execution.Environment(within["chain_id"], within["network"], self.parameters,
                                                 within["base_fee"], within["timestamp"])
        self.environment.gas_left, self.environment.bytes_left = within["gas_left"], within["bytes_left"]
        return "ok"

    def derived(self, signed):
        """What is derived from a transaction that decodes: hashes, texts, claims, leaf, gas."""
        tx, network = signed["transaction"], self.environment.network
        tx_id, payer = messages.transaction_hash(tx), signed["payer_witness"]
        claims = witnesses.claim(signed["witness"], tx["sender"])
        if payer is not None and tx["payer"] is not None:
            claims += witnesses.claim(payer, tx["payer"])
        parts = [tx_id, messages.payer_hash(tx_id), messages.witness_digest(signed), claims]
        if execution.fee_cap(tx) <= execution.MAX_AMOUNT:  # a higher cap breaks rule 6
            parts += [texts.sender_text(tx, network) or b"", texts.payer_text(tx, network) or b""]
        if (tx["payer"] is None) == (payer is None):  # rule 8 refuses the others
            parts.append(U64.encode(execution.intrinsic_gas(signed, True)))
            parts.append(tree.digest_bytes(execution.leaf_of_transaction(signed)))
        return messages.sha256(b"".join(U64.encode(len(part)) + part for part in parts))

    def tx(self, text):
        encoded = data(text)
        try:
            signed = execution.decode_transaction(encoded)
        except execution.Broken as broken:
            return str(broken.rule)
        try:
            execution.check_transaction(signed, len(encoded), self.state, self.environment)
            rule = 0
        except execution.Broken as broken:
            rule = broken.rule
        return "%d %s" % (rule, self.derived(signed).hex())

    def genesis(self, text):
        try:
            genesis = decode(messages.GENESIS, data(text), messages.MAX_GENESIS)
            execution.check_genesis(genesis)
        except DecodeError:
            return "no encoding"
        except execution.Invalid as invalid:
            return "no " + invalid.args[0]
        header = execution.genesis_header(genesis)
        self.network, self.headers, self.states = genesis["network"], [header], [execution.genesis_state(genesis)]
        self.codes = contracts.Codes()
        return "ok " + messages.block_hash(header).hex()

    def block(self, parent, text):
        number = int(parent)
        try:
            block, result = execution.check_block(data(text), self.headers[number], self.states[number], self.network,
                                                  self.codes)
        except execution.Invalid as invalid:
            return "no " + invalid.args[0]
        self.headers.append(block["header"])
        self.states.append(result.state)
        execution.check_supply(result.state)
        receipts = b"".join(map(messages.RECEIPT.encode, result.receipts))
        digest = messages.sha256(receipts + messages.accesses_digest(result.accesses))
        return "ok %d %s" % (len(self.headers) - 1, digest.hex())

    def state_proof(self, root, text):
        try:
            proof = decode(messages.MERKLE_PROOF, data(text), messages.MAX_OTHER)
        except DecodeError:
            return "0"
        return str(int(tree.proof_holds(data(root), proof)))

    def inclusion(self, tag, root, text):
        try:
            proof = decode(messages.INCLUSION_PROOF, data(text), messages.MAX_OTHER)
        except DecodeError:
            return "0"
        return str(int(tree.inclusion_holds(tag, data(root), proof)))

    def message(self, contract, account, authority, text, witness):
        try:
            decoded = decode(messages.WITNESS, data(witness), messages.MAX_OTHER)
        except DecodeError:
            return "0"
        if decoded["type"] == "policy" and not witnesses.valid_policy(decoded["policy"]):
            return "0"
        chain = self.environment.network, self.environment.chain_id
        return str(int(witnesses.message_holds(chain, data(contract), data(account), data(text), decoded,
                                               data(authority))))

    def answer(self, line):
        command, _, rest = line.rstrip("\n").partition(" ")
        if command == "context":
            return self.context(rest)
        arguments = rest.split(" ")
        if command in ("transactions", "receipts"):
            return self.inclusion(getattr(tree, command.upper()), *arguments)
        if command == "p256":
            given = [data(argument) for argument in arguments]
            return "%d%d" % (curve.ecdsa_verify(*given, any_s=True), curve.ecdsa_verify(*given))
        if command == "schnorr":
            return str(int(keys.verify(*map(data, arguments))))
        return {"tx": self.tx, "genesis": self.genesis, "block": self.block, "state": self.state_proof,
                "message": self.message}[command](*arguments)


def main():
    judge = Judge()
    for line in sys.stdin:
        print(judge.answer(line), flush=True)


if __name__ == "__main__":
    main()
