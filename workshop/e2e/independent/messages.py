"""What is encoded, hashed and signed (docs/protocol.md, "Transactions", "Blocks", "Receipts and logs", "Genesis")."""

import hashlib

from wire import U8, U16, U32, U64, Bytes, Enum, Fixed, List, Option, Struct, Text, Uint

KIB = 1024
KEY = Fixed(32)
SIGNATURE = Fixed(64)

PARAMETERS = Struct(version=U32, gas_limit=U64, target_bps=U16, min_base_fee=U64, max_base_fee=U64, producer=KEY,
                    fee_recipient=KEY)

TRANSFER, DEPLOY, CALL, CONFIGURE = range(4)
PAYLOAD = Enum(
    Struct(to=KEY, value=U64),
    Struct(value=U64, name=Text(64), code=Bytes(256 * KIB), init_args=Bytes(64 * KIB)),
    Struct(value=U64, contract=KEY, function=Text(64), args=Bytes(64 * KIB)),
    Struct(parameters=PARAMETERS))
TRANSACTION = Struct(version=U8, chain_id=U64, sender=KEY, nonce=U64, gas_limit=U64, max_fee_per_gas=U64,
                     max_priority_fee_per_gas=U64, payload=PAYLOAD)
SIGNED_TRANSACTION = Struct(transaction=TRANSACTION, signature=SIGNATURE)

HEADER = Struct(version=U32, chain_id=U64, height=U64, parent=KEY, timestamp=U64, producer=KEY, transactions_root=KEY,
                receipts_root=KEY, state_root=KEY, writes_digest=KEY, gas_used=U64, gas_limit=U64, base_fee=U64)
SIGNED_HEADER = Struct(header=HEADER, signature=SIGNATURE)
BLOCK = Struct(header=HEADER, signature=SIGNATURE, transactions=List(SIGNED_TRANSACTION))

LOG = Struct(contract=KEY, name=Text(64), topics=List(KEY, 3), data=Bytes(16 * KIB))
RECEIPT = Struct(transaction=KEY, status=Uint(1, most=1), gas_used=U64, contract=Option(KEY), output=Bytes(64 * KIB),
                 logs=List(LOG, 1024))

CHANGES = List(Struct(key=Bytes(), old=Bytes(), new=Bytes()))  # Vec<Write> and Vec<Access>

ALLOCATION = Struct(account=KEY, balance=U64)
GENESIS = Struct(chain_id=U64, network=Text(), time=U64, base_fee=U64, parameters=PARAMETERS,
                 allocations=List(ALLOCATION, 2 ** 24))


def sha256(data):
    return hashlib.sha256(data).digest()


def tagged(tag, message):
    """The tagged hash of BIP-340."""
    prefix = sha256(tag.encode("ascii"))
    return sha256(prefix + prefix + message)


def signing_hash(transaction):
    return tagged("cairn/tx/v1", TRANSACTION.encode(transaction))


def transaction_hash(signed):
    return tagged("cairn/txid/v1", SIGNED_TRANSACTION.encode(signed))


def contract_id(sender, nonce):
    return tagged("cairn/contract/v1", sender + U64.encode(nonce))


def block_hash(header):
    return tagged("cairn/block/v1", HEADER.encode(header))


def genesis_digest(genesis):
    return tagged("cairn/genesis/v1", GENESIS.encode(genesis))


def merkle_root(leaves):
    """The root of RFC 6962, section 2.1."""
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0])
    split = 1 << (len(leaves) - 1).bit_length() - 1  # the greatest power of two below the number
    return sha256(b"\1" + merkle_root(leaves[:split]) + merkle_root(leaves[split:]))


def changes_digest(changes):
    """writes_digest or accesses_digest of {key: (old, new)}."""
    return sha256(CHANGES.encode([{"key": key, "old": old, "new": new} for key, (old, new) in sorted(changes.items())]))
