//! A contract that receives a token in the check of NEP-11 (kit/nep11). It logs its notifications, and refuses a token
//! with the data "no".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

contract! {
    events {
        /// A notification and its sender.
        Received { token: Account, from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes> }
    }

    write fn onNEP11Payment(from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes>) {
        require(data != Some(Bytes(b"no")), "not wanted");
        Received { token: caller(), from, amount, tokenId, data }.emit();
    }
}
