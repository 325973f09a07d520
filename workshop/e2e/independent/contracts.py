"""Contracts that run (docs/protocol.md, "Contracts"): calls, host functions, and what deploys and instances do."""

import hashes
import keys
from curve import ecdsa_verify
from gas import GAS
from machine import MOST_LIVE, Gas, Instance, Module, OutOfGas, Refused, StackOverflow, Trap
from messages import KEY, WITNESS, ZERO, instance_id, sha256
from wire import U64, DecodeError, Struct, Text, decode
from witnesses import message_holds, valid_policy

CONTRACT = Struct(code_hash=KEY, deployer=KEY, height=U64, name=Text(64))
LOAD_TO_STOP, LONG_VALUE, MOST_DEPTH = 524288, 144, 32
MOST_OUTPUT, MOST_KEY, MOST_VALUE, MOST_NAME, MOST_DATA = 65536, 256, 16384, 64, 16384
MOST_LOGS, MOST_LOG_BYTES = 1024, 262144
OK, REVERTED, FAILED, NO_CONTRACT, NO_FUNCTION, TOO_LITTLE, REENTERED, LIMITS, EXISTS = range(9)
TOO_MANY_LOGS = b"too many logs"
M32 = 2 ** 32 - 1


class Reverted(Exception):
    pass


def copies(size):
    return -(-size // GAS["CopyBytesPerGas"])


class Codes:
    """The codes of a chain, by hash, and their modules."""

    def __init__(self):
        self.codes, self.modules = {}, {}

    def module(self, code_hash):
        if code_hash not in self.modules:
            self.modules[code_hash] = Module(self.codes[code_hash])
        return self.modules[code_hash]


def module_of(code):
    """The module of a code, or None if it is refused."""
    try:
        return Module(code)
    except Refused:
        return None


def add_log(logs, contract, name, topics, data):
    """Add a log to a transaction's; returns whether there was room for it."""
    size = len(name.encode()) + 32 * len(topics) + len(data)
    size += sum(len(log["name"].encode()) + 32 * len(log["topics"]) + len(log["data"]) for log in logs)
    if len(logs) + 1 > MOST_LOGS or size > MOST_LOG_BYTES:
        return False
    logs.append({"contract": contract, "name": name, "topics": topics, "data": data})
    return True


class World:
    """What the calls of a transaction share: `run` has the state, the logs and the accesses."""

    def __init__(self, run, environment, codes):
        self.run, self.environment, self.codes = run, environment, codes
        self.frames, self.loaded, self.load = [], set(), 0

    def record(self, contract):
        """The contract's record, or None; it is listed."""
        key = b"\2" + contract
        self.run.accesses.add(key)
        value = self.run.state.get(key)
        return decode(CONTRACT, value) if value else None

    def load_code(self, code_hash):
        """The module, or None if the transaction loads no further code."""
        if code_hash not in self.loaded:
            if self.load > LOAD_TO_STOP:
                return None
            self.count_load(code_hash)
        return self.codes.module(code_hash)

    def count_load(self, code_hash):
        if code_hash not in self.loaded:
            self.loaded.add(code_hash)
            self.load += self.codes.module(code_hash).load

    def write_record(self, contract, code_hash, deployer, name):
        self.write_record_of(contract, {"code_hash": code_hash, "deployer": deployer,
                                        "height": self.environment.height, "name": name})

    def write_record_of(self, contract, record):
        self.run.state[b"\2" + contract] = CONTRACT.encode(record)

    def pages(self):
        return sum(frame.instance.pages() for frame in self.frames)

    def enter(self, contract, module, function, gas, caller, value, arguments, view):
        """Run a function; returns its outcome and output. What it did is undone unless it is ""."""
        before, logs = dict(self.run.state), len(self.run.logs)
        frame = Frame(self, contract, caller, value, arguments, view)
        frame.instance = Instance(module, frame, gas)
        self.frames.append(frame)
        outcome, output = "", b""
        try:
            frame.instance.export(function)
            output = frame.output
        except Reverted as reverted:
            outcome, output = "reverted", reverted.args[0]
        except OutOfGas:
            outcome = "out_of_gas"
        except StackOverflow:
            outcome = "stack_overflow"
        except Trap:
            outcome = "trap"
        self.frames.pop()
        if outcome:
            self.run.state.clear()
            self.run.state.update(before)
            del self.run.logs[logs:]
        return outcome, output


class Frame:
    """A call of a contract: the host of its instance."""

    def __init__(self, world, contract, caller, value, arguments, view):
        self.world, self.contract, self.caller_, self.value_ = world, contract, caller, value
        self.arguments, self.view, self.output, self.result, self.instance = arguments, view, b"", b"", None

    def may_grow(self, pages):
        return self.world.pages() + pages <= MOST_LIVE

    def invoke(self, name, instance, arguments):
        return getattr(self, name)(*arguments)

    # Prices, ranges and views.

    def take(self, price, size=0):
        self.instance.gas.take(price + copies(size))

    def read(self, pointer, size, most=None):
        if most is not None and size > most:
            raise Trap("a length over its limit")
        return self.instance.range(pointer, size)

    def text(self, pointer, size, most):
        try:
            return self.read(pointer, size, most).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Trap("not UTF-8") from error

    def room(self, pointer, size):
        self.instance.range(pointer, size)

    def write(self, pointer, data):
        self.instance.memory[pointer:pointer + len(data)] = data

    def changes(self):
        if self.view:
            raise Trap("a view that changes")

    def emitted(self, contract, name, topics, data):
        if not add_log(self.world.run.logs, contract, name, topics, data):
            raise Reverted(TOO_MANY_LOGS)

    # Call data.

    def args_len(self):
        self.take(GAS["HostFunction"])
        return len(self.arguments)

    def copy_out(self, out, data):
        self.take(GAS["HostFunction"], len(data))
        self.room(out, len(data))
        self.write(out, data)

    def args_read(self, out):
        self.copy_out(out, self.arguments)

    def result_len(self):
        self.take(GAS["HostFunction"])
        return len(self.result)

    def result_read(self, out):
        self.copy_out(out, self.result)

    def given_output(self, pointer, size):
        self.take(GAS["HostFunction"] + GAS["OutputByte"] * size, size)
        return self.read(pointer, size, MOST_OUTPUT)

    def return_data(self, pointer, size):
        self.output = self.given_output(pointer, size)

    def revert(self, pointer, size):
        raise Reverted(self.given_output(pointer, size))

    def debug(self, pointer, size):
        self.take(GAS["HostFunction"], size)
        self.read(pointer, size, 1024)

    # Storage.

    def look_up(self, key):
        full = b"\3" + self.contract + key
        self.world.run.accesses.add(full)
        return self.world.run.state.get(full, b"")

    def reserve(self):
        gas = self.instance.gas
        if gas.left < GAS["StorageReserve"]:
            gas.left = 0
            raise OutOfGas()

    def long(self, value):
        return GAS["StorageLongValue"] if len(value) > LONG_VALUE else 0

    def storage_read(self, key, klen, out, cap):
        self.take(GAS["StorageRead"] + GAS["StorageReadKeyByte"] * klen, klen)
        self.reserve()
        name = self.read(key, klen, MOST_KEY)
        self.room(out, cap)
        value = self.look_up(name)
        self.take(GAS["StorageReadValueByte"] * len(value) + self.long(value), min(cap, len(value)))
        self.write(out, value[:cap])
        return len(value) if value else M32

    def storage_write(self, key, klen, val, vlen):
        self.take(GAS["StorageWrite"] + GAS["StorageWriteKeyByte"] * klen + GAS["StorageWriteValueByte"] * vlen,
                  klen + vlen)
        self.reserve()
        name, value = self.read(key, klen, MOST_KEY), self.read(val, vlen, MOST_VALUE)
        self.store(name, value)

    def storage_delete(self, key, klen):
        self.take(GAS["StorageWrite"] + GAS["StorageWriteKeyByte"] * klen, klen)
        self.reserve()
        self.store(self.read(key, klen, MOST_KEY), b"")

    def store(self, name, value):
        self.changes()
        old = self.look_up(name)
        if not old and value:
            self.take(GAS["StorageNewKey"])
        else:
            self.take(GAS["StorageOldByte"] * len(old) + self.long(old))
        full = b"\3" + self.contract + name
        if value:
            self.world.run.state[full] = value
        else:
            self.world.run.state.pop(full, None)

    # Context.

    def out(self, pointer, data):
        self.take(GAS["HostFunction"], len(data))
        self.room(pointer, len(data))
        self.write(pointer, data)

    def caller(self, out):
        self.out(out, self.caller_)

    def sender(self, out):
        self.out(out, self.world.run.sender)

    def self(self, out):
        self.out(out, self.contract)

    def number(self, value):
        self.take(GAS["HostFunction"])
        return value

    def value(self):
        return self.number(self.value_)

    def block_height(self):
        return self.number(self.world.environment.height)

    def block_time(self):
        return self.number(self.world.environment.timestamp // 1000)

    def chain_id(self):
        return self.number(self.world.environment.chain_id)

    def gas_left(self):
        self.take(GAS["HostFunction"])
        return self.instance.gas.left

    def is_view(self):
        return self.number(int(self.view))

    # Accounts.

    def account(self, account):
        return self.world.run.account(account)

    def balance(self, account):
        self.take(GAS["AccountLookup"], 32)
        name = self.read(account, 32)
        self.world.run.accesses.add(b"\1" + name)
        return self.account(name).balance

    def code_hash(self, account, out):
        self.take(GAS["AccountLookup"], 64)
        name = self.read(account, 32)
        self.room(out, 32)
        record = self.world.record(name)
        if record is None:
            return 0
        self.write(out, record["code_hash"])
        return 1

    def affords(self, to, amount):
        """Whether the contract has an amount over 0; the keys of the payment are listed."""
        run = self.world.run
        run.accesses.add(b"\1" + self.contract)
        if self.account(self.contract).balance < amount:
            return False
        if amount:
            run.accesses.add(b"\1" + to)
        return True

    def take_for_account(self, to, amount):
        if amount and b"\1" + to not in self.world.run.state:
            self.take(GAS["NewAccount"])

    def pay(self, to, amount):
        if amount:
            self.world.run.move_from(self.contract, to, amount)
            self.emitted(ZERO, "NativeTransfer", [self.contract, to], U64.encode(amount))

    def transfer(self, to, amount):
        self.take(GAS["NativeTransfer"], 32)
        name = self.read(to, 32)
        self.changes()
        if not self.affords(name, amount):
            return TOO_LITTLE
        self.take_for_account(name, amount)
        self.pay(name, amount)
        return OK

    # Events, hashes and signatures.

    def emit(self, name, nlen, topics, tcount, data, dlen):
        size = nlen + 32 * tcount + dlen
        self.take(GAS["Emit"] + GAS["EmitByte"] * size, size)
        called = self.text(name, nlen, MOST_NAME)
        given = self.read(topics, 32 * tcount, 96)
        content = self.read(data, dlen, MOST_DATA)
        self.changes()
        self.emitted(self.contract, called, [given[i:i + 32] for i in range(0, len(given), 32)], content)

    def hashed(self, name, function, pointer, size, out):
        self.take(GAS[name] + GAS[name + "Byte"] * size, size + 32)
        data = self.read(pointer, size)
        self.room(out, 32)
        self.write(out, function(data))

    def sha256(self, pointer, size, out):
        self.hashed("SHA256", sha256, pointer, size, out)

    def keccak256(self, pointer, size, out):
        self.hashed("Keccak256", hashes.keccak256, pointer, size, out)

    def blake3(self, pointer, size, out):
        self.hashed("Blake3", hashes.blake3, pointer, size, out)

    def schnorr_verify(self, public, message, mlen, signature):
        self.take(GAS["SchnorrVerify"] + GAS["SchnorrVerifyByte"] * mlen, 32 + mlen + 64)
        return int(keys.verify(self.read(public, 32), self.read(message, mlen), self.read(signature, 64)))

    def ecdsa_recover(self, digest, signature, out):
        self.take(GAS["ECDSARecover"], 32 + 65 + 64)
        hashed, signed = self.read(digest, 32), self.read(signature, 65)
        self.room(out, 64)
        found = hashes.ecdsa_recover(hashed, signed)
        if found is None:
            return 0
        self.write(out, found)
        return 1

    def p256_verify(self, point, digest, signature):
        self.take(GAS["P256Verify"], 160)
        return int(ecdsa_verify(self.read(point, 64), self.read(digest, 32), self.read(signature, 64), any_s=True))

    def account_verify(self, account, message, mlen, witness, wlen):
        self.take(GAS["AccountVerify"] + GAS["AccountVerifyWitnessByte"] * wlen
                  + GAS["AccountVerifyMessageByte"] * mlen, 32 + mlen + wlen)
        name, said, encoded = self.read(account, 32), self.read(message, mlen, 1024), self.read(witness, wlen, 8192)
        try:
            decoded = decode(WITNESS, encoded)
        except DecodeError:
            return 0
        proofs = [{"evidence": decoded}]
        if decoded["type"] == "policy":
            proofs = decoded["proofs"]
            if not valid_policy(decoded["policy"]):
                return 0
        prices = {"key": "AccountVerifyKey", "text": "AccountVerifyText"}
        self.take(sum(GAS[prices.get(proof["evidence"]["type"], "AccountVerifyP256")] for proof in proofs))
        environment = self.world.environment
        self.world.run.accesses.add(b"\1" + name)
        chain = environment.network, environment.chain_id
        in_force = self.account(name).in_force(environment.timestamp)
        return int(message_holds(chain, self.contract, name, said, decoded, in_force))

    # Calls and new contracts.

    def call(self, contract, fn, fnlen, args, alen, value, gas):
        return self.nested(contract, fn, fnlen, args, alen, value, gas, False)

    def call_view(self, contract, fn, fnlen, args, alen, gas):
        return self.nested(contract, fn, fnlen, args, alen, 0, gas, True)

    def nested(self, contract, fn, fnlen, args, alen, value, gas, view):
        world = self.world
        self.take(GAS["NestedTimes"] * GAS["ContractCall"] + GAS["ContractCallArgByte"] * alen
                  + (GAS["CallValue"] if value else 0), 32 + fnlen + alen)
        callee, name = self.read(contract, 32), self.text(fn, fnlen, MOST_NAME)
        given = self.read(args, alen, MOST_OUTPUT)
        if value:
            self.changes()
        self.result = b""
        if len(world.frames) >= MOST_DEPTH:
            return LIMITS
        record = world.record(callee)
        if record is None:
            return NO_CONTRACT
        module = world.load_code(record["code_hash"])
        if module is None:
            return LIMITS
        if not module.callable(name):
            return NO_FUNCTION
        if any(frame.contract == callee for frame in world.frames) and not module.reentrant():
            return REENTERED
        if world.pages() + module.pages > MOST_LIVE:
            return LIMITS
        if value and not self.affords(callee, value):
            return TOO_LITTLE
        self.take_instance(module)
        self.take_for_account(callee, value)
        return self.forward(callee, module, name, value, given, gas, self.view or view, lambda: self.pay(callee, value))

    def take_instance(self, module):
        self.take(GAS["MemoryGrowPage"] * module.pages + GAS["NestedTimes"] * GAS["InstanceItem"] * module.items)

    def forward(self, callee, module, name, value, given, gas, view, begin):
        """Run a call with a part of the gas; begin does what is undone with it if it fails."""
        world, own = self.world, self.instance.gas
        before, logs = dict(world.run.state), len(world.run.logs)
        begin()
        forwarded = Gas(min(gas, own.left - own.left // 64))
        own.left -= forwarded.left
        outcome, output = world.enter(callee, module, name, forwarded, self.contract, value, given, view)
        self.result = output
        if not outcome:
            own.left += forwarded.left
            return OK
        world.run.state.clear()
        world.run.state.update(before)
        del world.run.logs[logs:]
        if outcome == "reverted":
            own.left += forwarded.left
            return REVERTED
        return FAILED

    def create(self, template, salt, name, nlen, args, alen, value, gas, out):
        world = self.world
        self.take(GAS["NestedTimes"] * GAS["ContractCall"] + GAS["NewContract"] + GAS["InstantiateByte"] * (nlen + alen)
                  + (GAS["CallValue"] if value else 0), 96 + nlen + alen)
        source, salted = self.read(template, 32), self.read(salt, 32)
        called, given = self.text(name, nlen, MOST_NAME), self.read(args, alen, MOST_OUTPUT)
        self.room(out, 32)
        self.changes()
        self.result = b""
        if len(world.frames) >= MOST_DEPTH:
            return LIMITS
        record = world.record(source)
        if record is None:
            return NO_CONTRACT
        code_hash = record["code_hash"]
        module = world.load_code(code_hash)
        if module is None:
            return LIMITS
        if alen and not module.has_init():
            return NO_FUNCTION
        made = instance_id(self.contract, code_hash, salted)
        if world.record(made) is not None:
            return EXISTS
        if module.has_init() and world.pages() + module.pages > MOST_LIVE:
            return LIMITS
        if value and not self.affords(made, value):
            return TOO_LITTLE
        if module.has_init():
            self.take_instance(module)
        self.take_for_account(made, value)

        def begin():
            world.write_record(made, code_hash, self.contract, called)
            self.pay(made, value)

        code = OK
        if module.has_init():
            code = self.forward(made, module, "init", value, given, gas, False, begin)
        else:
            begin()
        if code == OK:
            self.write(out, made)
        return code

    def replace_code(self, template):
        self.take(GAS["ReplaceCode"], 32)
        source = self.read(template, 32)
        self.changes()
        record = self.world.record(source)
        if record is None:
            return NO_CONTRACT
        own = self.world.record(self.contract)
        self.world.write_record_of(self.contract, dict(own, code_hash=record["code_hash"]))
        self.emitted(ZERO, "CodeReplaced", [self.contract, record["code_hash"]], b"")
        return OK
