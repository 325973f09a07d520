"""Checks a node's newest snapshot, or one in a directory, by docs/protocol.md, "Snapshots", alone. zstd is the tool."""

import hashlib
import json
import subprocess
import sys
import urllib.request

import tree
from execution import seal_holds
from messages import GENESIS, POLICY, SIGNED_HEADER, block_hash, policy_hash, sha256
from wire import U8, Bytes, Fixed, List, Option, Struct, decode

DIGEST = Fixed(32)
SIBLINGS = List(Struct(depth=U8, digest=DIGEST), tree.PATH_BITS)
STATE = Struct(before=Option(Struct(path=DIGEST, value_hash=DIGEST)), entries=List(Struct(key=Bytes(), value=Bytes())),
               left=SIBLINGS, right=SIBLINGS)
CHUNK_BYTES = 8 << 20


def require(condition, what):
    if not condition:
        raise ValueError(what)


def fetch(url, body=None):
    if "://" not in url:
        with open(url, "rb") as file:
            return file.read()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def decompress(data):
    plain = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    require(len(plain) <= CHUNK_BYTES, "a chunk is over 8 MiB")
    return plain


def stand_in(path, sibling, side):
    """The leaf that counts for a sibling on a side (0 left, 1 right) of the way to path."""
    depth = sibling["depth"]
    require(tree.bit(path, depth) == 1 - side, "a sibling is on the way itself")
    bits = [tree.bit(path, i) for i in range(depth)] + [side] + [0] * (tree.PATH_BITS - depth - 1)
    at = tuple(int("".join(map(str, bits[i:i + 31])), 2) for i in range(0, tree.PATH_BITS, 31))
    return at, tree.parse_digest(sibling["digest"])


def root(leaves, depth=0):
    """The root of leaves (path, digest), as defined."""
    if not leaves:
        return tree.ZEROS
    if len(leaves) == 1:
        return leaves[0][1]
    sides = [[leaf for leaf in leaves if tree.bit(leaf[0], depth) == side] for side in (0, 1)]
    return tree.node(root(sides[0], depth + 1), root(sides[1], depth + 1))


def check_state(data, state_root):
    """Checks a chunk alone. Its entries, the path before them, their last path, and whether nothing follows."""
    chunk = decode(STATE, data)
    leaves, before = [], None
    for entry in chunk["entries"]:
        path = tree.path_digest(entry["key"])
        leaves.append((path, tree.leaf(path, tree.value_hash(entry["value"]))))
    last = leaves[-1][0]
    if chunk["before"]:
        before = tree.parse_digest(chunk["before"]["path"])
        leaves.insert(0, (before, tree.leaf(before, tree.parse_digest(chunk["before"]["value_hash"]))))
    left = [stand_in(before, sibling, 0) for sibling in chunk["left"]]
    right = [stand_in(last, sibling, 1) for sibling in chunk["right"]]
    leaves = left + leaves + right[::-1]
    require(all(a[0] < b[0] for a, b in zip(leaves, leaves[1:])), "paths do not ascend")
    require(tree.digest_bytes(root(leaves)) == state_root, "a chunk leads to another root")
    return chunk["entries"], before, last, not right


def state_snapshot(source, params):
    call = {"jsonrpc": "2.0", "id": 1, "method": "svc_getStateSnapshot", "params": params}
    return json.loads(fetch(source, json.dumps(call).encode()))["result"]


def check(source):
    """Checks a snapshot of the node at a URL, or in a directory."""
    if "://" in source:
        manifest = state_snapshot(source, [])
        if not manifest["chunks"]:
            manifest = state_snapshot(source, [manifest["newest_files"]])
    else:
        manifest = json.loads(fetch(source + "/manifest.json"))
    header = decode(SIGNED_HEADER, bytes.fromhex(manifest["header"][2:]))
    found = block_hash(header["header"])
    require("0x" + found.hex() == manifest["block_hash"], "the manifest names another block")
    pieces, state, last, ended, policies = {"genesis": b"", "block": b""}, {}, None, False, []
    for listed in manifest["chunks"]:
        file = fetch(source + (listed["url"] if "://" in source else "/%06d.zst" % listed["index"]))
        require("0x" + hashlib.sha256(file).hexdigest() == listed["sha256"], "a file has another hash")
        plain = decompress(file)
        if listed["kind"] in pieces:
            pieces[listed["kind"]] += plain
        elif listed["kind"] == "state":
            entries, before, end, ended = check_state(plain, header["header"]["state_root"])
            require(before == last, "a chunk does not begin where the one before ends")
            last = end
            state.update((entry["key"], entry["value"]) for entry in entries)
        elif listed["kind"] == "code":
            codes = {sha256(code) for code in decode(List(Bytes()), plain)}
            used = {value[:32] for key, value in state.items() if key[0] == 2}
            require(codes == used, "the codes are not those of the contracts")
        elif listed["kind"] == "policies":
            policies += [policy_hash(decode(POLICY, policy)) for policy in decode(List(Bytes()), plain)]
    require(ended, "the state goes on")
    require(all(a < b for a, b in zip(policies, policies[1:])), "policies do not ascend")
    require(tree.state_root(state) == header["header"]["state_root"], "the state has another root")
    producer = decode(GENESIS, pieces["genesis"])["parameters"]["producer"]
    require(header["header"]["producer"] == producer, "its producer is not that of the genesis")
    require(seal_holds(header["header"], header["seal"]), "its seal does not hold")
    return {"height": manifest["height"], "chunks": len(manifest["chunks"]), "entries": len(state)}


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1])))
