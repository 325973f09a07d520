//! The protocol's structures as docs/protocol.md writes them, with serde's derived implementations.

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
        version: u8, chain_id: u64, sender: Array<32>, nonce: u64, gas_limit: u64,
        max_fee_per_gas: u64, max_priority_fee_per_gas: u64, payload: Payload,
    }
    SignedTransaction { transaction: Transaction, signature: Array<64> }
    Parameters {
        version: u32, gas_limit: u64, target_bps: u16, min_base_fee: u64, max_base_fee: u64,
        producer: Array<32>, fee_recipient: Array<32>,
    }
    Header {
        version: u32, chain_id: u64, height: u64, parent: Array<32>, timestamp: u64, producer: Array<32>,
        transactions_root: Array<32>, receipts_root: Array<32>, state_root: Array<32>, writes_digest: Array<32>,
        gas_used: u64, gas_limit: u64, base_fee: u64,
    }
    SignedHeader { header: Header, signature: Array<64> }
    Block { header: Header, signature: Array<64>, transactions: Vec<SignedTransaction> }
    Receipt {
        transaction: Array<32>, status: u8, gas_used: u64, contract: Option<Array<32>>, output: Bytes, logs: Vec<Log>,
    }
    Log { contract: Array<32>, name: String, topics: Vec<Array<32>>, data: Bytes }
    Access { key: Bytes, old: Bytes, new: Bytes }
    Genesis {
        chain_id: u64, network: String, time: u64, base_fee: u64, parameters: Parameters, allocations: Vec<Allocation>,
    }
    Allocation { account: Array<32>, balance: u64 }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Payload {
    Transfer { to: Array<32>, value: u64 },
    Deploy { value: u64, name: String, code: Bytes, init_args: Bytes },
    Call { value: u64, contract: Array<32>, function: String, args: Bytes },
    Configure { parameters: Parameters },
}
