//! The protocol's structures from docs/protocol.md, with serde's derived implementations.

use crate::bytes::{Array, Bytes};
use serde::{Deserialize, Serialize};

macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
        pub struct $name { $(pub $field: $type),* }
    )*};
}

structs! {
    Transaction {
        sender: Array<32>, target: Array<32>, chain_id: u64, nonce: u64, gas_limit: u64, max_fee_per_gas: u64,
        max_priority_fee_per_gas: u64, value: u64, payer: Option<Array<32>>, valid_until: Option<u64>, payload: Payload,
    }
    SignedTransaction { version: u8, transaction: Transaction, witness: Witness, payer_witness: Option<Witness> }
    Step { target: Array<32>, value: u64, action: Payload }
    Policy { number: u64, owner: Rule, recovery: Option<Recovery> }
    Recovery { rule: Rule, delay: u64 }
    Rule { threshold: u8, signers: Vec<Signer> }
    Proof { signer: u8, evidence: Evidence }
    Parameters {
        version: u32, gas_limit: u64, block_bytes: u32, target_bps: u16, min_base_fee: u64, max_base_fee: u64,
        producer: Array<32>, fee_recipient: Array<32>, admin: Array<32>, notice: u64, upgrade: Option<Upgrade>,
    }
    Upgrade { version: u32, from: u64 }
    Header {
        version: u32, chain_id: u64, height: u64, parent: Array<32>, timestamp: u64, producer: Array<32>,
        transactions_root: Array<32>, receipts_root: Array<32>, state_root: Array<32>,
        gas_used: u64, gas_limit: u64, base_fee: u64,
    }
    SignedHeader { header: Header, seal: Seal }
    Block { header: Header, seal: Seal, transactions: Vec<SignedTransaction> }
    Receipt { status: u8, gas_used: u64, contract: Option<Array<32>>, output: Bytes, logs: Vec<Log> }
    InclusionProof { number: u32, n: u32, leaf: Array<32>, siblings: Vec<Array<32>> }
    Log { contract: Array<32>, name: String, topics: Vec<Array<32>>, data: Bytes }
    Access { key: Bytes, old: Bytes, new: Bytes }
    Genesis {
        chain_id: u64, network: String, time: u64, base_fee: u64, parameters: Parameters, allocations: Vec<Allocation>,
    }
    Allocation { account: Array<32>, balance: u64 }
}

macro_rules! enums {
    ($($name:ident { $($variant:ident { $($field:ident: $type:ty),* $(,)? })* })*) => {$(
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
        pub enum $name { $($variant { $($field: $type),* }),* }
    )*};
}

enums! {
    Payload {
        Transfer { memo: Option<Array<32>> }
        Deploy { name: String, code: Bytes, init_args: Bytes }
        Call { function: String, args: Bytes }
        Configure { parameters: Parameters }
        Batch { steps: Vec<Step> }
        SetPolicy { recovery: bool, policy: Option<Policy> }
        Instantiate { name: String, init_args: Bytes }
    }
    Witness {
        Key { signature: Array<64> }
        Text { signature: Array<64>, sighash: u8 }
        Policy { policy: Policy, proofs: Vec<Proof> }
    }
    Signer {
        Key { key: Array<32> }
        P256 { point: Array<64> }
        Passkey { point: Array<64>, verified: bool }
    }
    Evidence {
        Key { signature: Array<64> }
        Text { signature: Array<64>, sighash: u8 }
        P256 { signature: Array<64> }
        Passkey { authenticator: Array<37>, client: Bytes, signature: Array<64> }
    }
    Seal {
        Signature { signature: Array<64> }
    }
}
