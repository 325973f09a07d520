//! A contract that the check of NEP-11 (kit/nep11) sends a token to: it says what it is told, and refuses what comes with
//! the data "no".

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

contract! {
    events {
        /// What it was told, and by whom.
        Received { token: Account, from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes> }
    }

    write fn onNEP11Payment(from: Account, amount: u64, tokenId: Bytes, data: Option<Bytes>) {
        require(data != Some(Bytes(b"no")), "not wanted");
        Received { token: caller(), from, amount, tokenId, data }.emit();
    }
}
