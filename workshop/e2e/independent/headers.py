"""Following a chain by its headers alone (docs/protocol.md, "Blocks")."""

import execution
import messages
import tree
from execution import require
from wire import decode


class Follower:
    """Takes signed headers in turn. Between two proofs of the parameters it trusts the producer of the last one."""

    def __init__(self, genesis):
        execution.check_genesis(genesis)
        self.header, self.network = execution.genesis_header(genesis), genesis["network"]

    def take(self, signed, proof=None):
        """Accept the next header. A Merkle proof of key 00 01 under the current header's root shows the parameters.
        Without one, producer and version must stay."""
        header, parent = signed["header"], self.header
        require("chain_id", header["chain_id"] == parent["chain_id"])
        require("height", header["height"] == parent["height"] + 1)
        require("parent", header["parent"] == messages.block_hash(parent))
        require("timestamp", parent["timestamp"] <= header["timestamp"] <= execution.MAX_TIME)
        producer, version = parent["producer"], parent["version"]
        if proof is not None:
            require("proof", proof["key"] == execution.PARAMETERS_KEY and proof["end"]["type"] == "leaf")
            require("proof", tree.proof_holds(parent["state_root"], proof))
            parameters = decode(messages.PARAMETERS, proof["value"])
            producer, version = parameters["producer"], execution.version_at(parameters, header["timestamp"])
        require("producer", header["producer"] == producer)
        require("version", header["version"] == version)
        require("seal", execution.seal_holds(header, signed["seal"]))
        self.header = header


def is_fault(first, second):
    """Whether two signed headers of one chain prove that their producer is at fault."""
    a, b = first["header"], second["header"]
    return (a != b and (a["chain_id"], a["height"], a["producer"]) == (b["chain_id"], b["height"], b["producer"])
            and all(execution.seal_holds(signed["header"], signed["seal"]) for signed in (first, second)))
