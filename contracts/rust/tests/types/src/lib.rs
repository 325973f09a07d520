//! A contract that returns its arguments, of every type. The tests compare both forms of each with the vectors.

#![cfg_attr(target_arch = "wasm32", no_std)]

use cairn::*;

interface! {
    Types {
        read fn offer(v: Offer) -> Offer;
        write fn refuse(have: u64, need: u64);
    }
}

contract! {
    types {
        /// An offer and its price.
        record Offer { seller: Account, price: u64, note: Option<Str> }
        enum State { Open, Sold { to: Account, price: u64 } }
    }
    errors {
        /// The available amount is less than the needed one.
        TooLow = 2 { have: u64, need: u64 }
        Closed = 3
    }
    storage {
        KEPT: Map<u16, Offer> = "offer",
        STATE: Cell<State> = "state",
        NAMES: List<Str> = "names",
        BELOW: Map<(i16, Str), (Option<Bytes>, State)> = "below",
        WIDE: Map<State, u128> = "wide",
    }
    events {
        Seen { small: i8, wide: u128, below: i128, state: State, offer: Offer, pair: (u64, bool) }
    }

    read fn bool_(v: bool) -> bool { v }
    read fn u8_(v: u8) -> u8 { v }
    read fn u16_(v: u16) -> u16 { v }
    read fn i8_(v: i8) -> i8 { v }
    read fn i16_(v: i16) -> i16 { v }
    read fn i32_(v: i32) -> i32 { v }
    read fn u32_(v: u32) -> u32 { v }
    read fn account_(v: Account) -> Account { v }
    read fn lists(v: &'static [&'static [u8]]) -> &'static [&'static [u8]] { v }
    read fn options(v: &'static [Option<Str>]) -> &'static [Option<Str>] { v }
    read fn states(v: &'static [State]) -> &'static [State] { v }
    read fn u64_(v: u64) -> u64 { v }
    read fn i64_(v: i64) -> i64 { v }
    read fn u128_(v: u128) -> u128 { v }
    read fn i128_(v: i128) -> i128 { v }
    read fn text(v: Str) -> Str { v }
    read fn bytes(v: Bytes) -> Bytes { v }
    read fn four(v: FixedBytes<4>) -> FixedBytes<4> { v }
    read fn hash(v: Hash) -> Hash { v }
    read fn optional(v: Option<u64>) -> Option<u64> { v }
    read fn pairs(v: &'static [(u64, bool)]) -> &'static [(u64, bool)] { v }
    read fn offer(v: Offer) -> Offer { v }
    read fn offers(v: &'static [Offer]) -> &'static [Offer] { v }
    read fn state(v: State) -> State { v }

    read fn nothing() -> bool { true }

    write fn keep(id: u16, offer: Offer, state: State) {
        KEPT.set(&id, &offer);
        STATE.set(&state);
    }

    write fn describe(small: i16, big: u128, text: Str, state: State) {
        NAMES.push(&text);
        BELOW.set(&(small, text), &(Some(Bytes(text.as_bytes())), state));
        WIDE.set(&state, &big);
    }

    read fn kept(id: u16) -> (Option<Offer>, Option<State>) {
        (KEPT.find(&id), STATE.find())
    }

    write fn see(wide: u128, state: State, offer: Offer) {
        Seen { small: -1, wide, below: -(wide as i128), state, offer, pair: (u64::MAX, true) }.emit()
    }

    write fn refuse(have: u64, need: u64) {
        if have < need {
            TooLow { have, need }.revert()
        }
        Closed {}.revert()
    }

    /// Calls another contract of this kind, in the given form.
    write fn relay(to: Account, offer: Offer, binary: bool) -> Offer {
        let other = Types::at(to);
        if binary { other.offer(offer).or_fail() } else { other.json().offer(offer).or_fail() }
    }

    write fn relayRefusal(to: Account, have: u64, need: u64, binary: bool) {
        let other = Types::at(to);
        if binary { other.refuse(have, need).or_fail() } else { other.json().refuse(have, need).or_fail() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn::testing::{account, Chain};

    #[test]
    fn types_pass_in_json() {
        let chain = Chain::new();
        let k = chain.deploy(account("alice"), CONTRACT, "", 0).unwrap();
        let seller: String = account("eve").0.iter().map(|b| format!("{:02x}", b)).collect();
        let offer = format!("{{\"seller\":\"0x{}\",\"price\":5,\"note\":\"hi\"}}", seller);
        let sold = format!("{{\"Sold\":{{\"to\":\"0x{}\",\"price\":5}}}}", seller);
        for (function, given) in [
            ("u128_", "\"340282366920938463463374607431768211455\""),
            ("u128_", "\"1000000000000000000000000000000000005\""),
            ("i128_", "\"-170141183460469231731687303715884105728\""),
            ("i8_", "-128"),
            ("pairs", "[[1,false],[2,true]]"),
            ("state", "\"Open\""),
            ("state", &sold),
            ("offer", &offer),
            ("offers", &format!("[{},{}]", offer, offer)),
        ] {
            assert_eq!(chain.view(k, function, &format!("{{\"v\":{}}}", given)).unwrap(), given, "{}", function);
        }
        let args = format!("{{\"id\":7,\"offer\":{},\"state\":{}}}", offer, sold);
        chain.call(account("alice"), k, "keep", &args, 0).unwrap();
        assert_eq!(chain.view(k, "kept", "{\"id\":7}").unwrap(), format!("[{},{}]", offer, sold));
        let args = format!("{{\"to\":\"0x{}\",\"offer\":{},\"binary\":true}}", hex(k), offer);
        let other = chain.deploy(account("alice"), CONTRACT, "", 0).unwrap();
        assert_eq!(chain.call(account("alice"), other, "relay", &args, 0).unwrap(), offer);
    }

    fn hex(a: Account) -> String {
        a.0.iter().map(|b| format!("{:02x}", b)).collect()
    }

    #[test]
    fn refuses_other_values() {
        let chain = Chain::new();
        let k = chain.deploy(account("alice"), CONTRACT, "", 0).unwrap();
        for (function, given) in [
            ("u128_", "340282366920938463463374607431768211456"),
            ("i128_", "170141183460469231731687303715884105728"),
            ("i8_", "128"),
            ("i8_", "-129"),
            ("u16_", "65536"),
            ("four", "\"0xdeadbe\""),
            ("pairs", "[[1]]"),
            ("pairs", "[[1,true,2]]"),
            ("state", "\"Sold\""),
            ("state", "{\"Open\":{}}"),
            ("state", "{\"Open\":{},\"Sold\":{}}"),
            ("state", "\"Gone\""),
            ("offer", "{}"),
            ("offer", "[]"),
        ] {
            chain.view(k, function, &format!("{{\"v\":{}}}", given)).unwrap_err();
        }
    }

    #[test]
    fn errors_are_typed() {
        let chain = Chain::new();
        let k = chain.deploy(account("alice"), CONTRACT, "", 0).unwrap();
        let refused = |args: &str| chain.call(account("alice"), k, "refuse", args, 0).unwrap_err();
        assert_eq!(refused("{\"have\":7,\"need\":10}"), "{\"error\":\"TooLow\",\"code\":2,\"data\":{\"have\":7,\"need\":10}}");
        assert_eq!(refused("{\"have\":7,\"need\":1}"), "{\"error\":\"Closed\",\"code\":3}");
    }
}
