"""The encoded, hashed and signed structures (docs/protocol.md, "Transactions", "Witnesses", "Blocks", "Receipts and
logs", "Genesis")."""

import hashlib

from wire import U8, U16, U32, U64, Bool, Bytes, Enum, Fixed, List, Option, Struct, Text, Uint

KEY, POINT, SIGNATURE = Fixed(32), Fixed(64), Fixed(64)
ZERO = bytes(32)

MAX_TRANSACTION = 524288  # bytes of an encoded SignedTransaction
MAX_BLOCK = 2 ** 25 + 288
MAX_GENESIS = 186 + 40 * 2 ** 24
MAX_OTHER = 524288  # of any other input

VERSION = Uint(4, only=2)
PARAMETERS = Struct(version=VERSION, gas_limit=U64, block_bytes=U32, target_bps=U16, min_base_fee=U64,
                    max_base_fee=U64, producer=KEY, fee_recipient=KEY, admin=KEY, notice=U64,
                    upgrade=Option(Struct(version=U32, **{"from": U64})))

SIGHASH = Uint(1, most=1)
SIGNER = Enum({0: ("key", Struct(key=KEY)), 1: ("p256", Struct(point=POINT)),
               2: ("passkey", Struct(point=POINT, verified=Bool()))})
RULE = Struct(threshold=U8, signers=List(SIGNER, 16))
POLICY = Struct(number=U64, owner=RULE, recovery=Option(Struct(rule=RULE, delay=U64)))
EVIDENCE = Enum({0: ("key", Struct(signature=SIGNATURE)), 1: ("text", Struct(signature=SIGNATURE, sighash=SIGHASH)),
                 2: ("p256", Struct(signature=SIGNATURE)),
                 3: ("passkey", Struct(authenticator=Fixed(37), client=Bytes(1024), signature=SIGNATURE))})
PROOF = Struct(signer=U8, evidence=EVIDENCE)
WITNESS = Enum({0: ("key", Struct(signature=SIGNATURE)), 1: ("text", Struct(signature=SIGNATURE, sighash=SIGHASH)),
                2: ("policy", Struct(policy=POLICY, proofs=List(PROOF, 16)))})

TRANSFER, CALL = Struct(memo=Option(KEY)), Struct(function=Text(), args=Bytes())
STEP = Struct(target=KEY, value=U64, action=Enum({0: ("transfer", TRANSFER), 2: ("call", CALL)}))
PAYLOAD = Enum({0: ("transfer", TRANSFER), 1: ("deploy", Struct(name=Text(), code=Bytes(), init_args=Bytes())),
                2: ("call", CALL), 3: ("configure", Struct(parameters=PARAMETERS)),
                4: ("batch", Struct(steps=List(STEP, 256, least=1))),
                5: ("set_policy", Struct(recovery=Bool(), policy=Option(POLICY))),
                6: ("instantiate", Struct(name=Text(), init_args=Bytes()))})
TRANSACTION = Struct(sender=KEY, target=KEY, chain_id=U64, nonce=U64, gas_limit=U64, max_fee_per_gas=U64,
                     max_priority_fee_per_gas=U64, value=U64, payer=Option(KEY), valid_until=Option(U64),
                     payload=PAYLOAD)
UNSIGNED = Struct(version=Uint(1, only=2), transaction=TRANSACTION)
SIGNED_TRANSACTION = Struct(version=Uint(1, only=2), transaction=TRANSACTION, witness=WITNESS,
                            payer_witness=Option(WITNESS))

HEADER = Struct(version=U32, chain_id=U64, height=U64, parent=KEY, timestamp=U64, producer=KEY, transactions_root=KEY,
                receipts_root=KEY, state_root=KEY, gas_used=U64, gas_limit=U64, base_fee=U64)
SEAL = Enum({0: ("signature", Struct(signature=SIGNATURE))})
SIGNED_HEADER = Struct(header=HEADER, seal=SEAL)
BLOCK = Struct(header=HEADER, seal=SEAL, transactions=List(SIGNED_TRANSACTION))

LOG = Struct(contract=KEY, name=Text(64), topics=List(KEY, 3), data=Bytes(16384))
RECEIPT = Struct(status=Uint(1, most=1), gas_used=U64, contract=Option(KEY), output=Bytes(65536), logs=List(LOG, 1024))

ACCESSES = List(Struct(key=Bytes(), old=Bytes(), new=Bytes()))

ALLOCATION = Struct(account=KEY, balance=U64)
GENESIS = Struct(chain_id=U64, network=Text(), time=U64, base_fee=U64, parameters=PARAMETERS,
                 allocations=List(ALLOCATION, 2 ** 24))

END = Enum({0: ("leaf", Struct()), 1: ("empty", Struct()), 2: ("other", Struct(path=KEY, value_hash=KEY))})
MERKLE_PROOF = Struct(key=Bytes(289), value=Bytes(16384), siblings=List(KEY, 248), end=END)
INCLUSION_PROOF = Struct(number=U32, n=U32, leaf=KEY, siblings=List(KEY, 18))


def sha256(data):
    return hashlib.sha256(data).digest()


_tags = {}


def tagged(tag, message):
    """The tagged hash of BIP-340."""
    begun = _tags.get(tag)
    if begun is None:
        prefix = sha256(tag.encode("ascii"))
        begun = _tags[tag] = hashlib.sha256(prefix + prefix)
    digest = begun.copy()
    digest.update(message)
    return digest.digest()


def transaction_hash(transaction):
    """The transaction's id, which is what the sender signs."""
    return tagged("cairn/tx/v2", TRANSACTION.encode(transaction))


def payer_hash(transaction_id):
    return tagged("cairn/payer/v2", transaction_id)


def witness_digest(signed):
    payer = Option(WITNESS).encode(signed["payer_witness"])
    return tagged("cairn/witness/v2", WITNESS.encode(signed["witness"]) + payer)


def policy_hash(policy):
    return tagged("cairn/policy/v2", POLICY.encode(policy))


def contract_id(sender, nonce):
    return tagged("cairn/contract/v2", sender + U64.encode(nonce))


def instance_id(creator, code_hash, salt):
    return tagged("cairn/instance/v2", creator + code_hash + salt)


def message_hash(chain_id, contract, account, message):
    return tagged("cairn/message/v2", U64.encode(chain_id) + contract + account + message)


def block_hash(header):
    return tagged("cairn/block/v2", HEADER.encode(header))


def genesis_digest(genesis):
    return tagged("cairn/genesis/v2", GENESIS.encode(genesis))


def details(receipt):
    """What of a receipt its leaf covers by a SHA-256."""
    return sha256(RECEIPT.encode(receipt)[9:])


def accesses_digest(accesses):
    """The digest of {key: (old, new)}."""
    entries = [{"key": key, "old": old, "new": new} for key, (old, new) in sorted(accesses.items())]
    return sha256(ACCESSES.encode(entries))
