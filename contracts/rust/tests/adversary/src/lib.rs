//! The fuzzer's adversary: a contract whose functions follow instructions in its storage. The fuzzer renames its
//! functions to those that the contracts under test call, and writes the storage before each call of a sequence.
//!
//! The key of a function's entry is the function's number in one byte. The entry has the number of times that the
//! function acts (u8), and its results for calls in JSON and in the binary form: for each a flag (u8, 1 to revert), a
//! length (u16) and the bytes. Calls follow to the end: contract, coins (u64), function name and arguments, these two
//! after their lengths (u8 and u16). Integers are little-endian. The adversary ignores the outcome of its calls.

#![cfg_attr(target_arch = "wasm32", no_std)]
#![cfg(target_arch = "wasm32")]

use cairn::*;

#[link(wasm_import_module = "cairn")]
extern "C" {
    fn args_len() -> usize;
    fn args_read(out: *mut u8);
    fn return_data(data: *const u8, len: usize);
}

#[no_mangle]
pub extern "C" fn _reentrant() {}

/// Declares the functions.
macro_rules! functions {
    ($($name:ident $number:expr),*) => {
        $(#[no_mangle]
        pub extern "C" fn $name() {
            act($number)
        })*
    };
}

functions!(
    f00 0, f01 1, f02 2, f03 3, f04 4, f05 5, f06 6, f07 7,
    f08 8, f09 9, f10 10, f11 11, f12 12, f13 13, f14 14, f15 15
);

fn act(number: u8) {
    let key = [number];
    let script = match storage_read(&key) {
        Some(script) => script,
        None => return,
    };
    let (times, rest) = split(script, 1);
    let (fails, rest) = split(rest, 1);
    let (json, rest) = sized(rest);
    let (binary, rest) = sized(rest);
    if times[0] > 0 && !is_view() {
        let mut less = Buffer::new();
        less.push_array(&[times[0] - 1]);
        less.push(&script[1..]);
        storage_write(&key, less.bytes());
        make_calls(rest);
    }
    if fails[0] == 1 {
        revert("the adversary reverts");
    }
    let answer = if asked_in_binary() { binary } else { json };
    unsafe { return_data(answer.as_ptr(), answer.len()) }
}

fn make_calls(mut calls: &'static [u8]) {
    while !calls.is_empty() {
        let (account, rest) = split(calls, 32);
        let (coins, rest) = split(rest, 8);
        let (length, rest) = split(rest, 1);
        let (function, rest) = split(rest, length[0] as usize);
        let (args, rest) = sized(rest);
        calls = rest;
        let account = Account(account.try_into().ok().or_revert("32 bytes"));
        let coins = u64::from_le_bytes(coins.try_into().ok().or_revert("8 bytes"));
        let function = core::str::from_utf8(function).ok().or_revert("a name");
        let _ = call(&account, function, args, coins.min(balance(&this())), u64::MAX);
    }
}

/// Arguments in the binary form begin with a byte 1.
fn asked_in_binary() -> bool {
    let n = unsafe { args_len() };
    let mut args = [0; 4096];
    if n == 0 || n > args.len() {
        return false;
    }
    unsafe { args_read(args.as_mut_ptr()) };
    args[0] == 1
}

fn sized(bytes: &'static [u8]) -> (&'static [u8], &'static [u8]) {
    let (length, rest) = split(bytes, 2);
    split(rest, length[0] as usize | (length[1] as usize) << 8)
}

fn split(bytes: &'static [u8], at: usize) -> (&'static [u8], &'static [u8]) {
    require(at <= bytes.len(), "a script that ends too early");
    bytes.split_at(at)
}
