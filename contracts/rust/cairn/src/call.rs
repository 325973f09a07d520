//! Calls of other contracts.

use crate::contract::Object;
use crate::{heap, host, json, sys, Account, Buffer, Value};

/// Why a call of another contract failed. What the callee did is undone; the caller goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// As the chain gives it: 1 reverted, 2 trapped or out of gas, 3 no such contract, 4 no such function, 5 too few
    /// coins, 6 re-entry refused, 7 too deep, or too much memory.
    pub code: i32,
    /// What the callee reverted with.
    pub reason: &'static [u8],
}

impl Failure {
    fn text(&self) -> &'static [u8] {
        match self.code {
            1 => self.reason,
            2 => b"trapped or out of gas",
            3 => b"no such contract",
            4 => b"no such function",
            5 => b"too few coins",
            6 => b"re-entry refused",
            _ => b"too deep, or too much memory",
        }
    }
}

/// The outcome of a call of another contract.
pub trait OrFail<T> {
    /// The result; where the call failed, this call reverts with its reason.
    fn or_fail(self) -> T;
}

impl<T> OrFail<T> for Result<T, Failure> {
    fn or_fail(self) -> T {
        match self {
            Ok(value) => value,
            Err(failure) => host::revert_bytes(failure.text()),
        }
    }
}

fn outcome(code: i32) -> Result<&'static [u8], Failure> {
    let n = unsafe { sys::result_len() };
    let result = heap::fill(n, |out| {
        if n > 0 {
            unsafe { sys::result_read(out) }
        }
        n
    });
    if code == 0 { Ok(result) } else { Err(Failure { code, reason: result }) }
}

/// Calls a function of a contract with arguments as they are, coins of this contract, and at most so much gas; gives the
/// bytes that it returned. 1/64 of the gas is always kept back.
pub fn call(contract: &Account, function: &str, args: &[u8], value: u64, gas: u64) -> Result<&'static [u8], Failure> {
    outcome(unsafe {
        let contract = contract.0.as_ptr();
        sys::call(contract, function.as_ptr(), function.len(), args.as_ptr(), args.len(), value, gas)
    })
}

/// Like [`call`], but the callee, and all below it, can change nothing.
pub fn call_view(contract: &Account, function: &str, args: &[u8], gas: u64) -> Result<&'static [u8], Failure> {
    outcome(unsafe {
        sys::call_view(contract.0.as_ptr(), function.as_ptr(), function.len(), args.as_ptr(), args.len(), gas)
    })
}

/// A call that is being put together; [`interface!`](crate::interface) makes them.
pub struct Request {
    contract: Account,
    function: &'static str,
    args: Object,
}

impl Request {
    /// A call of a function.
    pub fn new(contract: Account, function: &'static str) -> Self {
        Request { contract, function, args: Object::new() }
    }

    /// Adds an argument.
    pub fn arg<T: Value>(mut self, name: &str, value: &T) -> Self {
        self.args.member(name, value);
        self
    }

    /// Makes the call.
    pub fn call<T: Returned>(mut self, value: u64, gas: u64) -> Result<T, Failure> {
        call(&self.contract, self.function, self.args.finish(), value, gas).map(|result| T::take(result, self.function))
    }

    /// Makes the call as one that can change nothing.
    pub fn view<T: Returned>(mut self, gas: u64) -> Result<T, Failure> {
        call_view(&self.contract, self.function, self.args.finish(), gas).map(|result| T::take(result, self.function))
    }
}

/// What a function returns: a [`Value`], or nothing.
pub trait Returned {
    /// Sets the result of this call.
    fn give(self);
    /// Reads the result of a function; what is not one reverts.
    fn take(result: &'static [u8], function: &'static str) -> Self;
}

impl Returned for () {
    fn give(self) {}
    fn take(_: &'static [u8], _: &'static str) {}
}

impl<T: Value> Returned for T {
    fn give(self) {
        let mut out = Buffer::new();
        self.write(&mut out);
        host::return_data(out.bytes());
    }
    fn take(result: &'static [u8], function: &'static str) -> Self {
        json::read(result, function)
    }
}

/// Declares another contract's functions, so that they can be called as methods:
///
/// ```
/// # use cairn::*;
/// interface! {
///     Token {
///         read fn balanceOf(address: Account) -> u64;
///         write fn transfer(to: Account, amount: u64) -> bool;
///     }
/// }
///
/// fn pay_out(token: Account, to: Account) {
///     let token = Token::at(token);
///     let all = token.balanceOf(this()).or_fail();
///     token.transfer(to, all).or_fail();
/// }
/// # fn main() {}
/// ```
///
/// A method gives `Result<_, Failure>`. `write` and `payable` functions are called with `call`, and with the coins and
/// gas that `with_value` and `with_gas` say; `read` functions with `call_view`.
#[macro_export]
macro_rules! interface {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$fm:meta])* $mode:ident fn $function:ident($($arg:ident : $type:ty),* $(,)?) $(-> $returns:ty)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name {
            contract: $crate::Account,
            value: u64,
            gas: u64,
        }

        #[allow(non_snake_case, dead_code)]
        impl $name {
            /// The contract of this account.
            pub fn at(contract: $crate::Account) -> Self {
                $name { contract, value: 0, gas: u64::MAX }
            }

            /// With coins of this contract.
            pub fn with_value(self, value: u64) -> Self {
                $name { value, ..self }
            }

            /// With at most so much gas.
            pub fn with_gas(self, gas: u64) -> Self {
                $name { gas, ..self }
            }

            $(
                $(#[$fm])*
                pub fn $function(&self, $($arg: $type),*) -> Result<$crate::__returned!($($returns)?), $crate::Failure> {
                    let request = $crate::Request::new(self.contract, stringify!($function))$(.arg(stringify!($arg), &$arg))*;
                    $crate::__request!($mode, self, request)
                }
            )*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __returned {
    () => { () };
    ($type:ty) => { $type };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __request {
    (read, $self:ident, $request:ident) => { $request.view($self.gas) };
    (write, $self:ident, $request:ident) => { $request.call($self.value, $self.gas) };
    (payable, $self:ident, $request:ident) => { $request.call($self.value, $self.gas) };
}
