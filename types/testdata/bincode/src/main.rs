//! Prints test vectors of Cairn's encoding, made by Rust's bincode 1.3 `serialize`, as JSON. Each value is read back
//! with bincode's `deserialize` and compared. The Go test next to this directory builds the same values by name.

mod bytes;
mod protocol;

use bytes::{to_hex, Array, Bytes};
use protocol::*;
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::fmt::Debug;

#[derive(Serialize)]
struct Vector {
    #[serde(rename = "type")]
    of: &'static str,
    name: &'static str,
    value: serde_json::Value,
    bincode: String,
}

fn vector<T: Serialize + DeserializeOwned + PartialEq + Debug>(of: &'static str, name: &'static str, value: T) -> Vector {
    let encoded = bincode::serialize(&value).expect("encodes");
    let decoded: T = bincode::deserialize(&encoded).expect("decodes");
    assert_eq!(decoded, value, "{of} {name}");
    Vector { of, name, value: serde_json::to_value(&value).expect("has a JSON form"), bincode: to_hex(&value) }
}

/// N ascending bytes from a start, so that every field and every byte of it differs from its neighbours.
fn from<const N: usize>(start: u8) -> Array<N> {
    let mut array = [0; N];
    for (i, byte) in array.iter_mut().enumerate() {
        *byte = start.wrapping_add(i as u8);
    }
    Array(array)
}

fn parameters() -> Parameters {
    Parameters {
        version: 2, gas_limit: 1_000_000_000, block_bytes: 0x01020304, target_bps: 0x1388, min_base_fee: 10,
        max_base_fee: 1_000_000, producer: from(0x10), fee_recipient: from(0x30), admin: from(0x50),
        notice: 0x5152535455565758, upgrade: None,
    }
}

fn upgrading() -> Parameters {
    Parameters { upgrade: Some(Upgrade { version: 0x61626364, from: 0x7172737475767778 }), ..parameters() }
}

fn transaction(payload: Payload) -> Transaction {
    Transaction {
        sender: from(0x40), target: from(0x60), chain_id: 0x0102030405060708, nonce: 0x1112131415161718,
        gas_limit: 21_000, max_fee_per_gas: 0x2122232425262728, max_priority_fee_per_gas: 3, value: 0x3132333435363738,
        payer: None, valid_until: None, payload,
    }
}

fn transfer() -> Payload {
    Payload::Transfer { memo: None }
}

fn with_memo() -> Payload {
    Payload::Transfer { memo: Some(from(0xd0)) }
}

fn deploy() -> Payload {
    Payload::Deploy {
        name: "tök€n 🪙".into(), code: Bytes(vec![0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]),
        init_args: Bytes(b"{\"a\":1}".to_vec()),
    }
}

fn call() -> Payload {
    Payload::Call { function: "transfer".into(), args: Bytes(vec![0xff, 0x00]) }
}

fn configure() -> Payload {
    Payload::Configure { parameters: upgrading() }
}

fn batch() -> Payload {
    Payload::Batch { steps: vec![
        Step { target: from(0x01), value: 1, action: with_memo() },
        Step { target: from(0x02), value: u64::MAX, action: call() },
    ] }
}

fn instantiate() -> Payload {
    Payload::Instantiate { name: "a".into(), init_args: Bytes(vec![1]) }
}

fn policy() -> Policy {
    Policy {
        number: 0x0807060504030201,
        owner: Rule { threshold: 2, signers: vec![
            Signer::Key { key: from(0x11) },
            Signer::P256 { point: from(0x21) },
            Signer::Passkey { point: from(0x31), verified: true },
        ] },
        recovery: Some(Recovery { rule: Rule { threshold: 1, signers: vec![Signer::Key { key: from(0x12) }] }, delay: 9 }),
    }
}

fn key() -> Witness {
    Witness::Key { signature: from(0xa0) }
}

fn proofs() -> Witness {
    Witness::Policy { policy: policy(), proofs: vec![
        Proof { signer: 0, evidence: Evidence::Key { signature: from(0xa1) } },
        Proof { signer: 1, evidence: Evidence::Text { signature: from(0xa2), sighash: 1 } },
        Proof { signer: 2, evidence: Evidence::P256 { signature: from(0xa3) } },
        Proof { signer: 255, evidence: Evidence::Passkey {
            authenticator: from(0xb0), client: Bytes(b"\",\"origin\":\"".to_vec()), signature: from(0xa4),
        } },
    ] }
}

fn signed(payload: Payload) -> SignedTransaction {
    SignedTransaction { version: 2, transaction: transaction(payload), witness: key(), payer_witness: None }
}

fn sponsored() -> SignedTransaction {
    SignedTransaction {
        transaction: Transaction { payer: Some(from(0x90)), valid_until: Some(0x4142434445464748), ..transaction(batch()) },
        witness: proofs(), payer_witness: Some(Witness::Text { signature: from(0xa5), sighash: 0 }), ..signed(batch())
    }
}

fn header() -> Header {
    Header {
        version: 1, chain_id: 2, height: 3, parent: from(0x01), timestamp: 4, producer: from(0x21),
        transactions_root: from(0x41), receipts_root: from(0x61), state_root: from(0x81), gas_used: 5, gas_limit: 6,
        base_fee: u64::MAX - 1,
    }
}

fn seal() -> Seal {
    Seal::Signature { signature: from(0xc1) }
}

fn receipt() -> Receipt {
    Receipt {
        status: 1, gas_used: 0x4142434445464748, contract: Some(from(0x90)), output: Bytes(vec![1, 2, 3]),
        logs: vec![
            Log { contract: from(0xb0), name: "Transfer".into(), topics: vec![from(1), from(2), from(3)], data: Bytes(vec![9]) },
            Log { contract: from(0xc0), name: "".into(), topics: vec![], data: Bytes(vec![]) },
        ],
    }
}

fn genesis() -> Genesis {
    Genesis {
        chain_id: 7, network: "regtest".into(), time: 1_700_000_000, base_fee: 10, parameters: parameters(),
        allocations: vec![
            Allocation { account: from(0x00), balance: 1 },
            Allocation { account: from(0xe0), balance: u64::MAX - 1 },
        ],
    }
}

fn accesses() -> Vec<Access> {
    vec![
        Access { key: Bytes(vec![0, 0]), old: Bytes(vec![1; 16]), new: Bytes(vec![2; 16]) },
        Access { key: Bytes(vec![1, 2, 3]), old: Bytes(vec![]), new: Bytes(vec![4]) },
        Access { key: Bytes(vec![3]), old: Bytes(vec![5, 6]), new: Bytes(vec![]) },
    ]
}

fn main() {
    let empty_deploy = Payload::Deploy { name: "".into(), code: Bytes(vec![]), init_args: Bytes(vec![]) };
    let empty_receipt = Receipt { status: 0, contract: None, output: Bytes(vec![]), logs: vec![], ..receipt() };
    let set_policy = || Payload::SetPolicy { recovery: true, policy: Some(policy()) };
    let own_key = Payload::SetPolicy { recovery: false, policy: None };
    let inclusion = InclusionProof { number: 1, n: 3, leaf: from(0x40), siblings: vec![from(0x50), from(0x60)] };
    let vectors = vec![
        vector("Parameters", "parameters", parameters()),
        vector("Parameters", "parameters with an upgrade", upgrading()),
        vector("Policy", "policy", policy()),
        vector("Witness", "witness of a policy", proofs()),
        vector("InclusionProof", "inclusion proof", inclusion),
        vector("Transaction", "transfer", transaction(transfer())),
        vector("Transaction", "transfer with a memo", transaction(with_memo())),
        vector("Transaction", "deploy", transaction(deploy())),
        vector("Transaction", "empty deploy", transaction(empty_deploy)),
        vector("Transaction", "call", transaction(call())),
        vector("Transaction", "configure", transaction(configure())),
        vector("Transaction", "batch", transaction(batch())),
        vector("Transaction", "policy set", transaction(set_policy())),
        vector("Transaction", "own key set", transaction(own_key)),
        vector("Transaction", "instantiate", transaction(instantiate())),
        vector("SignedTransaction", "signed transfer", signed(transfer())),
        vector("SignedTransaction", "sponsored batch", sponsored()),
        vector("Header", "header", header()),
        vector("SignedHeader", "signed header", SignedHeader { header: header(), seal: seal() }),
        vector("Block", "empty block", Block { header: header(), seal: seal(), transactions: vec![] }),
        vector("Block", "block", Block {
            header: header(), seal: seal(),
            transactions: vec![
                signed(transfer()), signed(deploy()), signed(call()), signed(configure()), sponsored(), signed(set_policy()),
                signed(instantiate()),
            ],
        }),
        vector("Receipt", "receipt", receipt()),
        vector("Receipt", "empty receipt", empty_receipt),
        vector("Genesis", "genesis", genesis()),
        vector("Genesis", "genesis without allocations", Genesis { allocations: vec![], ..genesis() }),
        vector("Vec<Access>", "accesses", accesses()),
        vector("Vec<Access>", "no accesses", Vec::<Access>::new()),
    ];
    println!("{}", serde_json::to_string_pretty(&vectors).expect("vectors have a JSON form"));
}
