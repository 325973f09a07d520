"""The rules of a block (docs/protocol.md, "Validity", "Execution", "Fees", "Parameters", "State", "Access list").

A state is a dict from keys to values. Blocks that run contracts are not executed: here is no WebAssembly.
"""

from keys import lift_x, to_int, verify
from messages import (CALL, CONFIGURE, DEPLOY, PARAMETERS, SIGNED_TRANSACTION, TRANSFER, changes_digest, genesis_digest,
                      merkle_root, signing_hash, transaction_hash)
from tree import state_root
from wire import U64, Struct, decode

SUPPLY_KEY, PARAMETERS_KEY = b"\0\0", b"\0\1"
SUPPLY = Struct(supply=U64, burned=U64)
ACCOUNT = Struct(balance=U64, nonce=U64)

NEW_ACCOUNT = 25000
SCHEDULE_DIGEST = "7c1ce7428d9f1fda61f6f5ab4a25f8b1b6b1cd7fa8a1827423df36f7fcfd1c77"  # of these prices

MAX_TRANSACTION, MAX_TRANSACTIONS = 512 * 1024, 8 * 1024 * 1024  # encoded bytes of one, and of a block's together


class Invalid(Exception):
    """A rule is broken; args are the rule's name and what is wrong."""


def require(rule, condition, detail=""):
    if not condition:
        raise Invalid(rule, detail)


def account_key(account):
    return b"\1" + account


def record_key(contract):
    return b"\2" + contract


def get_account(state, account):
    value = state.get(account_key(account))
    return decode(ACCOUNT, value) if value else {"balance": 0, "nonce": 0}


def put_account(state, account, balance, nonce):
    if balance or nonce:
        state[account_key(account)] = ACCOUNT.encode({"balance": balance, "nonce": nonce})
    else:
        state.pop(account_key(account), None)


def credit(state, account, amount):
    """Add amount, or with a negative one take it."""
    entry = get_account(state, account)
    put_account(state, account, entry["balance"] + amount, entry["nonce"])


def parameters_of(state):
    return decode(PARAMETERS, state[PARAMETERS_KEY])


def target(parameters, gas_limit):
    return gas_limit * parameters["target_bps"] // 10000


def check_parameters(parameters, versions, check):
    """The bounds of section "Parameters"."""
    p = parameters
    check("parameters_valid", p["version"] in versions, "version")
    check("parameters_valid", 1000000 <= p["gas_limit"] <= 2 ** 40, "gas_limit")
    check("parameters_valid", 1 <= p["target_bps"] <= 9999 and target(p, p["gas_limit"]) >= 21000, "target_bps")
    check("parameters_valid", 8 <= p["min_base_fee"] <= p["max_base_fee"] <= 2 ** 53 - 1, "base fee bounds")
    check("parameters_valid", lift_x(to_int(p["producer"])), "producer")


def next_base_fee(base, used, gas_limit, parameters):
    """The base fee after a block with these in its header, by the parameters in the state after it (EIP-1559)."""
    aim = target(parameters, gas_limit)
    change = max(1, base * abs(used - aim) // aim // 8)
    if used > aim:
        base += change
    elif used < aim:
        base -= min(change, base)
    return min(max(base, parameters["min_base_fee"]), parameters["max_base_fee"])


def intrinsic_gas(payload):
    variant = payload["variant"]
    if variant == TRANSFER:
        return 21000
    if variant == DEPLOY:
        return 71000 + 16 * (len(payload["name"].encode()) + len(payload["init_args"])) + 1000 * len(payload["code"])
    if variant == CALL:
        return 21000 + 16 * (len(payload["function"].encode()) + len(payload["args"]))
    return 71000


def check_transaction(signed, state, header, parameters, gas_used, check):
    """Rules 1 to 14 of section "Validity" but rule 12; lengths of fields were checked when it was decoded."""
    tx = signed["transaction"]
    payload, sender = tx["payload"], get_account(state, tx["sender"])
    check("transaction_valid", len(SIGNED_TRANSACTION.encode(signed)) <= MAX_TRANSACTION, "size")
    check("transaction_valid", tx["version"] == 1, "version")
    check("transaction_valid", tx["chain_id"] == header["chain_id"], "chain_id")
    check("transaction_valid", record_key(tx["sender"]) not in state, "the sender is a contract")
    check("transaction_valid", tx["nonce"] == sender["nonce"] < 2 ** 64 - 1, "nonce")
    check("transaction_valid", intrinsic_gas(payload) <= tx["gas_limit"] <= header["gas_limit"] - gas_used,
          "gas_limit")
    check("transaction_valid", tx["max_priority_fee_per_gas"] <= tx["max_fee_per_gas"], "priority fee over max fee")
    check("transaction_valid", header["base_fee"] <= tx["max_fee_per_gas"], "max fee under base fee")
    cost = payload.get("value", 0) + tx["gas_limit"] * tx["max_fee_per_gas"]
    check("transaction_valid", cost <= sender["balance"], "balance under cost")
    if payload["variant"] == CONFIGURE:
        check("transaction_valid", tx["sender"] == parameters["producer"], "not the producer")
        check_parameters(payload["parameters"], (parameters["version"], parameters["version"] + 1), check)
    check("transaction_signature", verify(tx["sender"], signing_hash(tx), signed["signature"]), "of the sender")


def runs_contracts(transactions):
    return any(signed["transaction"]["payload"]["variant"] in (DEPLOY, CALL) for signed in transactions)


def run_payload(state, tx, gas):
    """Run the payload on state; returns gas used of gas, and the reason of a failure or ''."""
    payload = tx["payload"]
    if payload["variant"] == CONFIGURE:
        state[PARAMETERS_KEY] = PARAMETERS.encode(payload["parameters"])
        return 0, ""
    used = 0
    if payload["value"] > 0 and account_key(payload["to"]) not in state:
        used = NEW_ACCOUNT
    if used > gas:
        return gas, "out_of_gas"
    if payload["value"] > 0:
        credit(state, tx["sender"], -payload["value"])
        credit(state, payload["to"], payload["value"])
    return used, ""


def price_of(tx, base_fee):
    return base_fee + min(tx["max_priority_fee_per_gas"], tx["max_fee_per_gas"] - base_fee)


def apply_transaction(state, signed, base_fee, fee_recipient):
    """Apply a valid transaction to state; returns its receipt and the reason of its failure or ''."""
    tx = signed["transaction"]
    price, sender = price_of(tx, base_fee), get_account(state, tx["sender"])
    put_account(state, tx["sender"], sender["balance"] - tx["gas_limit"] * price, sender["nonce"] + 1)
    intrinsic = intrinsic_gas(tx["payload"])
    used, reason = run_payload(state, tx, tx["gas_limit"] - intrinsic)  # a failed one has not changed state
    used += intrinsic
    credit(state, tx["sender"], (tx["gas_limit"] - used) * price)
    supply = decode(SUPPLY, state[SUPPLY_KEY])
    state[SUPPLY_KEY] = SUPPLY.encode(dict(supply, burned=supply["burned"] + used * base_fee))
    credit(state, fee_recipient, used * (price - base_fee))
    return {"transaction": transaction_hash(signed), "status": 0 if reason else 1, "gas_used": used, "contract": None,
            "output": b"", "logs": []}, reason


def listed_keys(transactions, fee_recipient):
    """The keys of section "Access list" of a block without contracts."""
    keys = {SUPPLY_KEY, PARAMETERS_KEY} if transactions else set()
    for tx in (signed["transaction"] for signed in transactions):
        payload = tx["payload"]
        keys |= {account_key(tx["sender"]), record_key(tx["sender"]), account_key(fee_recipient)}
        if payload["variant"] == TRANSFER and payload["value"] > 0:
            keys.add(account_key(payload["to"]))
    return keys


def changes(before, after, keys):
    """{key: (old, new)} of the keys; absence is empty."""
    return {key: (before.get(key, b""), after.get(key, b"")) for key in keys}


def writes(before, after):
    """The changes of every key whose value differs."""
    return {key: change for key, change in changes(before, after, before.keys() | after.keys()).items()
            if change[0] != change[1]}


class Result:
    """What execution of a block gives: its state, receipts, reasons of failure, and accesses {key: (old, new)}."""


def apply_list(before, accesses, transactions, check=require):
    """The state after a block by its access list, which the caller holds to the header; signatures are checked."""
    result = Result()
    result.state, result.accesses = dict(before), accesses
    for key, (old, new) in accesses.items():
        check("access_list", before.get(key, b"") == old, key.hex())
        if new:
            result.state[key] = new
        else:
            result.state.pop(key, None)
    for signed in transactions:
        tx = signed["transaction"]
        check("transaction_signature", verify(tx["sender"], signing_hash(tx), signed["signature"]), "of the sender")
    return result


def execute(before, header, transactions, check=require):
    """Execute the transactions of the block with this header on the state of its parent; check hears of each rule.

    None may run a contract.
    """
    result, parameters = Result(), parameters_of(before)
    result.state, result.receipts, result.reasons = dict(before), [], []
    gas_used = size = 0
    for signed in transactions:
        size += len(SIGNED_TRANSACTION.encode(signed))
        check("transaction_valid", size <= MAX_TRANSACTIONS, "size of the block")
        check_transaction(signed, result.state, header, parameters, gas_used, check)
        receipt, reason = apply_transaction(result.state, signed, header["base_fee"], parameters["fee_recipient"])
        gas_used += receipt["gas_used"]
        result.receipts.append(receipt)
        result.reasons.append(reason)
    result.accesses = changes(before, result.state, listed_keys(transactions, parameters["fee_recipient"]))
    return result


def check_genesis(genesis, check=require):
    """The rules of section "Genesis"."""
    p, accounts = genesis["parameters"], [a["account"] for a in genesis["allocations"]]
    check("genesis_valid", genesis["network"] in ("mainnet", "testnet", "regtest"), "network")
    check_parameters(p, (1,), check)
    check("genesis_valid", p["min_base_fee"] <= genesis["base_fee"] <= p["max_base_fee"], "base_fee")
    check("genesis_valid", all(a < b for a, b in zip(accounts, accounts[1:])), "order of the allocations")
    check("genesis_valid", all(a["balance"] >= 1 for a in genesis["allocations"]), "balance")
    check("genesis_valid", sum(a["balance"] for a in genesis["allocations"]) < 2 ** 64, "sum of the balances")


def genesis_state(genesis):
    state = {PARAMETERS_KEY: PARAMETERS.encode(genesis["parameters"]), SUPPLY_KEY: SUPPLY.encode(
        {"supply": sum(a["balance"] for a in genesis["allocations"]), "burned": 0})}
    for allocation in genesis["allocations"]:
        put_account(state, allocation["account"], allocation["balance"], 0)
    return state


def genesis_header(genesis):
    p, state = genesis["parameters"], genesis_state(genesis)
    return {"version": p["version"], "chain_id": genesis["chain_id"], "height": 0, "parent": genesis_digest(genesis),
            "timestamp": genesis["time"], "producer": p["producer"], "transactions_root": merkle_root([]),
            "receipts_root": merkle_root([]), "state_root": state_root(state),
            "writes_digest": changes_digest(writes({}, state)), "gas_used": 0, "gas_limit": p["gas_limit"],
            "base_fee": genesis["base_fee"]}


def check_supply(state, check=require):
    """Section "Supply": the sum of all balances + burned = supply."""
    supply = decode(SUPPLY, state[SUPPLY_KEY])
    balances = sum(decode(ACCOUNT, value)["balance"] for key, value in state.items() if key[:1] == b"\1")
    check("supply", balances + supply["burned"] == supply["supply"], "balances + burned")
