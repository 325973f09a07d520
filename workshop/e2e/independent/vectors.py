"""Checks of docs/vectors.json: each definition is computed anew from its inputs."""

import json

import abi
import contracts
import curve
import execution
import gas
import keys
import messages
import metering
import storage
import texts
import tree
import witnesses
from wire import Bytes, DecodeError, Fixed, List, Struct, decode

unhex = bytes.fromhex
NO_AUXILIARY = bytes(32)


def long_bytes(member, name):
    """Bytes that stand as hex, or under NAME_runs as pairs of hex and times."""
    if name in member:
        return unhex(member[name])
    return b"".join(unhex(part) * times for part, times in member[name + "_runs"])


def same_encoding(equal, name, kind, value, encoded):
    """Both ways: the value encodes to the bytes, and they decode to it."""
    equal(name, kind.encode(value).hex(), encoded, "encoded")
    equal(name, decode(kind, unhex(encoded)), value, "decoded")


def check(report, v):
    global judged_in, secrets
    judged_in = v["judged_in"]
    secrets = {key["public"]: int(key["secret"], 16) for key in v["keys"]}
    for name, check_member in MEMBERS.items():
        check_member(report, v[name])
    report.equal("members", set(v) - {"about", "judged_in"}, set(MEMBERS), "members of the file")


def tagged_hashes(report, members):
    for m in members:
        report.equal("tagged_hashes", messages.tagged(m["tag"], unhex(m["message"])).hex(), m["hash"], m["tag"])


def secret_keys(report, members):
    for m in members:
        secret = int(m["secret"], 16)
        public = curve.ecdsa_point(secret) if m["curve"] == "P-256" else keys.even_y(secret)[1]
        report.equal("keys", public.hex(), m["public"], m["name"])


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
    equal("pair", tree.pair(bytes(range(32))), m["pair"])
    for size in (96, 64):
        leaf = tree.transaction_leaf(bytes(32), bytes(size - 32))
        equal("transaction_leaves", hexed(leaf), m["tx_leaf_%d" % size])
    equal("receipt_leaves", hexed(tree.receipt_leaf(bytes(32), 1, 10000)), m["receipt_leaf"])


def state_from(records):
    return {unhex(r["key"]): unhex(r["value"]) for r in records}


def state_roots(report, members):
    for m in members:
        report.equal("state_roots", tree.state_root(state_from(m["records"])).hex(), m["root"])


VIEW_WITNESS = Struct(shapes=Bytes(), digests=List(Fixed(32)))


def state_witnesses(report, members):
    for m in members:
        values = {unhex(r["key"]): unhex(r["value"]) or None for r in m["values"]}
        try:
            witness = decode(VIEW_WITNESS, unhex(m["witness"]))
            holds = tree.verify_witness(unhex(m["root"]), values, witness["shapes"], witness["digests"])
        except DecodeError:
            holds = False
        report.equal("state_witnesses", holds, m["holds"], m["about"])


def policies(report, members):
    for m in members:
        policy = messages.POLICY.from_json(m["policy"])
        same_encoding(report.equal, "policies", messages.POLICY, policy, m["encoded"])
        report.equal("policies", messages.POLICY.to_json(policy), m["policy"], "JSON")
        report.equal("policy_hashes", messages.policy_hash(policy).hex(), m["hash"], m["name"])
        report.check("policies", witnesses.valid_policy(policy), m["name"])
        for network, address in m["addresses"].items():
            report.equal("addresses", keys.address(unhex(m["hash"]), network), address)


def environment(context):
    """What a transaction is judged in, and the state."""
    within = dict(judged_in, **context)
    found = execution.Environment(within["chain_id"], within["network"],
                                  messages.PARAMETERS.from_json(within["parameters"]), within["base_fee"],
                                  within["timestamp"])
    found.gas_left, found.bytes_left = within["gas_left"], within["bytes_left"]
    return found, {b"\1" + unhex(account): unhex(record) for account, record in within["accounts"].items() if record}


def first_rule(data, context):
    """The first rule that a transaction breaks, or 0."""
    env, state = environment(context)
    try:
        execution.check_transaction(execution.decode_transaction(data), len(data), state, env)
    except execution.Broken as broken:
        return broken.rule
    return 0


def sign_again(equal, evidence, key, message, text, what):
    """A signature of a known key is the one that its secret gives."""
    secret = secrets.get(key.hex())
    if secret is None:
        return
    kind = evidence["type"]
    if kind == "p256":
        made = curve.ecdsa_sign(secret, messages.sha256(message))
    elif kind == "passkey":
        client = b'{"type":"webauthn.get","challenge":"' + witnesses.challenge_text(message) + evidence["client"]
        made = curve.ecdsa_sign(secret, messages.sha256(evidence["authenticator"] + messages.sha256(client)))
    else:
        signed = witnesses.bip322(key, text, evidence["sighash"]) if kind == "text" else message
        made = keys.sign(secret, signed, NO_AUXILIARY)
    equal("signatures", made.hex(), evidence["signature"].hex(), what)


def sign_witness(equal, witness, account, message, text, recovery, what):
    if witness["type"] != "policy":
        sign_again(equal, witness, account, message, text, what)
        return
    rule = witness["policy"]["recovery"]["rule"] if recovery else witness["policy"]["owner"]
    for proof in witness["proofs"]:
        signer = rule["signers"][proof["signer"]]
        sign_again(equal, proof["evidence"], signer.get("key") or signer.get("point"), message, text, what)


def transactions(report, members):
    equal, network = report.equal, judged_in["network"]
    for m in members:
        tx, name = messages.TRANSACTION.from_json(m["transaction"]), m["name"]
        equal("transactions", messages.TRANSACTION.to_json(tx), m["transaction"], "JSON")
        same_encoding(equal, "transactions", messages.TRANSACTION, tx, m["message"])
        signed = execution.decode_transaction(unhex(m["signed"]))
        same_encoding(equal, "transactions", messages.SIGNED_TRANSACTION, signed, m["signed"])
        equal("transactions", signed["transaction"], tx, name)
        for role in ("witness", "payer_witness"):
            witness = signed[role]
            equal("witnesses", None if witness is None else messages.WITNESS.to_json(witness), m[role], name)
            equal("witnesses", witness, None if m[role] is None else messages.WITNESS.from_json(m[role]), name)
        tx_id = messages.transaction_hash(tx)
        equal("transaction_hashes", tx_id.hex(), m["id"], name)
        equal("payer_hashes", messages.payer_hash(tx_id).hex(), m["payer_hash"], name)
        text, payer_text = texts.sender_text(tx, network), texts.payer_text(tx, network)
        equal("texts", text.decode(), m["text"], name)
        equal("texts", payer_text.decode(), m["payer_text"], name)
        equal("claims", witnesses.claim(signed["witness"], tx["sender"]).hex(), m["claim"], name)
        equal("witness_digests", messages.witness_digest(signed).hex(), m["witness_digest"], name)
        equal("transaction_leaves", tree.digest_bytes(execution.leaf_of_transaction(signed)).hex(), m["leaf"], name)
        covered = signed["witness"].get("signature") if not signed["payer_witness"] else None
        if signed["witness"]["type"] != "key" or covered is None:
            covered = messages.witness_digest(signed)
        equal("transaction_leaves", (tx_id + covered).hex(), m["leaf_of"], name)
        recovery = tx["payload"].get("recovery", False)
        sign_witness(equal, signed["witness"], tx["sender"], tx_id, text, recovery, name)
        if signed["payer_witness"]:
            to_sign = messages.payer_hash(tx_id)
            sign_witness(equal, signed["payer_witness"], tx["payer"], to_sign, payer_text, False, name)
        judged_valid(report, m)


def judged_valid(report, m):
    data = long_bytes(m, "signed")
    report.equal("valid", first_rule(data, m["context"]), 0, m["name"])
    signed, (_, state) = execution.decode_transaction(data), environment(m["context"])
    has_entry = b"\1" + signed["transaction"]["sender"] in state
    report.equal("intrinsic_gas", execution.intrinsic_gas(signed, has_entry), m["intrinsic_gas"], m["name"])
    return signed


def valid(report, members):
    for m in members:
        signed = judged_valid(report, m)
        text = texts.sender_text(signed["transaction"], judged_in["network"])
        report.equal("texts", len(text), m["text_bytes"], m["name"])


def refused(report, members):
    for m in members:
        report.equal("refused", first_rule(long_bytes(m, "signed"), m["context"]), m["rule"], m["name"])


def records(report, members):
    for m in members:
        account, encoded = unhex(m["account"]), unhex(m["encoded"])
        try:
            record = execution.read_account(account, encoded)
        except execution.Fault as fault:
            report.check("faults", "fault" in m, "%s: %s" % (m["name"], fault))
            continue
        report.check("faults", "fault" not in m, m["name"])
        pending = record.pending and [record.pending[0].hex(), record.pending[1]]
        report.equal("records", {"balance": record.balance, "nonce": record.nonce, "authority": record.authority.hex(),
                                 "pending": pending}, m["record"], m["name"])
        report.equal("records", record.encode(account).hex(), m["encoded"], m["name"])
        report.equal("authorities", record.in_force(m["from"] - 1).hex(), m["in_force_before"], m["name"])
        report.equal("authorities", record.in_force(m["from"]).hex(), m["in_force_from"], m["name"])


def parameters(report, members):
    for m in members:
        same_encoding(report.equal, "parameters", messages.PARAMETERS, messages.PARAMETERS.from_json(m["parameters"]),
                      m["encoded"])


def changes_of_parameters(report, members):
    for m in members:
        present = messages.PARAMETERS.from_json(m["present"])
        try:
            new = decode(messages.PARAMETERS, unhex(m["encoded"]))
            report.equal("parameters", messages.PARAMETERS.to_json(new), m["new"], m["name"])
            valid_change = execution.valid_change(present, new, m["timestamp"])
        except DecodeError:
            valid_change = False
        report.equal("changes_of_parameters", valid_change, m["valid"], m["name"])


def versions(report, members):
    for m in members:
        found = execution.version_at(decode(messages.PARAMETERS, unhex(m["parameters"])), m["timestamp"])
        report.equal("versions", found, m["version"])


def base_fees(report, members):
    for m in members:
        bounds = {"target_bps": m["target_bps"], "min_base_fee": m["min"], "max_base_fee": m["max"]}
        got = execution.next_base_fee(m["base_fee"], m["gas_used"], m["gas_limit"], bounds)
        report.equal("base_fees", got, m["next"], str(m))


def contract_ids(report, members):
    for m in members:
        report.equal("contract_ids", messages.contract_id(unhex(m["sender"]), m["nonce"]).hex(), m["id"])


def instance_ids(report, members):
    for m in members:
        found = messages.instance_id(unhex(m["creator"]), unhex(m["code_hash"]), unhex(m["salt"]))
        report.equal("instance_ids", found.hex(), m["id"])


def message(report, m):
    contract, account, text = unhex(m["contract"]), unhex(m["account"]), unhex(m["message"])
    chain, network = m["chain_id"], judged_in["network"]
    digest = messages.message_hash(chain, contract, account, text)
    report.equal("messages", digest.hex(), m["hash"])
    report.equal("texts", texts.message_text(network, chain, contract, account, text).decode(), m["text"])
    for name, witness in (("key", {"type": "key"}), ("as_text", {"type": "text", "sighash": 0})):
        witness["signature"] = unhex(m[name])
        report.check("messages", witnesses.message_holds((network, chain), contract, account, text, witness, account),
                     name)
        sign_again(report.equal, witness, account, digest, m["text"].encode(), name)


def receipts(report, members):
    for m in members:
        receipt = messages.RECEIPT.from_json(m["receipt"])
        same_encoding(report.equal, "receipts", messages.RECEIPT, receipt, m["encoded"])
        report.equal("receipts", messages.details(receipt).hex(), m["details"], m["name"])
        leaf = tree.digest_bytes(execution.leaf_of_receipt(receipt))
        report.equal("receipt_leaves", leaf.hex(), m["leaf"], m["name"])


def lists(report, members):
    for m in members:
        for tag, name in ((tree.TRANSACTIONS, "transaction"), (tree.RECEIPTS, "receipt")):
            leaves = [tree.parse_digest(unhex(leaf)) for leaf in m[name + "_leaves"]]
            report.equal("list_roots", tree.list_root(tag, leaves).hex(), m[name + "s_root"], "%d leaves" % m["n"])
            report.equal("list_roots", len(leaves), m["n"])
            for number in range(len(leaves)):
                root, proof = unhex(m[name + "s_root"]), tree.inclusion(leaves, number)
                report.check("inclusion", tree.inclusion_holds(tag, root, proof), "number %d of %d" % (number, m["n"]))


def flip(text):
    return text[:-2] + "%02x" % (int(text[-2:], 16) ^ 1)


def proofs(report, m):
    for v in m["state"]:
        proof_is(report, "state_proofs", messages.MERKLE_PROOF, v, lambda proof: tree.proof_holds(
            unhex(v["state_root"]), proof))
    for v in m["lists"]:
        tag = {"transactions": tree.TRANSACTIONS, "receipts": tree.RECEIPTS}[v["list"]]
        proof_is(report, "inclusion", messages.INCLUSION_PROOF, v, lambda proof: tree.inclusion_holds(
            tag, unhex(v["root"]), proof))


def proof_is(report, name, kind, v, holds):
    """The proof holds or does not, as it says; and one that holds no longer does with another sibling."""
    try:
        proof = decode(kind, unhex(v["encoded"]))
        report.equal(name, json_proof(kind, proof), v["proof"], v["name"])
        found = holds(proof)
    except DecodeError:
        found = False
    report.equal(name, found, v["holds"], v["name"])
    if found:
        for i, sibling in enumerate(proof["siblings"]):
            changed = proof["siblings"][:i] + [unhex(flip(sibling.hex()))] + proof["siblings"][i + 1:]
            report.check("changed_proofs", not holds(dict(proof, siblings=changed)), v["name"])


def json_proof(kind, proof):
    """The JSON of a proof: an empty value is null, and a member has the name that it has in RPC."""
    found = kind.to_json(proof)
    if "value" in found:
        found["value"] = found["value"] or None
    if "value_hash" in found.get("end", {}):
        found["end"] = dict(type="other", path=found["end"]["path"], valueHash=found["end"]["value_hash"])
    return found


def gas_schedule(report, m):
    report.equal("gas_schedule", m["text"], gas.TEXT, "the one of the page")
    report.equal("gas_schedule", m["digest"], gas.DIGEST.hex())


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


def derive_chain(report, m):
    """Judges and executes a chain of the vectors from its genesis; returns the headers and states."""
    equal, genesis = report.equal, messages.GENESIS.from_json(m["genesis"])
    same_encoding(equal, "genesis", messages.GENESIS, genesis, m["genesis_encoded"])
    execution.check_genesis(genesis, report.check)
    states, headers = [execution.genesis_state(genesis)], [execution.genesis_header(genesis)]
    equal("genesis", messages.genesis_digest(genesis).hex(), m["genesis_hash"])
    for height, block in enumerate(m["blocks"]):
        header = messages.HEADER.from_json(block["header"])
        same_encoding(equal, "headers", messages.HEADER, header, block["header_encoded"])
        equal("block_hashes", messages.block_hash(header).hex(), block["hash"])
        seal = decode(messages.SEAL, unhex(block["seal"]))
        if height == 0:
            equal("headers", header, headers[0], "header 0")
            equal("seals", seal["signature"], bytes(64), "header 0")
        else:
            one_block(report, m, block, headers, states)
        equal("states", sorted((k.hex(), v.hex()) for k, v in states[-1].items()), [tuple(e) for e in block["state"]])
        execution.check_supply(states[-1], report.check)
    return headers, states


def one_block(report, m, block, headers, states):
    equal, encoded = report.equal, long_bytes(block, "encoded")
    found, result = execution.check_block(encoded, headers[-1], states[-1], m["genesis"]["network"])
    equal("blocks", messages.BLOCK.encode(found), encoded)
    equal("headers", found["header"], messages.HEADER.from_json(block["header"]))
    equal("seals", messages.SEAL.encode(found["seal"]).hex(), block["seal"])
    secret = secrets.get(found["header"]["producer"].hex())
    if secret is not None:
        made = keys.sign(secret, messages.block_hash(found["header"]), NO_AUXILIARY)
        equal("signatures", made.hex(), found["seal"]["signature"].hex(), "a seal")
    for signed, receipt, reason, want in zip(found["transactions"], result.receipts, result.reasons,
                                             block["transactions"]):
        equal("blocks", messages.SIGNED_TRANSACTION.encode(signed), long_bytes(want, "signed"))
        equal("transaction_hashes", messages.transaction_hash(signed["transaction"]).hex(), want["id"])
        leaf, receipt_leaf = execution.leaf_of_transaction(signed), execution.leaf_of_receipt(receipt)
        equal("transaction_leaves", tree.digest_bytes(leaf).hex(), want["leaf"])
        equal("receipts_of_execution", messages.RECEIPT.to_json(receipt), want["receipt"])
        equal("receipts_of_execution", messages.RECEIPT.encode(receipt).hex(), want["receipt_encoded"])
        equal("receipt_leaves", tree.digest_bytes(receipt_leaf).hex(), want["receipt_leaf"])
        equal("reasons_of_failure", reason, want["reason"])
    accesses = {unhex(a["key"]): (unhex(a["old"]), unhex(a["new"])) for a in block["accesses"]}
    equal("access_lists", result.accesses, accesses)
    equal("access_lists", sorted(accesses), [unhex(a["key"]) for a in block["accesses"]], "order")
    equal("accesses_digests", messages.accesses_digest(accesses).hex(), block["accesses_digest"])
    writes = execution.writes(states[-1], result.state)
    report.check("writes_are_listed", writes.keys() <= accesses.keys())
    headers.append(found["header"])
    states.append(result.state)


def chain(report, m):
    derive_chain(report, m)


def example(report, m):
    """The chain of the page, and a proof under the root of its last block."""
    headers, _ = derive_chain(report, m)
    report.equal("state_proofs", m["proof"]["state_root"], headers[-1]["state_root"].hex())
    proofs(report, {"state": [dict(m["proof"], holds=True, name="example")], "lists": []})


def changing(report, m):
    global parents
    parents = derive_chain(report, m) + (m["genesis"]["network"],)


def blocks_refused(report, members):
    headers, states, network = parents
    for m in members:
        try:
            execution.check_block(long_bytes(m, "encoded"), headers[m["parent"]], states[m["parent"]], network)
            broken = None
        except execution.Invalid as invalid:
            broken = invalid.args[0]
        want = "encoding" if m["wrong"].startswith("encoding: ") else m["wrong"]
        report.equal("blocks_refused", broken, want, m["name"])


def geneses(report, members):
    for m in members:
        try:
            genesis = decode(messages.GENESIS, long_bytes(m, "encoded"), messages.MAX_GENESIS)
            execution.check_genesis(genesis)
            broken = None
            found = messages.block_hash(execution.genesis_header(genesis)).hex()
            report.equal("genesis", found, m.get("hash"), m["name"])
        except execution.Invalid as invalid:
            broken = invalid.args[0]
        report.equal("geneses", broken, m["wrong"], m["name"])


def contract_chain(report, m):
    """Executes the chain whose transactions run contracts."""
    equal, codes = report.equal, contracts.Codes()
    genesis = decode(messages.GENESIS, unhex(m["genesis_encoded"]))
    equal("genesis", genesis["network"], m["network"])
    header, state = execution.genesis_header(genesis), execution.genesis_state(genesis)
    for block in m["blocks"]:
        found, result = execution.check_block(unhex(block["encoded"]), header, state, m["network"], codes)
        header = found["header"]
        equal("block_hashes", messages.block_hash(header).hex(), block["hash"])
        equal("contracts", len(result.receipts), len(block["transactions"]))
        for want, receipt, reason in zip(block["transactions"], result.receipts, result.reasons):
            equal("contracts", (reason, receipt["output"].hex(), receipt["gas_used"]),
                  (want["reason"], want["output"], want["gas_used"]), want["about"])
            equal("contracts", messages.RECEIPT.encode(receipt).hex(), want["receipt_encoded"], want["about"])
            leaf = tree.digest_bytes(execution.leaf_of_receipt(receipt))
            equal("receipt_leaves", leaf.hex(), want["receipt_leaf"], want["about"])
        listed = [(key.hex(), old.hex(), new.hex()) for key, (old, new) in sorted(result.accesses.items())]
        equal("access_lists", listed, [(a["key"], a["old"], a["new"]) for a in block["accesses"]])
        state = result.state
        entries = sorted((key.hex(), value.hex()) for key, value in state.items())
        equal("states", entries, [tuple(entry) for entry in block["state"]])
        execution.check_supply(state, report.check)


MEMBERS = {
    "keys": secret_keys, "wallet": wallet, "tagged_hashes": tagged_hashes, "poseidon": poseidon,
    "state_roots": state_roots, "state_witnesses": state_witnesses, "policies": policies, "transactions": transactions,
    "valid": valid, "refused": refused, "records": records, "parameters": parameters,
    "changes_of_parameters": changes_of_parameters, "versions": versions, "base_fees": base_fees,
    "contract_ids": contract_ids, "instance_ids": instance_ids, "message": message, "receipts": receipts,
    "lists": lists, "chain": chain, "changing": changing, "blocks_refused": blocks_refused, "geneses": geneses,
    "proofs": proofs, "example": example, "gas_schedule": gas_schedule, "metering": metered, "abi": abi_values,
    "contracts": contract_chain}
