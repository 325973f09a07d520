"""Who signed what (docs/protocol.md, "Witnesses"): claims and proofs."""

from base64 import urlsafe_b64encode

from curve import ecdsa_verify
from keys import verify
from messages import SIGNER, message_hash, policy_hash, sha256, tagged
from texts import MAX_TEXT, message_text

MAX_DELAY = 2 ** 40
ZEROS = bytes(4)
CLIENT_BEGINS = b'","origin":"'
PRESENT, VERIFIED, ATTESTED, EXTENDED = 1, 4, 64, 128  # flags in an authenticator's data


def valid_rule(rule):
    encoded = [SIGNER.encode(signer) for signer in rule["signers"]]
    return 1 <= rule["threshold"] <= len(encoded) <= 16 and all(a < b for a, b in zip(encoded, encoded[1:]))


def valid_policy(policy):
    recovery = policy["recovery"]
    return valid_rule(policy["owner"]) and (
        recovery is None or valid_rule(recovery["rule"]) and 1 <= recovery["delay"] <= MAX_DELAY)


def claim(witness, account):
    """The authority that a witness for the account claims."""
    return policy_hash(witness["policy"]) if witness["type"] == "policy" else account


def bip322(key, text, sighash):
    """The message that a P2TR wallet signs for a text: BIP-322 simple, key path."""
    spk = b"\x51\x20" + key
    message_hash = tagged("BIP0322-signed-message", text)
    to_spend = (ZEROS + b"\1" + bytes(32) + b"\xff" * 4 + b"\x22\0\x20" + message_hash + ZEROS + b"\1" + bytes(8)
                + b"\x22" + spk + ZEROS)
    prevout = sha256(sha256(to_spend)) + ZEROS
    return tagged("TapSighash", b"\0" + bytes([sighash]) + ZEROS + ZEROS + sha256(prevout) + sha256(bytes(8))
                  + sha256(b"\x22" + spk) + sha256(ZEROS) + sha256(bytes(8) + b"\1\x6a") + b"\0" + ZEROS)


def text_holds(key, text, evidence):
    if text is None or len(text) > MAX_TEXT:
        return False
    return verify(key, bip322(key, text, evidence["sighash"]), evidence["signature"])


def challenge_text(message):
    return urlsafe_b64encode(message).rstrip(b"=")


def passkey_holds(signer, message, evidence):
    client, authenticator = evidence["client"], evidence["authenticator"]
    flags = authenticator[32]
    wanted = PRESENT | (VERIFIED if signer["verified"] else 0)
    if client[:len(CLIENT_BEGINS)] != CLIENT_BEGINS or flags & (wanted | ATTESTED | EXTENDED) != wanted:
        return False
    client_data = b'{"type":"webauthn.get","challenge":"' + challenge_text(message) + client
    return ecdsa_verify(signer["point"], sha256(authenticator + sha256(client_data)), evidence["signature"])


def evidence_holds(signer, evidence, message, text):
    kinds = signer["type"], evidence["type"]
    if kinds == ("key", "key"):
        return verify(signer["key"], message, evidence["signature"])
    if kinds == ("key", "text"):
        return text_holds(signer["key"], text(), evidence)
    if kinds == ("p256", "p256"):
        return ecdsa_verify(signer["point"], sha256(message), evidence["signature"])
    return kinds == ("passkey", "passkey") and passkey_holds(signer, message, evidence)


def proofs_hold(witness, account, message, text, recovery=False):
    """Whether the proofs of a witness hold for the account and the message; text() gives the text or None."""
    if witness["type"] == "key":
        return verify(account, message, witness["signature"])
    if witness["type"] == "text":
        return text_holds(account, text(), witness)
    policy, proofs = witness["policy"], witness["proofs"]
    rule = policy["recovery"]["rule"] if recovery else policy["owner"]
    numbers = [proof["signer"] for proof in proofs]
    if (len(proofs) != rule["threshold"] or numbers[-1] >= len(rule["signers"])
            or any(a >= b for a, b in zip(numbers, numbers[1:]))):
        return False
    return all(evidence_holds(rule["signers"][proof["signer"]], proof["evidence"], message, text) for proof in proofs)


def message_holds(chain, contract, account, message, witness, authority):
    """account_verify of a decoded witness whose policy is valid; chain is (network, chain id)."""
    network, chain_id = chain
    return claim(witness, account) == authority and proofs_hold(
        witness, account, message_hash(chain_id, contract, account, message),
        lambda: message_text(network, chain_id, contract, account, message))
