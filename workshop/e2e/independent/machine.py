"""Runs the WebAssembly of contracts (docs/protocol.md, "Modules", "Metering"): reads a module and runs its functions.

It does not validate: a module that a deploy accepted is valid. Values are unsigned.
"""

import sys

import metering
from gas import GAS
from metering import (BLOCK, BR, BR_IF, BR_TABLE, CALL, CALL_INDIRECT, DROP, ELSE, END, ENDS, GLOBAL_GET, GLOBAL_SET,
                      I32_CONST, I64_CONST, IF, LOCAL_GET, LOCAL_SET, LOCAL_TEE, LOOP, MEMORY_GROW, MEMORY_SIZE, NOP,
                      RETURN, SELECT, UNREACHABLE)

sys.setrecursionlimit(1 << 18)  # 1,024 frames in each of 32 calls; from Python 3.11 on they use no machine stack

PAGE, MOST_PAGES, MOST_LIVE = 65536, 16, 256
MOST_SLOTS, MOST_FRAMES = 65536, 1024
M32, M64 = 2 ** 32 - 1, 2 ** 64 - 1


class Refused(ValueError):
    """What is no contract."""


class Trap(Exception):
    pass


class OutOfGas(Exception):
    pass


class StackOverflow(Exception):
    pass


class Gas:
    def __init__(self, left):
        self.left = left

    def take(self, gas):
        if gas > self.left:
            self.left = 0
            raise OutOfGas()
        self.left -= gas


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


class Reader(metering.Reader):
    def signed(self, bits):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value - (1 << shift) if byte & 0x40 else value) & (1 << bits) - 1

    def name(self):
        return self.bytes().decode("utf-8")

    def limits(self):
        bounded = self.byte()
        least = self.number()
        return least, self.number() if bounded else None

    def constant(self):
        """The value of an initial expression."""
        bits = {I32_CONST: 32, I64_CONST: 64}[self.byte()]
        value = self.signed(bits)
        self.byte()
        return value


class Function:
    """A defined function: its text, where each construct goes on, and what each metered block takes."""

    def __init__(self, kind, body, measured):
        self.params, self.results = kind
        r = Reader(body)
        self.locals = 0
        for _ in range(r.number()):
            self.locals += r.number()
            r.byte()
        self.frame, self.text = measured["frame"], []
        self.ends, self.elses, begins, open_ = {}, {}, [0], []
        while r.at < len(r.data):
            at, op = len(self.text), r.byte()
            self.text.append((op, self.immediates(r, op)))
            if op in (BLOCK, LOOP, IF):
                open_.append(at)
            elif op == ELSE:
                self.elses[open_[-1]] = at
            elif op == END and open_:
                begin = open_.pop()
                self.ends[begin] = at
            if op in ENDS:
                begins.append(at + 1)
        for begin, else_ in self.elses.items():
            self.ends[else_] = self.ends[begin]
        self.prices = dict(zip(begins, measured["block_prices"]))

    @staticmethod
    def immediates(r, op):
        if op in (I32_CONST, I64_CONST):
            return r.signed(32 if op == I32_CONST else 64)
        if op in (BLOCK, LOOP, IF):
            return r.byte() != metering.EMPTY
        if op == BR_TABLE:
            return [r.number() for _ in range(r.number() + 1)]
        if op in (BR, BR_IF, CALL) or LOCAL_GET <= op <= GLOBAL_SET:
            return r.number()
        if op == CALL_INDIRECT:
            kind = r.number()
            r.byte()
            return kind
        if op in metering.LOADS or op in metering.STORES:
            r.number()
            return r.number()
        if op in (MEMORY_SIZE, MEMORY_GROW):
            r.byte()
        return None


class Module:
    """A contract's code."""

    def __init__(self, code):
        if code[:8] != b"\0asm\1\0\0\0":
            raise Refused("no module")
        self.types, self.imports, self.kinds, self.globals, self.elements, self.data = [], [], [], [], [], []
        self.exports, self.table, self.pages, self.most, self.signatures = {}, 0, None, None, []
        bodies = []
        try:
            outer = Reader(code)
            outer.at = 8
            while outer.at < len(code):
                section, content = outer.byte(), outer.bytes()
                if section and outer.at > len(code):
                    raise Refused("ends early")
                self.section(section, Reader(content), bodies)
            measured = metering.measure(code)
        except (IndexError, KeyError, UnicodeDecodeError) as error:
            raise Refused("malformed") from error
        if self.pages is None or self.exports.get("memory") != (2, 0) or measured.get("refused"):
            raise Refused("not a contract")
        self.deploy_gas, self.load, self.items = measured["deploy_gas"], measured["load"], measured["instance_items"]
        kinds = [self.types[kind] for kind in self.kinds[len(self.imports):]]
        self.functions = [Function(*parts) for parts in zip(kinds, bodies, measured["functions"])]

    def section(self, section, r, bodies):
        if section == 0:
            return
        if section == 5 or section == 4:
            for _ in range(r.number()):
                if section == 4:
                    r.byte()
                    self.table = r.limits()[0]
                else:
                    self.pages, most = r.limits()
                    self.most = min(MOST_PAGES, MOST_PAGES if most is None else most)
            return
        for _ in range(r.number()):
            if section == 1:
                r.byte()
                self.signatures.append((r.bytes(), r.bytes()))
                self.types.append(tuple(map(len, self.signatures[-1])))
            elif section == 2:
                r.bytes()
                name = r.name()
                r.byte()
                self.imports.append(name)
                self.kinds.append(r.number())
            elif section == 3:
                self.kinds.append(r.number())
            elif section == 6:
                r.byte(), r.byte()
                self.globals.append(r.constant())
            elif section == 7:
                name = r.name()
                self.exports[name] = (r.byte(), r.number())
            elif section == 9:
                r.byte()
                offset = r.constant()
                self.elements.append((offset, [r.number() for _ in range(r.number())]))
            elif section == 10:
                bodies.append(r.bytes())
            elif section == 11:
                r.byte()
                offset = r.constant()
                self.data.append((offset, r.bytes()))

    def has_init(self):
        return "init" in self.exports

    def reentrant(self):
        return "_reentrant" in self.exports

    def callable(self, name):
        kind, index = self.exports.get(name, (1, 0))
        return (kind == 0 and self.types[self.kinds[index]] == (0, 0) and name != "init" and name[:1] != "_"
                and len(name.encode()) <= 64)


def divide(a, b, bits, is_signed, rest):
    if b == 0:
        raise Trap("division by zero")
    if is_signed:
        a, b = signed(a, bits), signed(b, bits)
        if not rest and a == -(1 << bits - 1) and b == -1:
            raise Trap("overflow")
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return a - quotient * b if rest else quotient
    return a % b if rest else a // b


def rotate(a, n, bits):
    n %= bits
    return a << n | a >> bits - n if n else a


BINARY = [
    lambda a, b, n: a + b, lambda a, b, n: a - b, lambda a, b, n: a * b,
    lambda a, b, n: divide(a, b, n, True, False), lambda a, b, n: divide(a, b, n, False, False),
    lambda a, b, n: divide(a, b, n, True, True), lambda a, b, n: divide(a, b, n, False, True),
    lambda a, b, n: a & b, lambda a, b, n: a | b, lambda a, b, n: a ^ b, lambda a, b, n: a << (b & n - 1),
    lambda a, b, n: signed(a, n) >> (b & n - 1), lambda a, b, n: a >> (b & n - 1), lambda a, b, n: rotate(a, b, n),
    lambda a, b, n: rotate(a, n - b % n, n)]
COMPARE = [
    lambda a, b, n: a == b, lambda a, b, n: a != b, lambda a, b, n: signed(a, n) < signed(b, n), lambda a, b, n: a < b,
    lambda a, b, n: signed(a, n) > signed(b, n), lambda a, b, n: a > b, lambda a, b, n: signed(a, n) <= signed(b, n),
    lambda a, b, n: a <= b, lambda a, b, n: signed(a, n) >= signed(b, n), lambda a, b, n: a >= b]
COUNT = [lambda a, n: n - a.bit_length(), lambda a, n: (a & -a).bit_length() - 1 if a else n,
         lambda a, n: bin(a).count("1")]
# opcode: (bytes, sign-extended, bits of the value)
LOAD = {0x28: (4, False, 32), 0x29: (8, False, 64), 0x2C: (1, True, 32), 0x2D: (1, False, 32), 0x2E: (2, True, 32),
        0x2F: (2, False, 32), 0x30: (1, True, 64), 0x31: (1, False, 64), 0x32: (2, True, 64), 0x33: (2, False, 64),
        0x34: (4, True, 64), 0x35: (4, False, 64)}
STORE = {0x36: 4, 0x37: 8, 0x3A: 1, 0x3B: 2, 0x3C: 1, 0x3D: 2, 0x3E: 4}
NUMERIC = {}
for first, bits in ((0x6A, 32), (0x7C, 64)):
    NUMERIC.update({first + i: (f, bits, bits) for i, f in enumerate(BINARY)})
for first, bits in ((0x46, 32), (0x51, 64)):
    NUMERIC.update({first + i: (f, bits, 32) for i, f in enumerate(COMPARE)})
UNARY = {0x45: (lambda a: a == 0), 0x50: (lambda a: a == 0), 0xA7: (lambda a: a & M32),
         0xAC: (lambda a: signed(a, 32) & M64), 0xAD: (lambda a: a), 0xC0: (lambda a: signed(a & 255, 8) & M32),
         0xC1: (lambda a: signed(a & 65535, 16) & M32), 0xC2: (lambda a: signed(a & 255, 8) & M64),
         0xC3: (lambda a: signed(a & 65535, 16) & M64), 0xC4: (lambda a: signed(a & M32, 32) & M64)}
for first, bits in ((0x67, 32), (0x79, 64)):
    UNARY.update({first + i: (lambda a, f=f, n=bits: f(a, n)) for i, f in enumerate(COUNT)})


class Instance:
    """A module with its own memory; `host` has the host functions and says how much memory may grow."""

    def __init__(self, module, host, gas):
        self.module, self.host, self.gas = module, host, gas
        self.memory = bytearray(PAGE * module.pages)
        self.globals, self.table = list(module.globals), [None] * module.table
        self.slots = self.frames = 0
        for offset, functions in module.elements:
            self.table[offset:offset + len(functions)] = functions
        for offset, content in module.data:
            self.memory[offset:offset + len(content)] = content

    def pages(self):
        return len(self.memory) // PAGE

    def range(self, pointer, size):
        if pointer + size > len(self.memory):
            raise Trap("a range outside of the memory")
        return bytes(self.memory[pointer:pointer + size])

    def export(self, name):
        self.call(self.module.exports[name][1], [])

    def call(self, index, arguments):
        imports = self.module.imports
        if index < len(imports):
            result = self.host.invoke(imports[index], self, arguments)
            return [] if result is None else [result]
        function = self.module.functions[index - len(imports)]
        if self.slots + function.frame > MOST_SLOTS or self.frames + 1 > MOST_FRAMES:
            raise StackOverflow()
        self.slots, self.frames = self.slots + function.frame, self.frames + 1
        results = self.run(function, arguments + [0] * function.locals)
        self.slots, self.frames = self.slots - function.frame, self.frames - 1
        return results

    def grow(self, pages):
        self.gas.take(GAS["MemoryGrowPage"] * pages)
        before = self.pages()
        if pages and (before + pages > self.module.most or not self.host.may_grow(pages)):
            return M32
        self.memory += bytes(PAGE * pages)
        return before

    def run(self, function, variables):
        """Labels are (where a branch goes on, height of the stack, how many values it carries)."""
        text, prices, stack, labels, pc = function.text, function.prices, [], [], 0
        labels.append((len(text), 0, function.results))
        while pc < len(text):
            price = prices.get(pc)
            if price is not None:
                self.gas.take(price)
            op, immediate = text[pc]
            pc += 1
            if op in NUMERIC:
                operation, bits, result = NUMERIC[op]
                b = stack.pop()
                stack[-1] = int(operation(stack[-1], b, bits)) & (M32 if result == 32 else M64)
            elif op == LOCAL_GET:
                stack.append(variables[immediate])
            elif op == LOCAL_SET:
                variables[immediate] = stack.pop()
            elif op == LOCAL_TEE:
                variables[immediate] = stack[-1]
            elif op in (I32_CONST, I64_CONST):
                stack.append(immediate)
            elif op in UNARY:
                stack[-1] = int(UNARY[op](stack[-1]))
            elif op in LOAD:
                size, extend, bits = LOAD[op]
                value = int.from_bytes(self.range(stack.pop() + immediate, size), "little", signed=extend)
                stack.append(value & (1 << bits) - 1)
            elif op in STORE:
                size, value = STORE[op], stack.pop()
                at = stack.pop() + immediate
                self.range(at, size)
                self.memory[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            elif op in (BR, BR_IF, BR_TABLE):
                pc = self.branch(op, immediate, stack, labels, pc)
            else:
                pc = self.control(op, immediate, function, stack, labels, variables, pc)
        return stack[len(stack) - function.results:]

    @staticmethod
    def branch(op, immediate, stack, labels, pc):
        depth = immediate
        if op == BR_IF and not stack.pop():
            return pc
        if op == BR_TABLE:
            at = stack.pop()
            depth = immediate[min(at, len(immediate) - 1)]
        to, height, carried = labels[-1 - depth]
        kept = stack[len(stack) - carried:]
        stack[height:] = kept
        # A branch to a loop keeps its label, because it continues after `loop`. Other branches drop theirs.
        del labels[len(labels) - depth - (0 if to < pc else 1):]
        return to

    def control(self, op, immediate, function, stack, labels, variables, pc):
        at = pc - 1
        if op in (BLOCK, LOOP, IF):
            taken = op != IF or stack.pop()
            end = function.ends[at]
            labels.append((pc if op == LOOP else end + 1, len(stack), 0 if op == LOOP else int(immediate)))
            if not taken and at in function.elses:
                return function.elses[at] + 1
            if not taken:
                labels.pop()
                return end + 1
        elif op == ELSE:
            labels.pop()
            return function.ends[at] + 1
        elif op == END:
            labels.pop()
        elif op == RETURN:
            return len(function.text)
        elif op == UNREACHABLE:
            raise Trap("unreachable")
        elif op == DROP:
            stack.pop()
        elif op == SELECT:
            chosen, second = stack.pop(), stack.pop()
            if not chosen:
                stack[-1] = second
        elif op == GLOBAL_GET:
            stack.append(self.globals[immediate])
        elif op == GLOBAL_SET:
            self.globals[immediate] = stack.pop()
        elif op == MEMORY_SIZE:
            stack.append(self.pages())
        elif op == MEMORY_GROW:
            stack.append(self.grow(stack.pop()))
        elif op == CALL:
            self.enter(immediate, stack)
        elif op == CALL_INDIRECT:
            at = stack.pop()
            index = self.table[at] if at < len(self.table) else None
            kinds = self.module.kinds
            signatures = self.module.signatures
            if index is None or signatures[kinds[index]] != signatures[immediate]:
                raise Trap("call_indirect")
            self.enter(index, stack)
        else:
            assert op == NOP, hex(op)
        return pc

    def enter(self, index, stack):
        params, _ = self.module.types[self.module.kinds[index]]
        arguments = stack[len(stack) - params:]
        del stack[len(stack) - params:]
        stack += self.call(index, arguments)
