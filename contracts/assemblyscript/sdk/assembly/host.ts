// The host functions of module `cairn`, as listed in docs/protocol.md ("Host functions"). Pointers and lengths refer to
// the contract's memory; `out` is 32 bytes unless stated otherwise.

// @ts-ignore: decorator
@external("cairn", "args_len") export declare function args_len(): u32;
// @ts-ignore: decorator
@external("cairn", "args_read") export declare function args_read(out: usize): void;
// @ts-ignore: decorator
@external("cairn", "return_data") export declare function return_data(data: usize, length: u32): void;
// @ts-ignore: decorator
@external("cairn", "revert") export declare function revert(data: usize, length: u32): void;
// @ts-ignore: decorator
@external("cairn", "storage_read") export declare function storage_read(key: usize, keyLength: u32, out: usize, capacity: u32): i32;
// @ts-ignore: decorator
@external("cairn", "storage_write") export declare function storage_write(key: usize, keyLength: u32, value: usize, length: u32): void;
// @ts-ignore: decorator
@external("cairn", "storage_delete") export declare function storage_delete(key: usize, keyLength: u32): void;
// @ts-ignore: decorator
@external("cairn", "caller") export declare function caller(out: usize): void;
// @ts-ignore: decorator
@external("cairn", "sender") export declare function sender(out: usize): void;
// @ts-ignore: decorator
@external("cairn", "self") export declare function self(out: usize): void;
// @ts-ignore: decorator
@external("cairn", "value") export declare function value(): u64;
// @ts-ignore: decorator
@external("cairn", "block_height") export declare function block_height(): u64;
// @ts-ignore: decorator
@external("cairn", "block_time") export declare function block_time(): u64;
// @ts-ignore: decorator
@external("cairn", "chain_id") export declare function chain_id(): u64;
// @ts-ignore: decorator
@external("cairn", "gas_left") export declare function gas_left(): u64;
// @ts-ignore: decorator
@external("cairn", "is_view") export declare function is_view(): u32;
// @ts-ignore: decorator
@external("cairn", "balance") export declare function balance(account: usize): u64;
// @ts-ignore: decorator
@external("cairn", "transfer") export declare function transfer(to: usize, amount: u64): u32;
// @ts-ignore: decorator
@external("cairn", "code_hash") export declare function code_hash(account: usize, out: usize): u32;
// @ts-ignore: decorator
@external("cairn", "call") export declare function call(contract: usize, name: usize, nameLength: u32, args: usize, argsLength: u32, value: u64, gas: u64): u32;
// @ts-ignore: decorator
@external("cairn", "call_view") export declare function call_view(contract: usize, name: usize, nameLength: u32, args: usize, argsLength: u32, gas: u64): u32;
// @ts-ignore: decorator
@external("cairn", "result_len") export declare function result_len(): u32;
// @ts-ignore: decorator
@external("cairn", "result_read") export declare function result_read(out: usize): void;
// @ts-ignore: decorator
@external("cairn", "emit") export declare function emit(name: usize, nameLength: u32, topics: usize, count: u32, data: usize, length: u32): void;
// @ts-ignore: decorator
@external("cairn", "sha256") export declare function sha256(data: usize, length: u32, out: usize): void;
// @ts-ignore: decorator
@external("cairn", "keccak256") export declare function keccak256(data: usize, length: u32, out: usize): void;
// @ts-ignore: decorator
@external("cairn", "blake3") export declare function blake3(data: usize, length: u32, out: usize): void;
// @ts-ignore: decorator
@external("cairn", "schnorr_verify") export declare function schnorr_verify(key: usize, message: usize, length: u32, signature: usize): u32;
// @ts-ignore: decorator
@external("cairn", "ecdsa_recover") export declare function ecdsa_recover(hash: usize, signature: usize, out: usize): u32;
// @ts-ignore: decorator
@external("cairn", "p256_verify") export declare function p256_verify(point: usize, digest: usize, signature: usize): u32;
// @ts-ignore: decorator
@external("cairn", "account_verify") export declare function account_verify(account: usize, message: usize, length: u32, witness: usize, witnessLength: u32): u32;
// @ts-ignore: decorator
@external("cairn", "create") export declare function create(template: usize, salt: usize, name: usize, nameLength: u32, args: usize, argsLength: u32, value: u64, gas: u64, out: usize): u32;
// @ts-ignore: decorator
@external("cairn", "replace_code") export declare function replace_code(template: usize): u32;
// @ts-ignore: decorator
@external("cairn", "debug") export declare function debug(message: usize, length: u32): void;
