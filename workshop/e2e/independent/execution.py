"""The rules of transactions and blocks (docs/protocol.md, "Validity", "Execution", "Fees", "Parameters", "State",
"Access list"). A state is a dict from keys to values. Transactions that run contracts are executed if the codes are
known.
"""

from contracts import TOO_MANY_LOGS, World, add_log, module_of
from curve import to_int
from gas import GAS
from keys import lift_x, verify
from machine import Gas, OutOfGas
from messages import (BLOCK, MAX_BLOCK, MAX_TRANSACTION, PARAMETERS, PAYLOAD, SIGNED_TRANSACTION, WITNESS, ZERO,
                      block_hash, contract_id, details, genesis_digest, payer_hash, policy_hash,
                      sha256, transaction_hash, witness_digest)
from texts import MAX_TIME, payer_text, sender_text
from tree import RECEIPTS, TRANSACTIONS, list_root, receipt_leaf, state_root, transaction_leaf
from wire import U64, DecodeError, Struct, decode
from witnesses import claim, proofs_hold, valid_policy

SUPPLY_KEY, PARAMETERS_KEY = b"\0\0", b"\0\1"
SUPPLY = Struct(supply=U64, burned=U64)
MAX_AMOUNT = 2 ** 64 - 1

MAX_NAME, MAX_CODE, MAX_ARGS, MAX_WITNESS = 64, 262144, 65536, 16384
VERSION = 2


class Invalid(Exception):
    """A rule is broken; args are the rule's name and what is wrong."""


class Broken(Exception):
    """A transaction breaks the rule of this number."""

    def __init__(self, rule, detail=""):
        super().__init__(rule, detail)
        self.rule, self.detail = rule, detail


class RunsCode(Exception):
    """Whatever comes now takes the execution of a contract's code."""


class Fault(ValueError):
    """A record that no state has."""


def require(rule, condition, detail=""):
    if not condition:
        raise Invalid(rule, detail)


def rule(number, condition, detail=""):
    if not condition:
        raise Broken(number, detail)


def account_key(account):
    return b"\1" + account


def record_key(contract):
    return b"\2" + contract


class Account:
    """What an account's record says."""

    __slots__ = ("balance", "nonce", "authority", "pending")

    def __init__(self, balance, nonce, authority, pending=None):
        self.balance, self.nonce, self.authority, self.pending = balance, nonce, authority, pending

    def in_force(self, t):
        """The authority in force at time t."""
        return self.pending[0] if self.pending and t >= self.pending[1] else self.authority

    def encode(self, account):
        begin = U64.encode(self.balance) + U64.encode(self.nonce)
        if self.pending:
            return begin + self.authority + self.pending[0] + U64.encode(self.pending[1])
        if self.authority != account:
            return begin + self.authority
        return begin if self.balance or self.nonce else b""


def read_account(account, value):
    """The record of an account; an empty value is absence."""
    if not value:
        return Account(0, 0, account)
    if len(value) not in (16, 48, 88):
        raise Fault("a record of %d bytes" % len(value))
    record = Account(int.from_bytes(value[:8], "little"), int.from_bytes(value[8:16], "little"),
                     value[16:48] or account)
    if len(value) == 88:
        record.pending = value[48:80], int.from_bytes(value[80:], "little")
    if record.encode(account) != value:
        raise Fault("a record that is not in its shortest form")
    if len(value) > 16 and record.nonce == 0:
        raise Fault("an authority without a nonce")
    return record


def get_account(state, account):
    return read_account(account, state.get(account_key(account), b""))


def put(state, key, value):
    if value:
        state[key] = value
    else:
        state.pop(key, None)


def put_account(state, account, record):
    put(state, account_key(account), record.encode(account))


def credit(state, account, amount):
    """Add amount, or with a negative one take it."""
    if amount:
        record = get_account(state, account)
        record.balance += amount
        put_account(state, account, record)


def parameters_of(state):
    return decode(PARAMETERS, state[PARAMETERS_KEY])


def target(gas_limit, target_bps):
    return gas_limit * target_bps // 10000


def parameters_in_bounds(p):
    upgrade = p["upgrade"]
    return (p["version"] == VERSION and 3000000 <= p["gas_limit"] <= 2 ** 40 and 2 ** 20 <= p["block_bytes"] <= 2 ** 25
            and 1 <= p["target_bps"] <= 9999 and target(p["gas_limit"], p["target_bps"]) >= 10000
            and 1 <= p["min_base_fee"] <= min(p["max_base_fee"], 2 ** 40) and p["max_base_fee"] <= 2 ** 53 - 1
            and p["notice"] <= 2 ** 40 and (upgrade is None or upgrade["from"] <= MAX_TIME)
            and lift_x(to_int(p["producer"])) is not None)


def valid_change(present, new, t):
    """Whether a Configure in a block of timestamp t may set these parameters."""
    if not parameters_in_bounds(new) or new["notice"] < present["notice"]:
        return False
    upgrade = new["upgrade"]
    if upgrade is None or upgrade == present["upgrade"]:
        return True
    return upgrade["version"] == VERSION + 1 and t + new["notice"] <= upgrade["from"]


def version_at(p, t):
    """The version of a block of timestamp t."""
    upgrade = p["upgrade"]
    return upgrade["version"] if upgrade and t >= upgrade["from"] else p["version"]


def next_base_fee(base, used, gas_limit, p):
    """The base fee after a header with these, by the parameters in the state after it (EIP-1559)."""
    aim = target(gas_limit, p["target_bps"])
    change = max(1, base * abs(used - aim) // aim // 8)
    if used > aim:
        base += change
    elif used < aim:
        base -= min(change, base)
    return min(max(base, p["min_base_fee"]), p["max_base_fee"])


def call_bytes(call):
    return len(call["function"].encode()) + len(call["args"])


def payload_gas(payload):
    kind = payload["type"]
    if kind == "transfer":
        return GAS["IntrinsicTransfer"]
    if kind == "call":
        return GAS["IntrinsicCall"] + GAS["IntrinsicCallByte"] * call_bytes(payload)
    if kind == "deploy":
        return (GAS["IntrinsicDeploy"] + GAS["IntrinsicDeployCodeByte"] * len(payload["code"])
                + GAS["IntrinsicDeployByte"] * (len(payload["name"].encode()) + len(payload["init_args"])))
    if kind == "configure":
        return GAS["IntrinsicConfigure"]
    if kind == "set_policy":
        return GAS["IntrinsicSetPolicy"] + GAS["IntrinsicSetPolicyByte"] * len(PAYLOAD.encode(payload))
    if kind == "instantiate":
        length = len(payload["name"].encode()) + len(payload["init_args"])
        return GAS["IntrinsicInstantiate"] + GAS["InstantiateByte"] * length
    gas = GAS["IntrinsicBatch"]
    for step in payload["steps"]:
        action = step["action"]
        gas += (GAS["BatchTransfer"] if action["type"] == "transfer"
                else GAS["BatchCall"] + GAS["BatchCallByte"] * call_bytes(action))
    return gas


PROOF_GAS = {"key": GAS["WitnessKey"], "text": GAS["WitnessText"], "p256": GAS["WitnessP256"],
             "passkey": GAS["WitnessP256"]}


def witness_gas(witness):
    if witness["type"] != "policy":
        return PROOF_GAS[witness["type"]]
    return (GAS["WitnessPolicy"] + GAS["WitnessPolicyByte"] * len(WITNESS.encode(witness))
            + sum(PROOF_GAS[proof["evidence"]["type"]] for proof in witness["proofs"]))


def intrinsic_gas(signed, sender_has_entry):
    gas = payload_gas(signed["transaction"]["payload"]) + witness_gas(signed["witness"])
    if signed["payer_witness"] is not None:
        gas += GAS["Payer"] + witness_gas(signed["payer_witness"])
    return gas if sender_has_entry else gas + GAS["NewAccount"]


def amount_of(tx):
    """What a transaction moves from the sender."""
    if tx["payload"]["type"] == "batch":
        return sum(step["value"] for step in tx["payload"]["steps"])
    return tx["value"]


def fee_cap(tx):
    return tx["gas_limit"] * tx["max_fee_per_gas"]


class Environment:
    """The context of a block's transactions besides the state: chain, network, parameters, base fee, timestamp, and the
    remaining gas and bytes of the block."""

    codes = None  # codes of the chain's contracts, if known

    def __init__(self, chain_id, network, parameters, base_fee, timestamp, height=0):
        self.chain_id, self.network, self.parameters = chain_id, network, parameters
        self.base_fee, self.timestamp, self.height = base_fee, timestamp, height
        self.gas_left, self.bytes_left = parameters["gas_limit"], parameters["block_bytes"]
        self.loaded, self.load = set(), 0

    def count_load(self, world):
        """Rule 20: what the transactions of the block have loaded, each code once."""
        new = world.loaded - self.loaded if world else set()
        self.loaded |= new
        self.load += sum(world.codes.module(code_hash).load for code_hash in new)
        rule(20, not new or self.load <= max(self.parameters["gas_limit"] // 32, 4194304))


def decode_transaction(data):
    try:
        return decode(SIGNED_TRANSACTION, data, MAX_TRANSACTION)
    except DecodeError as error:
        raise Broken(1, str(error)) from error


def check_lengths(signed):
    payload = signed["transaction"]["payload"]
    for part in [payload] + [step["action"] for step in payload.get("steps", [])]:
        for name, most in (("name", MAX_NAME), ("function", MAX_NAME)):
            rule(4, len(part.get(name, "").encode()) <= most, name)
        for name, most in (("code", MAX_CODE), ("args", MAX_ARGS), ("init_args", MAX_ARGS)):
            rule(4, len(part.get(name, b"")) <= most, name)
    for witness in signed["witness"], signed["payer_witness"]:
        rule(4, witness is None or len(WITNESS.encode(witness)) <= MAX_WITNESS, "witness")


def check_alone(signed, environment):
    """Rules 2 to 13, which need no state."""
    tx, payload = signed["transaction"], signed["transaction"]["payload"]
    kind, payer, end = payload["type"], tx["payer"], tx["valid_until"]
    rule(2, tx["chain_id"] == environment.chain_id)
    rule(3, tx["nonce"] < MAX_AMOUNT)
    check_lengths(signed)
    rule(5, kind not in ("deploy", "configure", "batch", "set_policy") or tx["target"] == ZERO, "target")
    rule(5, kind not in ("configure", "batch", "set_policy") or tx["value"] == 0, "value")
    rule(6, fee_cap(tx) <= MAX_AMOUNT, "fee cap")
    rule(6, amount_of(tx) <= MAX_AMOUNT, "amount")
    rule(7, tx["max_priority_fee_per_gas"] <= tx["max_fee_per_gas"])
    rule(8, payer != tx["sender"], "the payer is the sender")
    rule(8, (payer is None) == (signed["payer_witness"] is None), "payer and payer_witness")
    rule(8, end is None or end <= MAX_TIME, "valid_until")
    for witness in signed["witness"], signed["payer_witness"]:
        rule(9, not witness or witness["type"] != "policy" or valid_policy(witness["policy"]), "witness")
    if kind == "set_policy":
        rule(9, payload["policy"] is None or valid_policy(payload["policy"]), "policy")
        by_recovery = signed["witness"]["type"] == "policy" and signed["witness"]["policy"]["recovery"] is not None
        rule(10, not payload["recovery"] or payer is not None and by_recovery)
    rule(11, environment.base_fee <= tx["max_fee_per_gas"])
    rule(12, end is None or environment.timestamp <= end)
    if kind == "configure":
        present = environment.parameters
        rule(13, tx["sender"] == present["admin"], "not the admin")
        rule(13, valid_change(present, payload["parameters"], environment.timestamp), "the change")


def check_proofs(signed, network):
    """Rule 18."""
    tx, payload = signed["transaction"], signed["transaction"]["payload"]
    tx_id = transaction_hash(tx)
    recovery = payload["type"] == "set_policy" and payload["recovery"]
    rule(18, proofs_hold(signed["witness"], tx["sender"], tx_id, lambda: sender_text(tx, network), recovery),
         "the sender's proofs")
    if tx["payer"] is not None:
        rule(18, proofs_hold(signed["payer_witness"], tx["payer"], payer_hash(tx_id),
                             lambda: payer_text(tx, network)), "the payer's proofs")


def check_transaction(signed, size, state, environment):
    """Rules 2 to 19 of a transaction of size bytes."""
    tx, t = signed["transaction"], environment.timestamp
    check_alone(signed, environment)
    sender, has_entry = get_account(state, tx["sender"]), account_key(tx["sender"]) in state
    rule(14, tx["nonce"] == sender.nonce)
    rule(15, intrinsic_gas(signed, has_entry) <= tx["gas_limit"] <= environment.gas_left)
    if tx["payer"] is None:
        rule(16, sender.balance >= amount_of(tx) + fee_cap(tx), "the sender cannot pay")
    else:
        payer = get_account(state, tx["payer"])
        rule(16, sender.balance >= amount_of(tx), "the sender cannot pay")
        rule(16, payer.balance >= fee_cap(tx), "the payer cannot pay")
        rule(17, claim(signed["payer_witness"], tx["payer"]) == payer.in_force(t), "the payer's authority")
    rule(17, claim(signed["witness"], tx["sender"]) == sender.in_force(t), "the sender's authority")
    check_proofs(signed, environment.network)
    rule(19, size <= environment.bytes_left)


def price_of(tx, base_fee):
    return base_fee + min(tx["max_priority_fee_per_gas"], tx["max_fee_per_gas"] - base_fee)


class Failure(Exception):
    """The payload fails; the argument is its outcome."""


class Run:
    """The execution of one payload: the changed state, its gas, logs and accesses, and the world of contracts if the
    codes are known."""

    def __init__(self, state, tx, gas, environment, accesses):
        self.state, self.sender, self.nonce, self.gas = state, tx["sender"], tx["nonce"], Gas(gas)
        self.logs, self.accesses, self.output, self.made = [], accesses, b"", None
        self.world = environment.codes and World(self, environment, environment.codes)

    def take(self, gas):
        try:
            self.gas.take(gas)
        except OutOfGas as error:
            raise Failure("out_of_gas") from error

    def account(self, account):
        return get_account(self.state, account)

    def take_for_account(self, account, value):
        if value > 0 and account_key(account) not in self.state:
            self.take(GAS["NewAccount"])

    def list(self, account, value):
        if value > 0:
            self.accesses.add(account_key(account))

    def move_from(self, sender, to, value):
        credit(self.state, sender, -value)
        credit(self.state, to, value)

    def pay(self, to, value, memo=None, step=False):
        """Move value from the sender; a step's movement is logged."""
        self.take_for_account(to, value)
        self.move_from(self.sender, to, value)
        if step and value > 0 and not self.log("NativeTransfer", [self.sender, to], U64.encode(value) + (memo or b"")):
            self.output = TOO_MANY_LOGS
            raise Failure("reverted")

    def transfer(self, to, value, memo=None, step=False):
        self.list(to, value)
        self.pay(to, value, memo, step)

    def run_code(self, contract, module, function, value, arguments):
        outcome, self.output = self.world.enter(contract, module, function, self.gas, self.sender, value, arguments,
                                                False)
        if outcome:
            raise Failure(outcome)

    def take_instance(self, module):
        self.take(GAS["MemoryPage"] * module.pages + GAS["InstanceItem"] * module.items)

    def call(self, contract, value, call, step=False):
        self.accesses.add(record_key(contract))
        self.take(GAS["ContractCall"] + GAS["ContractCallArgByte"] * len(call["args"]))
        if record_key(contract) not in self.state:
            raise Failure("no_such_contract")
        if self.world is None:
            raise RunsCode()
        module = self.world.load_code(self.world.record(contract)["code_hash"])
        if module is None:
            raise Failure("load_exceeded")
        if not module.callable(call["function"]):
            raise Failure("no_such_function")
        self.list(contract, value)
        self.take_instance(module)
        self.pay(contract, value, None, step)
        self.run_code(contract, module, call["function"], value, call["args"])

    def new_contract(self, value):
        self.made = contract_id(self.sender, self.nonce)
        self.accesses.add(record_key(self.made))
        self.list(self.made, value)
        self.pay(self.made, value)

    def begin_contract(self, module, code_hash, value, name, arguments):
        self.world.write_record(self.made, code_hash, self.sender, name)
        if module.has_init():
            self.take(GAS["ContractCall"] + GAS["ContractCallArgByte"] * len(arguments))
            self.take_instance(module)
            self.world.count_load(code_hash)
            self.run_code(self.made, module, "init", value, arguments)

    def deploy(self, value, payload):
        code, arguments = payload["code"], payload["init_args"]
        self.new_contract(value)
        module = module_of(code)
        if module is None or arguments and not module.has_init():
            raise Failure("module_refused")
        if self.world is None:
            raise RunsCode()
        self.take(module.deploy_gas)
        code_hash = sha256(code)
        self.world.codes.codes[code_hash] = code
        self.begin_contract(module, code_hash, value, payload["name"], arguments)

    def instantiate(self, template, value, payload):
        self.accesses.add(record_key(template))
        self.new_contract(value)
        self.take(GAS["NewContract"])
        if record_key(template) not in self.state:
            raise Failure("no_such_contract")
        if self.world is None:
            raise RunsCode()
        code_hash = self.world.record(template)["code_hash"]
        module = self.world.load_code(code_hash)
        if payload["init_args"] and not module.has_init():
            raise Failure("module_refused")
        self.begin_contract(module, code_hash, value, payload["name"], payload["init_args"])

    def set_policy(self, payload, witness, t):
        record = get_account(self.state, self.sender)
        new = self.sender if payload["policy"] is None else policy_hash(payload["policy"])
        if payload["recovery"]:
            begin = t + witness["policy"]["recovery"]["delay"]
            record.pending = new, begin
            self.log("RecoveryStarted", [self.sender, new], U64.encode(begin))
        else:
            record.authority, record.pending = new, None
            self.log("PolicySet", [self.sender, new], b"")
        put_account(self.state, self.sender, record)

    def batch(self, steps):
        for step in steps:
            action, self.output = step["action"], b""
            if action["type"] == "transfer":
                self.transfer(step["target"], step["value"], action["memo"], step=True)
            else:
                self.call(step["target"], step["value"], action, step=True)

    def log(self, name, topics, data):
        return add_log(self.logs, ZERO, name, topics, data)

    def payload(self, signed, t):
        tx, payload = signed["transaction"], signed["transaction"]["payload"]
        kind = payload["type"]
        if kind == "transfer":
            self.transfer(tx["target"], tx["value"])
        elif kind == "call":
            self.call(tx["target"], tx["value"], payload)
        elif kind == "deploy":
            self.deploy(tx["value"], payload)
        elif kind == "configure":
            self.state[PARAMETERS_KEY] = PARAMETERS.encode(payload["parameters"])
        elif kind == "batch":
            self.batch(payload["steps"])
        elif kind == "set_policy":
            self.set_policy(payload, signed["witness"], t)
        else:
            self.instantiate(tx["target"], tx["value"], payload)


def apply_transaction(state, signed, environment, accesses):
    """Apply a valid transaction to state; returns its receipt and the reason of its failure or ''."""
    tx, t = signed["transaction"], environment.timestamp
    fees_from, fee_recipient = tx["payer"] or tx["sender"], environment.parameters["fee_recipient"]
    accesses |= {SUPPLY_KEY, PARAMETERS_KEY, account_key(tx["sender"]), account_key(fees_from),
                 account_key(fee_recipient)}
    price = price_of(tx, environment.base_fee)
    intrinsic = intrinsic_gas(signed, account_key(tx["sender"]) in state)

    sender = get_account(state, tx["sender"])
    if sender.pending and t >= sender.pending[1]:
        sender.authority, sender.pending = sender.pending[0], None
    sender.nonce += 1
    put_account(state, tx["sender"], sender)
    credit(state, fees_from, -tx["gas_limit"] * price)

    run, reason = Run(dict(state), tx, tx["gas_limit"] - intrinsic, environment, accesses), ""
    try:
        run.payload(signed, t)
    except Failure as failure:
        reason, run.logs, run.made = failure.args[0], [], None
    else:
        state.clear()
        state.update(run.state)
    left = 0 if reason in ("out_of_gas", "trap", "stack_overflow") else run.gas.left
    used = tx["gas_limit"] - left
    output = run.output if reason in ("", "reverted") else b""

    credit(state, fees_from, left * price)
    supply = decode(SUPPLY, state[SUPPLY_KEY])
    supply["burned"] += used * environment.base_fee
    state[SUPPLY_KEY] = SUPPLY.encode(supply)
    credit(state, fee_recipient, used * (price - environment.base_fee))
    environment.count_load(run.world)
    return {"status": 0 if reason else 1, "gas_used": used, "contract": run.made, "output": output,
            "logs": run.logs}, reason


def leaf_of_transaction(signed):
    tx_id = transaction_hash(signed["transaction"])
    if signed["witness"]["type"] == "key" and signed["payer_witness"] is None:
        return transaction_leaf(tx_id, signature=signed["witness"]["signature"])
    return transaction_leaf(tx_id, witness_digest=witness_digest(signed))


def leaf_of_receipt(receipt):
    return receipt_leaf(details(receipt), receipt["status"], receipt["gas_used"])


def transactions_root(transactions):
    return list_root(TRANSACTIONS, [leaf_of_transaction(signed) for signed in transactions])


def receipts_root(receipts):
    return list_root(RECEIPTS, [leaf_of_receipt(receipt) for receipt in receipts])


def changes(before, after, keys):
    """{key: (old, new)} of the keys; absence is empty."""
    return {key: (before.get(key, b""), after.get(key, b"")) for key in keys}


def writes(before, after):
    """The changes of every key whose value differs."""
    return {key: change for key, change in changes(before, after, before.keys() | after.keys()).items()
            if change[0] != change[1]}


class Result:
    """What execution of a block gives: its state, receipts, reasons of failure, and accesses {key: (old, new)}."""


def execute(before, environment, transactions):
    """Judge and execute the transactions of a block on the state of its parent."""
    result, keys = Result(), set()
    result.state, result.receipts, result.reasons = dict(before), [], []
    for number, signed in enumerate(transactions):
        size = len(SIGNED_TRANSACTION.encode(signed))
        try:
            if size > MAX_TRANSACTION:
                raise Broken(1, "%d bytes" % size)
            check_transaction(signed, size, result.state, environment)
            receipt, reason = apply_transaction(result.state, signed, environment, keys)
        except Broken as broken:
            raise Invalid("transaction %d: rule %d" % (number, broken.rule), broken.detail) from broken
        environment.gas_left -= receipt["gas_used"]
        environment.bytes_left -= size
        result.receipts.append(receipt)
        result.reasons.append(reason)
    result.accesses = changes(before, result.state, keys)
    return result


def check_begin(header, parent, parameters, check=require):
    """Checks the fields of a header that need no execution. It cannot judge a version that this program does not
    know."""
    check("version", header["version"] == version_at(parameters, header["timestamp"]))
    check("chain_id", header["chain_id"] == parent["chain_id"])
    check("height", header["height"] == parent["height"] + 1)
    check("parent", header["parent"] == block_hash(parent))
    check("timestamp", parent["timestamp"] <= header["timestamp"] <= MAX_TIME)
    check("producer", header["producer"] == parameters["producer"])
    check("gas_limit", header["gas_limit"] == parameters["gas_limit"])
    check("base_fee", header["base_fee"] == next_base_fee(parent["base_fee"], parent["gas_used"], parent["gas_limit"],
                                                          parameters))
    check("unknown_version", header["version"] == VERSION)


def check_end(header, transactions, result, check=require):
    """The fields of a header that follow from execution."""
    check("transactions_root", header["transactions_root"] == transactions_root(transactions))
    check("gas_used", header["gas_used"] == sum(receipt["gas_used"] for receipt in result.receipts))
    check("receipts_root", header["receipts_root"] == receipts_root(result.receipts))
    check("state_root", header["state_root"] == state_root(result.state))


def seal_holds(header, seal):
    return verify(header["producer"], block_hash(header), seal["signature"])


def environment_of(header, parameters, network):
    return Environment(header["chain_id"], network, parameters, header["base_fee"], header["timestamp"],
                       header["height"])


def check_block(encoded, parent, before, network, codes=None):
    """Judge an encoded block on its parent's header and state; returns the block and the result of its execution."""
    try:
        block = decode(BLOCK, encoded, MAX_BLOCK)
    except DecodeError as error:
        raise Invalid("encoding", str(error)) from error
    header, transactions, parameters = block["header"], block["transactions"], parameters_of(before)
    check_begin(header, parent, parameters)
    require("seal", seal_holds(header, block["seal"]))
    environment = environment_of(header, parameters, network)
    environment.codes = codes
    result = execute(before, environment, transactions)
    check_end(header, transactions, result)
    return block, result


def check_genesis(genesis, check=require):
    """The rules of section "Genesis"."""
    p, allocations = genesis["parameters"], genesis["allocations"]
    check("network", genesis["network"] in ("mainnet", "testnet", "regtest"))
    check("time", genesis["time"] <= MAX_TIME)
    check("parameters", parameters_in_bounds(p))
    check("upgrade", p["upgrade"] is None)
    check("base_fee", p["min_base_fee"] <= genesis["base_fee"] <= p["max_base_fee"])
    check("order", all(a["account"] < b["account"] for a, b in zip(allocations, allocations[1:])))
    check("balance", all(a["balance"] >= 1 for a in allocations))
    check("sum", sum(a["balance"] for a in allocations) <= MAX_AMOUNT)


def genesis_state(genesis):
    state = {PARAMETERS_KEY: PARAMETERS.encode(genesis["parameters"]), SUPPLY_KEY: SUPPLY.encode(
        {"supply": sum(a["balance"] for a in genesis["allocations"]), "burned": 0})}
    for allocation in genesis["allocations"]:
        put_account(state, allocation["account"], Account(allocation["balance"], 0, allocation["account"]))
    return state


def genesis_header(genesis):
    p = genesis["parameters"]
    return {"version": p["version"], "chain_id": genesis["chain_id"], "height": 0, "parent": genesis_digest(genesis),
            "timestamp": genesis["time"], "producer": p["producer"], "transactions_root": transactions_root([]),
            "receipts_root": receipts_root([]), "state_root": state_root(genesis_state(genesis)), "gas_used": 0,
            "gas_limit": p["gas_limit"], "base_fee": genesis["base_fee"]}


def check_supply(state, check=require):
    """Section "Supply": the sum of all balances + burned = supply."""
    supply = decode(SUPPLY, state[SUPPLY_KEY])
    balances = sum(read_account(key[1:], value).balance for key, value in state.items() if key[:1] == b"\1")
    check("supply", balances + supply["burned"] == supply["supply"], "balances + burned")
