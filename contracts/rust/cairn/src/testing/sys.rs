//! The host functions, on the chain in memory. Their signatures equal those of a module's imports.

use std::panic::resume_unwind;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use super::{
    enter, forget_stored, frame, keccak, log, log_payment, p256, run_frame, secp256k1, sha256, trap, witness, world, Ended, Event,
    Frame, CHAIN_ID, MAX_DEPTH,
};
use crate::heap::fixed;
use crate::Account;

/// The number of digests of a call that a search learns.
const MAX_DIGESTS: usize = 64;

const MAX_OUTPUT: usize = 64 << 10; // return and revert data, arguments
const MAX_KEY: usize = 256;
const MAX_VALUE: usize = 16 << 10; // of storage; of an event's data
const MAX_NAME: usize = 64;
const MAX_MESSAGE: usize = 1 << 10;
const MAX_WITNESS: usize = 8 << 10;

unsafe fn bytes(p: *const u8, n: usize, max: usize) -> Vec<u8> {
    if n > max {
        trap("a range is longer than its limit")
    }
    from_raw_parts(p, n).to_vec()
}

unsafe fn name(p: *const u8, n: usize) -> String {
    match String::from_utf8(bytes(p, n, MAX_NAME)) {
        Ok(name) => name,
        Err(_) => trap("a name is not UTF-8"),
    }
}

unsafe fn account(p: *const u8) -> Account {
    Account(fixed(|out| give(out, from_raw_parts(p, 32))))
}

unsafe fn give(out: *mut u8, data: &[u8]) {
    from_raw_parts_mut(out, data.len()).copy_from_slice(data)
}

fn no_view() {
    if frame(|f| f.view) {
        trap("a view changes nothing")
    }
}

pub unsafe fn args_len() -> usize {
    frame(|f| f.args.len())
}

pub unsafe fn args_read(out: *mut u8) {
    give(out, &frame(|f| f.args.clone()))
}

pub unsafe fn return_data(data: *const u8, len: usize) {
    let data = bytes(data, len, MAX_OUTPUT);
    frame(|f| f.output = data)
}

pub unsafe fn revert(data: *const u8, len: usize) {
    resume_unwind(Box::new(Ended::Reverted(bytes(data, len, MAX_OUTPUT))))
}

unsafe fn storage_key(key: *const u8, len: usize) -> ([u8; 32], Vec<u8>) {
    (frame(|f| *f.id.0), bytes(key, len, MAX_KEY))
}

pub unsafe fn storage_read(key: *const u8, key_len: usize, out: *mut u8, cap: usize) -> i32 {
    let key = storage_key(key, key_len);
    match world(|w| w.state.storage.get(&key).cloned()) {
        Some(value) => {
            give(out, &value[..value.len().min(cap)]);
            value.len() as i32
        }
        None => -1,
    }
}

pub unsafe fn storage_write(key: *const u8, key_len: usize, value: *const u8, value_len: usize) {
    if value_len == 0 {
        return storage_delete(key, key_len);
    }
    let (key, value) = (storage_key(key, key_len), bytes(value, value_len, MAX_VALUE));
    no_view();
    world(|w| w.state.set_storage(key, Some(value)));
}

pub unsafe fn storage_delete(key: *const u8, key_len: usize) {
    let key = storage_key(key, key_len);
    no_view();
    world(|w| w.state.set_storage(key, None));
}

pub unsafe fn caller(out: *mut u8) {
    give(out, frame(|f| f.caller.0))
}

pub unsafe fn sender(out: *mut u8) {
    give(out, world(|w| w.sender.0))
}

pub unsafe fn this(out: *mut u8) {
    give(out, frame(|f| f.id.0))
}

pub unsafe fn value() -> u64 {
    frame(|f| f.value)
}

pub unsafe fn block_height() -> u64 {
    world(|w| w.height)
}

pub unsafe fn block_time() -> u64 {
    world(|w| w.time)
}

pub unsafe fn chain_id() -> u64 {
    CHAIN_ID
}

pub unsafe fn gas_left() -> u64 {
    1_000_000_000
}

pub unsafe fn is_view() -> i32 {
    frame(|f| f.view as i32)
}

pub unsafe fn balance(of: *const u8) -> u64 {
    let of = account(of);
    world(|w| w.coins(&of))
}

pub unsafe fn transfer(to: *const u8, amount: u64) -> i32 {
    let (from, to) = (frame(|f| f.id), account(to));
    no_view();
    if !world(|w| w.pay(from, to, amount)) {
        return 5;
    }
    log_payment(amount);
    0
}

pub unsafe fn code_hash(of: *const u8, out: *mut u8) -> i32 {
    let of = account(of);
    match world(|w| w.state.contracts.get(of.0).copied()) {
        Some(contract) => {
            give(out, &sha256::sum(contract.abi));
            1
        }
        None => 0,
    }
}

pub unsafe fn call(
    contract: *const u8, function: *const u8, function_len: usize, args: *const u8, args_len: usize, value: u64, gas: u64,
) -> i32 {
    if value > 0 {
        no_view()
    }
    nested(contract, name(function, function_len), bytes(args, args_len, MAX_OUTPUT), value, gas, frame(|f| f.view))
}

pub unsafe fn call_view(
    contract: *const u8, function: *const u8, function_len: usize, args: *const u8, args_len: usize, gas: u64,
) -> i32 {
    nested(contract, name(function, function_len), bytes(args, args_len, MAX_OUTPUT), 0, gas, true)
}

pub(super) unsafe fn nested(contract: *const u8, function: String, args: Vec<u8>, value: u64, _gas: u64, view: bool) -> i32 {
    let (id, caller) = (account(contract), frame(|f| f.id));
    let (code, output) =
        enter(id, &function, Frame { id, function: function.clone(), caller, value, args, view, output: vec![], result: vec![] });
    frame(|f| f.result = output);
    code
}

pub unsafe fn result_len() -> usize {
    frame(|f| f.result.len())
}

pub unsafe fn result_read(out: *mut u8) {
    give(out, &frame(|f| f.result.clone()))
}

pub unsafe fn emit(
    name: *const u8, name_len: usize, topics: *const u8, topic_count: usize, data: *const u8, data_len: usize,
) {
    no_view();
    if topic_count > 3 {
        trap("an event has more than 3 topics")
    }
    let topics = bytes(topics, 32 * topic_count, 96).chunks(32).map(|t| t.try_into().expect("32 bytes")).collect();
    let data = String::from_utf8(bytes(data, data_len, MAX_VALUE)).expect("data of events is text in tests");
    let event = Event { contract: frame(|f| f.id), name: self::name(name, name_len), topics, data };
    log(event.name.len() + 32 * event.topics.len() + event.data.len());
    world(|w| w.state.events.push(event))
}

pub unsafe fn sha256(data: *const u8, len: usize, out: *mut u8) {
    give_digest(out, sha256::sum(from_raw_parts(data, len)))
}

/// Returns a digest to the contract, and lets a search learn it.
unsafe fn give_digest(out: *mut u8, digest: [u8; 32]) {
    world(|w| {
        if w.digests.len() < MAX_DIGESTS {
            w.digests.push(digest)
        }
    });
    give(out, &digest)
}

pub unsafe fn keccak256(data: *const u8, len: usize, out: *mut u8) {
    give_digest(out, keccak::sum(from_raw_parts(data, len)))
}

pub unsafe fn blake3(data: *const u8, len: usize, out: *mut u8) {
    give_digest(out, super::blake3::sum(from_raw_parts(data, len)))
}

pub unsafe fn schnorr_verify(key: *const u8, message: *const u8, len: usize, signature: *const u8) -> i32 {
    let (key, message) = (from_raw_parts(key, 32), from_raw_parts(message, len));
    secp256k1::schnorr_verify(key, message, from_raw_parts(signature, 64)) as i32
}

pub unsafe fn ecdsa_recover(hash: *const u8, signature: *const u8, out: *mut u8) -> i32 {
    match secp256k1::ecdsa_recover(from_raw_parts(hash, 32), from_raw_parts(signature, 65)) {
        Some(key) => {
            give(out, &key);
            1
        }
        None => 0,
    }
}

pub unsafe fn p256_verify(point: *const u8, digest: *const u8, signature: *const u8) -> i32 {
    let (point, digest) = (from_raw_parts(point, 64), from_raw_parts(digest, 32));
    p256::verify(point, digest, from_raw_parts(signature, 64), false) as i32
}

pub unsafe fn account_verify(
    of: *const u8, message: *const u8, len: usize, witness: *const u8, witness_len: usize,
) -> i32 {
    let (of, message, witness) = (account(of), bytes(message, len, MAX_MESSAGE), bytes(witness, witness_len, MAX_WITNESS));
    let contract = world(|w| w.frames.last().map_or(Account::ZERO, |f| f.id)); // the zero account outside of contracts
    witness::holds(of.0, contract.0, &message, &witness) as i32
}

pub unsafe fn create(
    template: *const u8, salt: *const u8, name: *const u8, name_len: usize, args: *const u8, args_len: usize, value: u64,
    gas: u64, out: *mut u8,
) -> i32 {
    let (template, salt) = (account(template), account(salt));
    let _ = (self::name(name, name_len), gas);
    let args = bytes(args, args_len, MAX_OUTPUT);
    no_view();
    frame(|f| f.result = vec![]);
    let caller = frame(|f| f.id);
    let (depth, code) = world(|w| (w.frames.len(), w.state.contracts.get(template.0).copied()));
    let code = match code {
        _ if depth == MAX_DEPTH => return 7,
        Some(code) => code,
        None => return 3,
    };
    let init = code.function("init");
    if init.is_none() && !args.is_empty() {
        return 4;
    }
    let parts = [&caller.0[..], &sha256::sum(code.abi), salt.0].concat();
    let id = Account(fixed(|to| give(to, &sha256::tagged("cairn/instance/v2", &parts))));
    if world(|w| w.state.contracts.contains_key(id.0)) {
        return 8;
    }
    if world(|w| w.coins(&caller)) < value {
        return 5;
    }
    let before = world(|w| w.state.mark());
    world(|w| w.state.set_contract(*id.0, code));
    let code = match init {
        None => {
            world(|w| w.pay(caller, id, value));
            log_payment(value);
            0
        }
        Some(init) => {
            let frame_of = Frame {
                id, function: "init".into(), caller, value, args, view: false, output: vec![], result: vec![],
            };
            let (code, output) = run_frame(frame_of, init);
            frame(|f| f.result = output);
            code
        }
    };
    if code == 0 {
        give(out, id.0)
    } else {
        world(|w| w.state.undo(before))
    }
    code
}

pub unsafe fn replace_code(template: *const u8) -> i32 {
    let template = account(template);
    no_view();
    let id = frame(|f| f.id);
    let code = match world(|w| w.state.contracts.get(template.0).copied()) {
        Some(code) => code,
        None => return 3,
    };
    world(|w| {
        w.state.set_contract(*id.0, code);
        forget_stored(w, id.0)
    });
    log("CodeReplaced".len() + 2 * 32);
    0
}

pub unsafe fn debug(message: *const u8, len: usize) {
    println!("debug: {}", String::from_utf8_lossy(&bytes(message, len, 1024)))
}
