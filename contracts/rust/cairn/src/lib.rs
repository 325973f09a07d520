//! Contracts for Cairn.
//!
//! A contract is a crate of type `cdylib` with one [`contract!`] in it:
//!
//! ```
//! use cairn::*;
//!
//! static COUNT: Cell<u64> = Cell::new("count");
//!
//! contract! {
//!     events {
//!         Added { by: Account, count: u64 }
//!     }
//!
//!     /// The sum of all additions.
//!     read fn count() -> u64 {
//!         COUNT.get()
//!     }
//!
//!     write fn add(amount: u64) -> u64 {
//!         let count = COUNT.get().checked_add(amount).or_revert("the count overflows");
//!         COUNT.set(&count);
//!         Added { by: caller(), count }.emit();
//!         count
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Each call runs in a fresh instance: only storage outlives it. If a function reverts or panics, all its changes are
//! undone.
//!
//! The functions, their parameters and the events make the ABI, a custom section `cairn_abi` of the module, which tools
//! read. Names are taken from the source: write `balanceOf` if others are to call `balanceOf`.
//!
//! Natively the host functions run on a chain in memory ([`testing`]): `cargo test` needs no node.

#![cfg_attr(target_arch = "wasm32", no_std)]
#![warn(missing_docs)]

#[doc(hidden)]
pub mod abi;
mod binary;
mod call;
#[doc(hidden)]
pub mod contract;
mod heap;
mod host;
mod json;
pub mod nep20;
mod stored;
mod value;

#[cfg(target_arch = "wasm32")]
mod sys;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
#[cfg(not(target_arch = "wasm32"))]
use testing::sys;

pub use binary::Reader;
pub use call::{call, call_view, create, instance_of, Creation, Failure, OrFail, Request};
pub use heap::{list, Buffer};
pub use host::*;
pub use json::Parser;
#[doc(hidden)]
pub use stored::Described;
pub use stored::{Cell, List, Map, Stored};
#[doc(hidden)]
pub use value::type_of;
pub use value::{Account, Bytes, FixedBytes, Hash, Str, Value};

/// Ends the call and undoes it, with a reason.
pub fn revert(reason: &str) -> ! {
    host::revert_bytes(reason.as_bytes())
}

/// Reverts with a reason unless a condition holds.
pub fn require(condition: bool, reason: &str) {
    if !condition {
        revert(reason)
    }
}

/// A type that holds one value or none.
pub trait OrRevert<T> {
    /// The value; if there is none, the call reverts with the reason.
    fn or_revert(self, reason: &str) -> T;
}

impl<T> OrRevert<T> for Option<T> {
    fn or_revert(self, reason: &str) -> T {
        match self {
            Some(value) => value,
            None => revert(reason),
        }
    }
}

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    revert("the contract panicked")
}
