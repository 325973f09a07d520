"""The texts that wallets show and sign (docs/protocol.md, "Texts")."""

from datetime import datetime, timedelta

from keys import address
from messages import message_hash, policy_hash, sha256, transaction_hash

MAX_TIME = 253402300799999  # the last millisecond of the year 9999
MAX_TEXT = 4096
COIN = 10 ** 8


class NoText(ValueError):
    """A time that no calendar has."""


def coins(units):
    whole, rest = divmod(units, COIN)
    return str(whole) + (".%08d" % rest).rstrip("0").rstrip(".") + " coins"


def hexed(data):
    return "0x" + data.hex()


def plain(data):
    return all(0x20 <= byte <= 0x7E for byte in data)


def shown(data, most):
    """P64 and P1024."""
    if not data:
        return "none"
    if len(data) <= most and plain(data):
        return data.decode("ascii")
    return "%d bytes, SHA-256 %s" % (len(data), sha256(data).hex())


def time(milliseconds):
    if milliseconds > MAX_TIME:
        raise NoText()
    return (datetime(1970, 1, 1) + timedelta(seconds=milliseconds // 1000)).strftime("%Y-%m-%d %H:%M:%S UTC")


def memo_line(memo):
    begin = memo.rstrip(b"\0")
    return "memo: " + (begin.decode("ascii") if begin and plain(begin) else hexed(memo))


def rule_lines(rule, network, name, behind=""):
    yield "%s: %d of %d signers%s" % (name, rule["threshold"], len(rule["signers"]), behind)
    for signer in rule["signers"]:
        if signer["type"] == "key":
            yield "signer: key " + address(signer["key"], network)
        else:
            verified = ", verified" if signer.get("verified") else ""
            yield "signer: %s %s%s" % (signer["type"], hexed(sha256(signer["point"])), verified)


def policy_lines(payload, network):
    word, policy = "recover: " if payload["recovery"] else "policy: ", payload["policy"]
    if policy is None:
        yield word + "own"
        return
    yield word + address(policy_hash(policy), network)
    yield from rule_lines(policy["owner"], network, "owner")
    recovery = policy["recovery"]
    if recovery is None:
        yield "recovery: none"
    else:
        yield from rule_lines(recovery["rule"], network, "recovery", ", after %d s" % (recovery["delay"] // 1000))


def parameter_lines(p, network):
    yield ("configure: version %d, gas limit %d, block bytes %d, target %d, base fee %d to %d, notice %d s" % (
        p["version"], p["gas_limit"], p["block_bytes"], p["target_bps"], p["min_base_fee"], p["max_base_fee"],
        p["notice"] // 1000))
    yield "producer: " + hexed(p["producer"])
    yield "fees to: " + address(p["fee_recipient"], network)
    yield "admin: " + address(p["admin"], network)
    upgrade = p["upgrade"]
    if upgrade is None:
        yield "upgrade: none"
    else:
        yield "upgrade: version %d from %s" % (upgrade["version"], time(upgrade["from"]))


def payload_lines(payload, target, value, network):
    kind = payload["type"]
    if kind == "transfer":
        yield "pay: " + coins(value)
        yield "to: " + address(target, network)
        if payload["memo"] is not None:
            yield memo_line(payload["memo"])
    elif kind == "call":
        yield "call: " + shown(payload["function"].encode(), 64)
        yield "contract: " + hexed(target)
        yield "arguments: " + shown(payload["args"], 1024)
        yield "value: " + coins(value)
    elif kind == "deploy":
        yield "deploy: " + shown(payload["name"].encode(), 64)
        yield "code: %d bytes, SHA-256 %s" % (len(payload["code"]), sha256(payload["code"]).hex())
        yield "arguments: " + shown(payload["init_args"], 1024)
        yield "value: " + coins(value)
    elif kind == "instantiate":
        yield "create: " + shown(payload["name"].encode(), 64)
        yield "like: " + hexed(target)
        yield "arguments: " + shown(payload["init_args"], 1024)
        yield "value: " + coins(value)
    elif kind == "set_policy":
        yield from policy_lines(payload, network)
    elif kind == "configure":
        yield from parameter_lines(payload["parameters"], network)
    else:
        steps = payload["steps"]
        for i, step in enumerate(steps):
            yield "step: %d of %d" % (i + 1, len(steps))
            yield from payload_lines(step["action"], step["target"], step["value"], network)


def lines(tx, network, role):
    yield "Cairn %s on %s, chain %d" % (role, network, tx["chain_id"])
    yield from payload_lines(tx["payload"], tx["target"], tx["value"], network)
    fee = "fee: at most " + coins(tx["gas_limit"] * tx["max_fee_per_gas"])
    yield fee if tx["payer"] is None else fee + ", paid by " + address(tx["payer"], network)
    yield "from: " + address(tx["sender"], network)
    yield "nonce: %d" % tx["nonce"]
    if tx["valid_until"] is not None:
        yield "until: " + time(tx["valid_until"])
    yield "id: " + transaction_hash(tx).hex()


def text(tx, network, role):
    """The text of a transaction for its "transaction" or "fee payment", or None if it has none."""
    try:
        return "\n".join(lines(tx, network, role)).encode("ascii")
    except NoText:
        return None


def sender_text(tx, network):
    return text(tx, network, "transaction")


def payer_text(tx, network):
    return text(tx, network, "fee payment")


def message_text(network, chain_id, contract, account, message):
    return "\n".join((
        "Cairn message on %s, chain %d" % (network, chain_id), "contract: " + hexed(contract),
        "account: " + address(account, network), "message: " + shown(message, 1024),
        "id: " + message_hash(chain_id, contract, account, message).hex())).encode("ascii")
