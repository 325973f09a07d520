"""What code costs (docs/protocol.md, "Modules", "Metering", "Gas schedule"): modules are read, not run."""

MODULE_LIMITS = {"imports": 64, "exports": 128, "mutable": 64, "frame": 16384}  # those that the vectors touch

UNREACHABLE, NOP, BLOCK, LOOP, IF, ELSE, END = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x0B
BR, BR_IF, BR_TABLE, RETURN, CALL, CALL_INDIRECT, DROP, SELECT = 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x1A, 0x1B
LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_GET, GLOBAL_SET = 0x20, 0x21, 0x22, 0x23, 0x24
MEMORY_SIZE, MEMORY_GROW, I32_CONST, I64_CONST, EMPTY = 0x3F, 0x40, 0x41, 0x42, 0x40
LOADS, STORES, STORES_OF_8 = range(0x28, 0x36), range(0x36, 0x3F), (0x3A, 0x3C)
UNARY = (0x45, 0x50, 0x67, 0x68, 0x69, 0x79, 0x7A, 0x7B)  # eqz, clz, ctz, popcnt
ENDS = (LOOP, IF, ELSE, END, BR, BR_IF, BR_TABLE, RETURN, UNREACHABLE)
CALLS = (CALL, CALL_INDIRECT, MEMORY_GROW)
JUMPS = (IF, BR, BR_IF, BR_TABLE, RETURN, CALL, CALL_INDIRECT)  # these cost more in a heavy module
PRICES = {BLOCK: 0, ELSE: 0, END: 0, LOOP: 5, IF: 3, BR: 3, BR_IF: 3, CALL: 12, CALL_INDIRECT: 65, BR_TABLE: 15,
          MEMORY_GROW: 12}
PRICES.update({op: 13 for op in LOADS})
PRICES.update({op: 7 if op in STORES_OF_8 else 14 for op in STORES})
PRICES.update({op: 2 for op in UNARY})
PRICES.update({op: 12 for op in range(0x6D, 0x71)})
PRICES.update({op: 20 for op in range(0x7F, 0x83)})
VALUES = {op: 0 for op in (BLOCK, NOP, DROP, LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_SET)}
VALUES.update({op: 3 for op in CALLS})
VALUES.update({op: 2 for op in (*LOADS, *STORES)})


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        """A LEB128; of a signed one only its end matters here."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def bytes(self):
        n = self.number()
        self.at += n
        return self.data[self.at - n:self.at]

    def constant(self):
        self.byte()
        self.number()
        self.byte()


class Module:
    """The parts of a module that its metering needs."""

    def __init__(self, code):
        self.size, self.types, self.functions, self.mutable, self.bodies = len(code), [], [], [], []
        self.imports = self.exports = self.indices = self.segments = 0
        outer = Reader(code)
        outer.at = 8
        while outer.at < len(code):
            section, content = outer.byte(), Reader(outer.bytes())
            if section in self.READERS:
                for _ in range(content.number()):
                    self.READERS[section](self, content)

    def type(self, r):
        r.byte()
        self.types.append((len(r.bytes()), len(r.bytes())))

    def imported(self, r):
        r.bytes(), r.bytes(), r.byte()
        self.imports += 1
        self.functions.append(r.number())

    def function(self, r):
        self.functions.append(r.number())

    def global_(self, r):
        r.byte()
        self.mutable.append(r.byte() == 1)
        r.constant()

    def export(self, r):
        r.bytes(), r.byte(), r.number()
        self.exports += 1

    def element(self, r):
        r.byte(), r.constant()
        n = r.number()
        self.indices += n
        for _ in range(n):
            r.number()

    def body(self, r):
        self.bodies.append(r.bytes())

    def data(self, r):
        r.byte(), r.constant(), r.bytes()
        self.segments += 1

    READERS = {1: type, 2: imported, 3: function, 6: global_, 7: export, 9: element, 10: body, 11: data}


def instructions(r):
    """(opcode, immediates) of each instruction to the end."""
    text = []
    while r.at < len(r.data):
        op = r.byte()
        count = 0
        if op in (BLOCK, LOOP, IF, BR, BR_IF, CALL, MEMORY_SIZE, MEMORY_GROW, I32_CONST, I64_CONST):
            count = 1
        elif LOCAL_GET <= op <= GLOBAL_SET:
            count = 1
        elif op == CALL_INDIRECT or op in LOADS or op in STORES:
            count = 2
        elif op == BR_TABLE:
            count = r.number() + 1
        text.append((op, [r.number() for _ in range(count)]))
    return text


class Construct:
    def __init__(self, op, block_type):
        self.op, self.result, self.assigned, self.named = op, block_type != EMPTY, set(), 0

    def width(self):
        return len(self.assigned) + (self.result and self.op != LOOP)

    def has_merge(self):
        return self.op == IF or self.named > 0


def constructs(text):
    """Each construct by the index of the instruction behind which its merge is: its loop, or its end."""
    merges, open_ = {}, []
    for i, (op, immediates) in enumerate(text):
        if op in (BLOCK, LOOP, IF):
            open_.append((Construct(op, immediates[0]), i))
        elif op == END and open_:
            construct, begin = open_.pop()
            merges[begin if construct.op == LOOP else i] = construct
        elif op in (LOCAL_SET, LOCAL_TEE):
            for construct, _ in open_:
                construct.assigned.add(immediates[0])
        elif op in (BR, BR_IF, BR_TABLE):
            for label in immediates:
                if label < len(open_):
                    open_[-1 - label][0].named += 1
    return merges


def effect(module, op, immediates):
    """How many operands an instruction takes and gives that is about no label."""
    if op == CALL or op == CALL_INDIRECT:
        params, results = module.types[module.functions[immediates[0]] if op == CALL else immediates[0]]
        return params + (op == CALL_INDIRECT), results
    if op == NOP:
        return 0, 0
    if op in (DROP, LOCAL_SET, GLOBAL_SET):
        return 1, 0
    if op == SELECT:
        return 3, 1
    if op in (LOCAL_GET, GLOBAL_GET, MEMORY_SIZE, I32_CONST, I64_CONST):
        return 0, 1
    if op in STORES:
        return 2, 0
    if op in (LOCAL_TEE, MEMORY_GROW) or op in LOADS or op in UNARY or op >= 0xA7:
        return 1, 1
    return 2, 1


def operand_height(module, text, results):
    """The most operands; in dead code an instruction takes what is there."""
    highest = height = 0
    levels = [[FUNCTION, 0, results, False]]  # opcode, stack height below it, results, whether the rest is unreachable
    for op, immediates in text:
        _, base, _, dead = levels[-1]

        def take(n):
            return max(base, height - n) if dead else height - n

        if op in (BLOCK, LOOP, IF):
            height = take(op == IF)
            levels.append([op, height, immediates[0] != EMPTY, False])
        elif op == ELSE:
            height, levels[-1][3] = base, False
        elif op == END:
            height = base + levels.pop()[2]
        elif op in (BR, BR_TABLE, RETURN, UNREACHABLE):
            height, levels[-1][3] = base, True
        elif op == BR_IF:
            to, _, carried, _ = levels[-1 - immediates[0]]
            carried = 0 if to == LOOP else carried
            height = take(1)
            height = take(carried) + carried
        else:
            taken, given = effect(module, op, immediates)
            height = take(taken) + given
        highest = max(highest, height)
    return highest


FUNCTION = -1


def measure_function(module, function_type, body):
    """Returns a function in the form of the vectors, without the surcharge for jumps, with its number of calls and the
    number of jumps in each of its metered blocks."""
    params, results = module.types[function_type]
    r, variables = Reader(body), params
    for _ in range(r.number()):
        variables += r.number()
        r.byte()
    text = instructions(r)
    variables += operand_height(module, text, results)
    merges = constructs(text)
    frame, branches, calls, prices, price = 16 + variables, 0, 0, [], 0
    jumps = [0]
    for i, (op, immediates) in enumerate(text):
        frame += VALUES.get(op, 1)
        calls += op in CALLS
        price += PRICES.get(op, 1)
        jumps[-1] += op in JUMPS
        if op in ENDS:
            prices.append(price)
            jumps.append(0)
            merge = merges.get(i)
            price = 2 + 5 * merge.width() if merge and merge.has_merge() else 0
            branches += 1 + 2 * (op == LOOP) + (len(immediates) - 1 if op == BR_TABLE else 0)
    for construct in merges.values():
        if construct.has_merge():
            frame += (construct.width() + 1) * (1 + (construct.named if construct.op == LOOP else 0))
    return {"variables": variables, "frame": frame, "branches": branches, "block_prices": prices}, calls, jumps


def measure(code):
    """A module as the vectors have it: what a deploy takes, load, instance items, functions; or its refusal."""
    module = Module(code)
    defined = module.functions[module.imports:]
    measured = [measure_function(module, t, body) for t, body in zip(defined, module.bodies)]
    functions, mutable = [f for f, _, _ in measured], sum(module.mutable)
    have = {"imports": module.imports, "exports": module.exports, "mutable": mutable,
            "frame": max((f["frame"] for f in functions), default=0)}
    if any(have[name] > limit for name, limit in MODULE_LIMITS.items()):
        return {"refused": True, "instance_items": 0}
    deploy = 800000 + 600 * sum(calls for _, calls, _ in measured) * mutable
    for f, body in zip(functions, module.bodies):
        deploy += 45000 + 2000 * len(body) + 10 * f["branches"] ** 2 * (f["variables"] + 4)
    weight = sum(40 + sum(f["block_prices"]) for f in functions)
    more = min(max(weight - 36864, 0) // 512, 64)
    for f, _, jumps in measured:
        f["block_prices"] = [price + more * count for price, count in zip(f["block_prices"], jumps)]
    items = len(module.mutable) + module.indices + module.segments
    return {"functions": functions, "deploy_gas": deploy,
            "load": 12000 + module.size + 40 * len(module.bodies) + 100 * items,
            "instance_items": items, "weight": weight}
