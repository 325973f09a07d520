#!/usr/bin/env python3
"""Compares signatures here with independent programs and vectors. Their requirements are not in the repository, so each
part is run by hand.

    outside.py secp256k1 [N]       N random BIP-340 signatures, half of them damaged, against libsecp256k1
                                   (Debian: libsecp256k1-1 or libsecp256k1-2)
    outside.py judge               answers lines of judge.py with `schnorr`, by libsecp256k1
    outside.py wycheproof FILE     ecdsa_secp256r1_sha256_p1363_test.json of C2SP/wycheproof
    outside.py webauthn FILE       index.bs of w3c/webauthn: the ES256 examples of its chapter of test vectors
    outside.py bip322 FOLDER       texts are signed and verified by bip322-js, which was installed in FOLDER
                                   (npm install bip322-js@3)
"""

import base64
import ctypes
import ctypes.util
import json
import os
import random
import re
import subprocess
import sys

import curve
import keys
import texts
import witnesses
from messages import TRANSACTION, sha256


def agree(name, here, there, case):
    if here != there:
        raise SystemExit("%s: here it is %s, there %s: %s" % (name, here, there, case))


def schnorr_of_libsecp256k1():
    """Verification by the library of Bitcoin Core."""
    library = ctypes.CDLL(ctypes.util.find_library("secp256k1"))
    library.secp256k1_context_create.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.secp256k1_context_create(1))
    parse, check = library.secp256k1_xonly_pubkey_parse, library.secp256k1_schnorrsig_verify
    parse.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    check.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    parsed = ctypes.create_string_buffer(64)

    def verify(public, message, signature):
        return bool(parse(context, parsed, public) and check(context, signature, message, len(message), parsed))

    return verify


def damaged(choose, part):
    """Bytes with a bit flipped, or with a number at an edge in place of one half."""
    edges = [0, 1, keys.N - 1, keys.N, keys.P - 1, keys.P, 2 ** 256 - 1]
    data = bytearray(part)
    if len(data) >= 32 and choose.random() < 0.3:
        at = 32 * choose.randrange(len(data) // 32)
        data[at:at + 32] = keys.to_bytes(choose.choice(edges))
    else:
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    return bytes(data)


def secp256k1(count="20000"):
    outside, choose, held = schnorr_of_libsecp256k1(), random.Random(340), 0
    for _ in range(int(count)):
        private = choose.randrange(1, keys.N)
        message = choose.randbytes(32)
        parts = [keys.even_y(private)[1], message, keys.sign(private, message, choose.randbytes(32))]
        if choose.random() < 0.5:
            at = choose.randrange(3)
            parts[at] = damaged(choose, parts[at])
        here = keys.verify(*parts)
        agree("secp256k1", here, outside(*parts), [part.hex() for part in parts])
        held += here
    print("secp256k1: %s signatures, %d of which hold; none differs" % (count, held))


def judge():
    outside = schnorr_of_libsecp256k1()
    for line in sys.stdin:
        print(int(outside(*map(bytes.fromhex, line.split()[1:]))), flush=True)


def wycheproof(path):
    with open(path, encoding="utf-8") as file:
        groups, count, low = json.load(file)["testGroups"], 0, 0
    for group in groups:
        point = bytes.fromhex(group["publicKey"]["uncompressed"])[1:]
        for test in group["tests"]:
            signature, digest = bytes.fromhex(test["sig"]), sha256(bytes.fromhex(test["msg"]))
            here = len(signature) == 64 and curve.ecdsa_verify(point, digest, signature, any_s=True)
            agree("wycheproof", here, test["result"] == "valid", test["tcId"])
            count += 1
            if here:
                s = curve.to_int(signature[32:])
                strict = curve.ecdsa_verify(point, digest, signature)
                agree("low s", strict, s <= curve.P256.n // 2, test["tcId"])
                low += strict
    print("wycheproof: %d signatures, none differs; %d hold with a low s" % (count, low))


def ecdsa_of_der(der):
    """r ‖ s with the lower s."""
    numbers, at = [], 2
    while at < len(der):
        size = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + size], "big"))
        at += 2 + size
    r, s = numbers
    return curve.to_bytes(r) + curve.to_bytes(min(s, curve.P256.n - s))


def webauthn(path):
    with open(path, encoding="utf-8") as file:
        chapter = file.read().partition("{#sctn-test-vectors}")[2]
    count = 0
    for section in re.split(r"\n## ", chapter)[1:]:
        found = {name: re.findall(r"^%s = h'([0-9a-f]*)'" % name, section, re.M) for name in (
            "challenge", "credential_private_key", "authenticatorData", "clientDataJSON", "signature")}
        if "ES256" not in section.partition("\n")[0] or not found["signature"]:
            continue
        challenge, client = (bytes.fromhex(found[name][-1]) for name in ("challenge", "clientDataJSON"))
        begin = b'{"type":"webauthn.get","challenge":"' + witnesses.challenge_text(challenge)
        evidence = {"authenticator": bytes.fromhex(found["authenticatorData"][0]), "client": client[len(begin):],
                    "signature": ecdsa_of_der(bytes.fromhex(found["signature"][0]))}
        point = curve.ecdsa_point(int(found["credential_private_key"][0], 16))
        for verified in (False, True):
            signer = {"type": "passkey", "point": point, "verified": verified}
            want = client.startswith(begin) and (not verified or bool(evidence["authenticator"][32] & 4))
            agree("webauthn", witnesses.passkey_holds(signer, challenge, evidence), want, section.partition("\n")[0])
        other = {"type": "passkey", "point": point, "verified": False}
        agree("webauthn", witnesses.passkey_holds(other, sha256(challenge), evidence), False, "another challenge")
        count += 1
    print("webauthn: %d ES256 examples hold" % count)


BIP322 = """
const { Signer, Verifier } = require("bip322-js");
const lines = require("fs").readFileSync(0, "utf8").split("\\n").filter((line) => line);
for (const line of lines) {
  const { wif, address, text, signature } = JSON.parse(line);
  const answer = signature ? Verifier.verifySignature(address, text, signature) : Signer.sign(wif, address, text);
  console.log(JSON.stringify(answer));
}
"""


def wif(private):
    """A private key in the form of wallets."""
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    data = b"\x80" + keys.to_bytes(private) + b"\1"
    number, text = int.from_bytes(data + sha256(sha256(data))[:4], "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = alphabet[digit] + text
    return text


def bip322(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../../docs/vectors.json"), encoding="utf-8") as file:
        members = json.load(file)["transactions"]
    seed, cases, lines = keys.seed("test " * 11 + "junk"), [], []
    for i, member in enumerate(members):
        tx = TRANSACTION.from_json(member["transaction"])
        inner, _ = keys.derive(seed, "m/86'/0'/0'/0/%d" % i)
        _, _, private, public = keys.tweak(inner)
        for text in (texts.sender_text(tx, "mainnet"), texts.payer_text(tx, "mainnet")):
            case = {"wif": wif(inner), "address": keys.address(public, "mainnet"), "text": text.decode()}
            cases.append((public, text))
            lines.append(case)
            for sighash, begin, end in ((0, b"\x01\x40", b""), (1, b"\x01\x41", b"\1")):
                signature = keys.sign(private, witnesses.bip322(public, text, sighash), bytes(32))
                encoded = base64.b64encode(begin + signature + end).decode()
                lines.append(dict(case, signature=encoded))
    out = subprocess.run(["node", "-e", BIP322], cwd=folder, input="\n".join(map(json.dumps, lines)), text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    for (public, text), made, default, all_inputs in zip(cases, answers[::3], answers[1::3], answers[2::3]):
        agree("bip322", (True, True), (default, all_inputs), text)
        signature = base64.b64decode(made)
        sighash = {66: 0, 67: 1}[len(signature)]
        evidence = {"signature": signature[2:66], "sighash": sighash}
        agree("bip322", witnesses.text_holds(public, text, evidence), True, text)
        evidence["sighash"] ^= 1
        agree("bip322", witnesses.text_holds(public, text, evidence), False, text)
    print("bip322: %d texts, signed there and verified here, signed here in both forms and verified there" % len(cases))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    {part.__name__: part for part in (secp256k1, judge, wycheproof, webauthn, bip322)}[sys.argv[1]](*sys.argv[2:])
