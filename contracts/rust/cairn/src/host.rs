//! The functions by which a contract uses its chain.

use crate::{heap, require, sys, Account, Buffer, Hash};

// The protocol's limits, in bytes.
const MAX_KEY: usize = 256;
const MAX_VALUE: usize = 16 << 10; // of storage, and of an event's data
const MAX_NAME: usize = 64;
const MAX_DEBUG: usize = 1 << 10;
const MAX_MESSAGE: usize = 1 << 10; // of account_verify
const MAX_WITNESS: usize = 8 << 10;

/// Reverts with a message if something is longer than the protocol allows. Without it the host would just end the call.
#[inline(always)]
fn limit(what: &str, len: usize, most: usize) {
    if len > most {
        too_long(what, len, most)
    }
}

/// Ends the call because a key does not fit its buffer.
#[cold]
#[inline(never)]
pub(crate) fn key_too_long(len: usize) -> ! {
    too_long("storage key", len, MAX_KEY)
}

#[cold]
#[inline(never)]
fn too_long(what: &str, len: usize, most: usize) -> ! {
    let mut reason = Buffer::new();
    reason.push(what.as_bytes());
    reason.push(b" of ");
    crate::Value::write(&(len as u32), &mut reason);
    reason.push(b" bytes: at most ");
    crate::Value::write(&(most as u32), &mut reason);
    revert_bytes(reason.bytes())
}

pub(crate) fn args() -> &'static [u8] {
    let n = unsafe { sys::args_len() };
    heap::fill(n, |out| unsafe {
        sys::args_read(out);
        n
    })
}

pub(crate) fn return_data(data: &[u8]) {
    unsafe { sys::return_data(data.as_ptr(), data.len()) }
}

pub(crate) fn revert_bytes(reason: &[u8]) -> ! {
    unsafe { sys::revert(reason.as_ptr(), reason.len()) }
    unreachable() // the host function does not return
}

#[cfg(target_arch = "wasm32")]
fn unreachable() -> ! {
    core::arch::wasm32::unreachable()
}

#[cfg(not(target_arch = "wasm32"))]
fn unreachable() -> ! {
    unreachable!("revert came back")
}

/// The stored bytes under a key of at most 256 bytes.
pub fn storage_read(key: &[u8]) -> Option<&'static [u8]> {
    limit("storage key", key.len(), MAX_KEY);
    read_at(key)
}

/// Like [`storage_read`], for a key that was built in a key buffer, and so is short enough.
pub(crate) fn read_at(key: &[u8]) -> Option<&'static [u8]> {
    let mut found = false;
    let value = heap::fill(MAX_VALUE, |out| {
        let n = unsafe { sys::storage_read(key.as_ptr(), key.len(), out, MAX_VALUE) };
        found = n >= 0;
        if found { n as usize } else { 0 }
    });
    if found { Some(value) } else { None }
}

/// Sets the bytes under a key, at most 16 KiB. No bytes at all remove the entry.
pub fn storage_write(key: &[u8], value: &[u8]) {
    limit("storage key", key.len(), MAX_KEY);
    write_at(key, value)
}

/// Like [`storage_write`], for a key that was built in a key buffer.
pub(crate) fn write_at(key: &[u8], value: &[u8]) {
    limit("storage value", value.len(), MAX_VALUE);
    unsafe { sys::storage_write(key.as_ptr(), key.len(), value.as_ptr(), value.len()) }
}

/// Removes the entry of a key, if there is one.
pub fn storage_delete(key: &[u8]) {
    limit("storage key", key.len(), MAX_KEY);
    unsafe { sys::storage_delete(key.as_ptr(), key.len()) }
}

/// The account that called this function: a user's or a contract's.
pub fn caller() -> Account {
    Account(heap::fixed(|out| unsafe { sys::caller(out) }))
}

/// The account that signed the transaction. Check [`caller`] for permissions: anyone can be tricked into a call.
pub fn sender() -> Account {
    Account(heap::fixed(|out| unsafe { sys::sender(out) }))
}

/// This contract's own account.
pub fn this() -> Account {
    Account(heap::fixed(|out| unsafe { sys::this(out) }))
}

/// The coins that came with the call, in smallest units. Functions other than `payable` ones refuse any.
pub fn value() -> u64 {
    unsafe { sys::value() }
}

/// The height of the block.
pub fn block_height() -> u64 {
    unsafe { sys::block_height() }
}

/// The time of the block, in Unix seconds. It never goes back, but may stand still.
pub fn block_time() -> u64 {
    unsafe { sys::block_time() }
}

/// The chain id.
pub fn chain_id() -> u64 {
    unsafe { sys::chain_id() }
}

/// The gas that is left.
pub fn gas_left() -> u64 {
    unsafe { sys::gas_left() }
}

/// Whether this is a view. In a view, any attempt to change something ends the call.
pub fn is_view() -> bool {
    unsafe { sys::is_view() != 0 }
}

/// The coins of an account, in smallest units.
pub fn balance(account: &Account) -> u64 {
    unsafe { sys::balance(account.0.as_ptr()) }
}

/// Pays coins of this contract to an account, and reverts if it has too few. It runs no code of the account.
///
/// A transaction has room for 1,024 payments and events together, and reverts with `too many logs` beyond. So never pay
/// everyone on a list that others can make longer: let each claim its own, or pay a fixed number at a time.
pub fn pay(to: &Account, amount: u64) {
    require(try_pay(to, amount), "the contract has too few coins")
}

/// Pays coins of this contract to an account; false if it has too few.
#[must_use]
pub fn try_pay(to: &Account, amount: u64) -> bool {
    unsafe { sys::transfer(to.0.as_ptr(), amount) == 0 }
}

/// The hash of an account's code; none if the account is no contract.
pub fn code_hash(account: &Account) -> Option<Hash> {
    let mut found = 0;
    let hash = heap::fixed(|out| found = unsafe { sys::code_hash(account.0.as_ptr(), out) });
    if found == 1 { Some(Hash(hash)) } else { None }
}

/// Logs an encoded event: a name of at most 64 bytes, at most 3 topics, at most 16 KiB of data.
pub fn emit(name: &str, topics: &[[u8; 32]], data: &[u8]) {
    limit("event name", name.len(), MAX_NAME);
    emit_named(name, topics, data)
}

/// Like [`emit`], for a declared event, whose name the compiler has checked.
pub(crate) fn emit_named(name: &str, topics: &[[u8; 32]], data: &[u8]) {
    limit("event", data.len(), MAX_VALUE);
    unsafe { sys::emit(name.as_ptr(), name.len(), topics.as_ptr().cast(), topics.len(), data.as_ptr(), data.len()) }
}

/// SHA-256.
pub fn sha256(data: &[u8]) -> Hash {
    Hash(heap::fixed(|out| unsafe { sys::sha256(data.as_ptr(), data.len(), out) }))
}

/// Keccak-256, with the original padding instead of SHA-3's.
pub fn keccak256(data: &[u8]) -> Hash {
    Hash(heap::fixed(|out| unsafe { sys::keccak256(data.as_ptr(), data.len(), out) }))
}

/// BLAKE3.
pub fn blake3(data: &[u8]) -> Hash {
    Hash(heap::fixed(|out| unsafe { sys::blake3(data.as_ptr(), data.len(), out) }))
}

/// Whether a BIP-340 signature of a message is that of a key. To check that an account agreed, use [`account_verify`]:
/// not every account is a key, and the owner of a key may have changed who signs for the account.
pub fn schnorr_verify(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    unsafe { sys::schnorr_verify(key.as_ptr(), message.as_ptr(), message.len(), signature.as_ptr()) == 1 }
}

/// The public key (x ‖ y) whose secp256k1 ECDSA signature (r ‖ s ‖ v, v 0 or 1) of a hash this is.
pub fn ecdsa_recover(hash: &Hash, signature: &[u8; 65]) -> Option<&'static [u8; 64]> {
    let mut found = 0;
    let key = heap::fixed(|out| found = unsafe { sys::ecdsa_recover(hash.0.as_ptr(), signature.as_ptr(), out) });
    if found == 1 { Some(key) } else { None }
}

/// Whether an ECDSA signature (r ‖ s, any s) over P-256 of a digest is by a point (x ‖ y). To check that an account
/// agreed, use [`account_verify`].
pub fn p256_verify(point: &[u8; 64], digest: &Hash, signature: &[u8; 64]) -> bool {
    unsafe { sys::p256_verify(point.as_ptr(), digest.0.as_ptr(), signature.as_ptr()) == 1 }
}

/// Whether an account signed a message to this contract: a permit, an order, a login. It works for every kind of
/// account, and follows a change of its signers. The message has at most 1 KiB, the encoded witness 8 KiB.
///
/// In this contract a witness stays valid for ever. So put a purpose, a one-time number and a deadline into the
/// message, and store the numbers that were used. The example `coin` has permits of this kind.
pub fn account_verify(account: &Account, message: &[u8], witness: &[u8]) -> bool {
    limit("message", message.len(), MAX_MESSAGE);
    limit("witness", witness.len(), MAX_WITNESS);
    unsafe {
        let account = account.0.as_ptr();
        sys::account_verify(account, message.as_ptr(), message.len(), witness.as_ptr(), witness.len()) == 1
    }
}

/// Gives this contract the code of another one, the template, from its next call on, even in this transaction. The
/// running call ends with the old code, storage stays as it is, and `init` does not run: the new code must be able to
/// read what the old one stored. Reverts if the template is no contract.
///
/// Whoever may do this controls everything that the contract does. A code that never calls this function cannot change,
/// and `cairn contract show` says which. Give users a delay in which they can leave.
pub fn replace_code(template: &Account) {
    require(unsafe { sys::replace_code(template.0.as_ptr()) } == 0, "the template is no contract")
}

/// A message of at most 1 KiB for traces of the call. It has no effect on the chain.
pub fn debug(message: &str) {
    limit("debug message", message.len(), MAX_DEBUG);
    unsafe { sys::debug(message.as_ptr(), message.len()) }
}
