//! The host functions (docs/protocol.md, "Host functions").

#[link(wasm_import_module = "cairn")]
extern "C" {
    pub fn args_len() -> usize;
    pub fn args_read(out: *mut u8);
    pub fn return_data(data: *const u8, len: usize);
    pub fn revert(data: *const u8, len: usize);
    pub fn storage_read(key: *const u8, key_len: usize, out: *mut u8, cap: usize) -> i32;
    pub fn storage_write(key: *const u8, key_len: usize, value: *const u8, value_len: usize);
    pub fn storage_delete(key: *const u8, key_len: usize);
    pub fn caller(out: *mut u8);
    pub fn sender(out: *mut u8);
    #[link_name = "self"]
    pub fn this(out: *mut u8);
    pub fn value() -> u64;
    pub fn block_height() -> u64;
    pub fn block_time() -> u64;
    pub fn chain_id() -> u64;
    pub fn gas_left() -> u64;
    pub fn is_view() -> i32;
    pub fn balance(account: *const u8) -> u64;
    pub fn transfer(to: *const u8, amount: u64) -> i32;
    pub fn code_hash(account: *const u8, out: *mut u8) -> i32;
    pub fn call(
        contract: *const u8, function: *const u8, function_len: usize, args: *const u8, args_len: usize, value: u64,
        gas: u64,
    ) -> i32;
    pub fn call_view(
        contract: *const u8, function: *const u8, function_len: usize, args: *const u8, args_len: usize, gas: u64,
    ) -> i32;
    pub fn result_len() -> usize;
    pub fn result_read(out: *mut u8);
    pub fn emit(
        name: *const u8, name_len: usize, topics: *const u8, topic_count: usize, data: *const u8, data_len: usize,
    );
    pub fn sha256(data: *const u8, len: usize, out: *mut u8);
    pub fn keccak256(data: *const u8, len: usize, out: *mut u8);
    pub fn blake3(data: *const u8, len: usize, out: *mut u8);
    pub fn schnorr_verify(key: *const u8, message: *const u8, len: usize, signature: *const u8) -> i32;
    pub fn ecdsa_recover(hash: *const u8, signature: *const u8, out: *mut u8) -> i32;
    pub fn p256_verify(point: *const u8, digest: *const u8, signature: *const u8) -> i32;
    pub fn account_verify(
        account: *const u8, message: *const u8, len: usize, witness: *const u8, witness_len: usize,
    ) -> i32;
    pub fn create(
        template: *const u8, salt: *const u8, name: *const u8, name_len: usize, args: *const u8, args_len: usize,
        value: u64, gas: u64, out: *mut u8,
    ) -> i32;
    pub fn replace_code(template: *const u8) -> i32;
    pub fn debug(message: *const u8, len: usize);
}
