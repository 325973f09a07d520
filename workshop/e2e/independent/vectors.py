"""Checks of docs/vectors.json: each definition is computed anew from its inputs."""

import json

import abi
import execution
import keys
import messages
import metering
import storage
import tree
from wire import Bytes, DecodeError, Fixed, List, Struct, decode

unhex = bytes.fromhex
NO_AUXILIARY = bytes(32)


def parameters_from(member):
    return {name: unhex(value[2:]) if isinstance(value, str) else value for name, value in member.items()}


def payload_from(member):
    """A payload as the codec has it: bytes for hex, text for names."""
    kinds = {"name": str, "function": str, "value": int, "variant": int, "parameters": parameters_from}
    return {name: kinds.get(name, unhex)(value) for name, value in member.items()}


def transaction_from(member):
    tx = {name: member[name] for name in messages.TRANSACTION.fields if name not in ("sender", "payload")}
    return dict(tx, sender=unhex(member["sender"]), payload=payload_from(member["payload"]))


def header_from(member):
    return {name: unhex(value) if isinstance(value, str) else value for name, value in member.items()}


def receipt_from(member):
    logs = [{"contract": unhex(log["contract"]), "name": log["name"], "topics": [unhex(t) for t in log["topics"]],
             "data": unhex(log["data"])} for log in member["logs"]]
    return {"transaction": unhex(member["transaction"]), "status": member["status"], "gas_used": member["gas_used"],
            "contract": None if member["contract"] is None else unhex(member["contract"]),
            "output": unhex(member["output"]), "logs": logs}


def genesis_from(member):
    accounts = [{"account": unhex(a["account"][2:]), "balance": a["balance"]} for a in member["allocations"]]
    return dict(member, parameters=parameters_from(member["parameters"]), allocations=accounts)


def changes_from(members):
    return {unhex(m["key"]): (unhex(m["old"]), unhex(m["new"])) for m in members}


def same_encoding(equal, name, kind, value, encoded):
    """Both ways: the value encodes to the bytes, and they decode to it."""
    equal(name, kind.encode(value).hex(), encoded, "encoded")
    equal(name, decode(kind, unhex(encoded)), value, "decoded")


def check(report, v):
    for name, check_member in MEMBERS.items():
        check_member(report, v[name])
    report.equal("members", set(v) - {"about"}, set(MEMBERS), "members of the file")


def tagged_hashes(report, members):
    for m in members:
        report.equal("tagged_hashes", messages.tagged(m["tag"], unhex(m["message"])).hex(), m["hash"], m["tag"])


def wallet(report, m):
    equal, seed = report.equal, keys.seed(m["mnemonic"])
    equal("seed", seed.hex(), m["seed"])
    for step in m["derivation_of_account_0"]:
        private, chain_code = keys.derive(seed, step["path"])
        equal("derivation", keys.to_bytes(private).hex(), step["private_key"], step["path"])
        equal("derivation", chain_code.hex(), step["chain_code"], step["path"])
    internal, tweak, output, public = keys.tweak(private)
    for name, value in (("internal_public_key", internal), ("tweak", tweak), ("private_key", keys.to_bytes(output)),
                        ("public_key", public)):
        equal("tweak", value.hex(), m["tweak_of_account_0"][name], name)
    for coin, accounts in (1, m["accounts_of_testnet_and_regtest"]), (0, m["accounts_of_mainnet"]):
        for i, want in enumerate(accounts):
            account = keys.Account(seed, i, coin)
            equal("accounts", (account.path, keys.to_bytes(account.private).hex(), account.public.hex()),
                  (want["path"], want["private_key"], want["public_key"]))
            for network, address in want["addresses"].items():
                equal("addresses", keys.address(account.public, network), address)


def parameters(report, members):
    for m in members:
        same_encoding(report.equal, "parameters", messages.PARAMETERS, parameters_from(m["json"]), m["encoded"])


def transaction(report, m):
    """One transaction; returns it signed."""
    equal, tx = report.equal, transaction_from(m)
    private, digest = keys.to_int(unhex(m["private_key"])), messages.signing_hash(tx)
    signed = {"transaction": tx, "signature": keys.sign(private, digest, NO_AUXILIARY)}
    same_encoding(equal, "transactions", messages.TRANSACTION, tx, m["unsigned"])
    equal("signing_hashes", digest.hex(), m["signing_hash"])
    equal("signatures", signed["signature"].hex(), m["signature"])
    same_encoding(equal, "transactions", messages.SIGNED_TRANSACTION, signed, m["signed"])
    equal("transaction_hashes", messages.transaction_hash(signed).hex(), m["id"])
    report.check("signatures", keys.verify(tx["sender"], digest, signed["signature"]))
    for i in (0, 31, 32, 63):
        changed = bytearray(signed["signature"])
        changed[i] ^= 1
        report.check("changed_signatures", not keys.verify(tx["sender"], digest, bytes(changed)), "byte %d" % i)
    return signed


def transactions(report, members):
    for m in members:
        transaction(report, m)


def contract_ids(report, members):
    for m in members:
        report.equal("contract_ids", messages.contract_id(unhex(m["sender"]), m["nonce"]).hex(), m["id"])


def intrinsic_gas(report, members):
    """The payloads are said in words; these are the same."""
    payloads = {
        "transfer": {"variant": messages.TRANSFER},
        "call of function transfer (8 bytes) with 2 bytes of args":
            {"variant": messages.CALL, "function": "transfer", "args": bytes(2)},
        "deploy of 8 bytes of code, name token (5 bytes), 7 bytes of init_args":
            {"variant": messages.DEPLOY, "code": bytes(8), "name": "token", "init_args": bytes(7)},
        "configure": {"variant": messages.CONFIGURE}}
    for m in members:
        report.equal("intrinsic_gas", execution.intrinsic_gas(payloads[m["payload"]]), m["gas"], m["payload"])


def base_fees(report, members):
    for m in members:
        got = execution.next_base_fee(m["parent_base_fee"], m["parent_gas_used"], m["parent_gas_limit"], m)
        report.equal("base_fees", got, m["next_base_fee"], str(m))


def merkle_roots(report, members):
    for m in members:
        got = messages.merkle_root([unhex(leaf) for leaf in m["leaves"]])
        report.equal("merkle_roots", got.hex(), m["root"], "%d leaves" % len(m["leaves"]))


def receipts(report, members):
    for m in members:
        same_encoding(report.equal, "receipts", messages.RECEIPT, receipt_from(m), m["encoded"])


def accesses(report, m):
    changes = changes_from(m["list"])
    report.equal("accesses", [unhex(a["key"]) for a in m["list"]], sorted(changes), "order")
    same_encoding(report.equal, "accesses", messages.CHANGES, [
        {"key": key, "old": old, "new": new} for key, (old, new) in sorted(changes.items())], m["encoded"])
    writes = {key: change for key, change in changes.items() if change[0] != change[1]}
    report.equal("accesses_digests", messages.changes_digest(changes).hex(), m["accesses_digest"])
    report.equal("writes_digests", messages.changes_digest(writes).hex(), m["writes_digest"])
    report.equal("accesses_digests", messages.changes_digest({}).hex(), m["digest_of_no_entries"])


def poseidon(report, m):
    equal, hexed = report.equal, lambda digest: tree.digest_bytes(digest).hex()
    constants = b"".join(c.to_bytes(4, "little") for c in tree.CONSTANTS)
    equal("round_constants", constants.hex(), m["constants_as_little_endian_u32"])
    equal("round_constants", messages.sha256(constants).hex(), m["constants_sha256"])
    for p in m["permute"]:
        equal("permute", list(tree.permute(tuple(p["input"]))), p["output"])
    for name, function in (("node", tree.node), ("leaf", tree.leaf)):
        for p in m[name]:
            first, second = tree.parse_digest(unhex(p["first"])), tree.parse_digest(unhex(p["second"]))
            equal("poseidon_" + name, hexed(function(first, second)), p["digest"])
    for name, function in (("path", tree.path_digest), ("value_hash", tree.value_hash)):
        for p in m[name]:
            equal("poseidon_" + name, hexed(function(unhex(p["message"]))), p["digest"], p["message"])


def state_from(records):
    return {unhex(r["key"]): unhex(r["value"]) for r in records}


def state_roots(report, members):
    for m in members:
        report.equal("state_roots", tree.state_root(state_from(m["records"])).hex(), m["root"])


def state_proof(report, m):
    """The proof holds, and no longer once its value, its key, a sibling or its root is changed."""
    def holds(m):
        return tree.verify_proof(unhex(m["root"]), unhex(m["key"]), unhex(m["value"]) or None,
                                 [unhex(s) for s in m["siblings"]], m["end"], unhex(m.get("path", "")),
                                 unhex(m.get("value_hash", "")))

    def flip(text):
        return text[:-2] + "%02x" % (int(text[-2:], 16) ^ 1)

    report.check("state_proofs", holds(m), m["key"])
    changed = [dict(m, root=flip(m["root"])), dict(m, end="leaf" if m["end"] != "leaf" else "empty")]
    changed += [dict(m, **{name: flip(m[name])}) for name in ("value", "path", "value_hash") if m.get(name)]
    changed += [dict(m, siblings=m["siblings"][:i] + [flip(s)] + m["siblings"][i + 1:])
                for i, s in enumerate(m["siblings"])]
    for other in changed:
        report.check("changed_state_proofs", not holds(other), str(other))


def state_proofs(report, members):
    for m in members:
        state_proof(report, m)


WITNESS = Struct(shapes=Bytes(), digests=List(Fixed(32)))


def state_witnesses(report, members):
    for m in members:
        values = {unhex(r["key"]): unhex(r["value"]) or None for r in m["values"]}
        try:
            witness = decode(WITNESS, unhex(m["witness"]))
            holds = tree.verify_witness(unhex(m["root"]), values, witness["shapes"], witness["digests"])
        except DecodeError:
            holds = False
        report.equal("state_witnesses", holds, m["holds"], m["about"])


def gas_schedule(report, m):
    report.equal("gas_schedule", messages.sha256(m["text"].encode()).hex(), m["digest"])
    report.equal("gas_schedule", m["digest"], execution.SCHEDULE_DIGEST, "the one of the page")


def metered(report, members):
    for m in members:
        want = {name: value for name, value in m.items() if name not in ("about", "code")}
        report.equal("metering", metering.measure(unhex(m["code"])), want, m["about"])


def abi_values(report, m):
    types = abi.Types(m["abi"])
    for v in m["values"]:
        kind = types.of(v["type"])
        value = kind.from_json(abi.parse(json.dumps(v["json"])))
        same_encoding(report.equal, "abi", kind, value, v["binary"])
        report.equal("abi", kind.to_json(value), v["json"], v["type"])
    for v in m["refused"]:
        kind = types.of(v["type"])
        try:
            kind.from_json(abi.parse(v["json"])) if "json" in v else decode(kind, unhex(v["binary"]))
            refused = False
        except ValueError:
            refused = True
        report.check("abi_refused", refused, str(v))
    for v in m["reverts"]:
        report.equal("abi_reverts", types.revert(unhex(v["data"])), v["revert"])
    for section in m["storage"]:
        stored_values(report, storage.Storage(types, section["storage"]), section)


def stored_values(report, stored, m):
    def refused(read, *given):
        try:
            read(*given)
        except (ValueError, KeyError):
            return True
        return False

    for v in m["keys"]:
        want = {name: value for name, value in v.items() if name != "bytes"}
        report.equal("storage_keys", stored.slot(unhex(v["bytes"])), want, v["bytes"])
    for v in m["values"]:
        report.equal("storage_values", stored.value(v["type"], unhex(v["bytes"])), v["json"], str(v))
    for key in m["unknown_keys"]:
        report.check("storage_refused", refused(stored.slot, unhex(key)), key)
    for v in m["refused_values"]:
        report.check("storage_refused", refused(stored.value, v["type"], unhex(v["bytes"])), str(v))


def chain(report, m):
    """Executes the example chain from its genesis; every field of every header follows."""
    equal, genesis = report.equal, genesis_from(m["genesis"])
    same_encoding(equal, "genesis", messages.GENESIS, genesis, m["genesis_encoded"])
    equal("genesis", messages.genesis_digest(genesis).hex(), m["genesis_digest"])
    execution.check_genesis(genesis, report.check)
    states, headers = [execution.genesis_state(genesis)], [execution.genesis_header(genesis)]
    for height, block in enumerate(m["blocks"]):
        header, signature = header_from(block["header"]), unhex(block["signature"])
        signed = [transaction(report, t) for t in block["transactions"]]
        same_encoding(equal, "headers", messages.HEADER, header, block["header_encoded"])
        equal("block_hashes", messages.block_hash(header).hex(), block["hash"])
        whole = {"header": header, "signature": signature, "transactions": signed}
        same_encoding(equal, "blocks", messages.BLOCK, whole, block["block_encoded"])
        if height == 0:
            equal("headers", header, headers[0], "header 0")
            equal("signatures", signature, bytes(64), "header 0")
            accesses_of_block = execution.writes({}, states[0])
        else:
            result = execute_block(report, block, header, signed, headers[-1], states[-1])
            accesses_of_block = result.accesses
            states.append(result.state)
            headers.append(header)
        accesses(report, block["accesses"])
        equal("access_lists", changes_from(block["accesses"]["list"]), accesses_of_block)
        equal("headers", block["accesses"]["writes_digest"], block["header"]["writes_digest"])
    base_fee = execution.next_base_fee(header["base_fee"], header["gas_used"], header["gas_limit"],
                                       execution.parameters_of(states[-1]))
    equal("base_fees", base_fee, m["base_fee_of_block_3"])
    equal("states", states[-1], state_from(m["state_after_block_2"]))
    state_proof(report, m["proof_of_account_1_after_block_1"])


def execute_block(report, block, header, signed, parent, before):
    equal, rules = report.equal, execution.parameters_of(before)
    result = execution.execute(before, header, signed, report.check)
    execution.check_supply(result.state, report.check)
    want = [receipt_from(r) for r in block["receipts"]]
    equal("receipts_of_execution", result.receipts, want)
    equal("reasons_of_failure", result.reasons, block["reasons_of_failure"])
    receipts(report, block["receipts"])
    derived = {
        "version": rules["version"], "chain_id": parent["chain_id"], "height": parent["height"] + 1,
        "parent": messages.block_hash(parent), "timestamp": header["timestamp"], "producer": rules["producer"],
        "transactions_root": messages.merkle_root([messages.transaction_hash(s) for s in signed]),
        "receipts_root": messages.merkle_root([messages.RECEIPT.encode(r) for r in want]),
        "state_root": tree.state_root(result.state),
        "writes_digest": messages.changes_digest(execution.writes(before, result.state)),
        "gas_used": sum(r["gas_used"] for r in want), "gas_limit": rules["gas_limit"],
        "base_fee": execution.next_base_fee(parent["base_fee"], parent["gas_used"], parent["gas_limit"], rules)}
    equal("headers", header, derived, "block %d" % header["height"])
    report.check("block_signatures", keys.verify(header["producer"], unhex(block["hash"]), unhex(block["signature"])))
    return result


MEMBERS = {
    "tagged_hashes": tagged_hashes, "wallet": wallet, "parameters": parameters, "transactions": transactions,
    "contract_ids": contract_ids, "intrinsic_gas": intrinsic_gas, "base_fees": base_fees, "merkle_roots": merkle_roots,
    "receipts": receipts, "accesses": accesses, "poseidon": poseidon, "state_roots": state_roots,
    "state_proofs": state_proofs, "state_witnesses": state_witnesses, "gas_schedule": gas_schedule, "metering": metered,
    "abi": abi_values, "chain": chain}
