//! Calls of other contracts.

use crate::binary::{MARK, MARK_PASSED};
use crate::contract::Object;
use crate::{heap, host, json, sys, Account, Buffer, Hash, Reader, Value};

/// Why a call of another contract failed. What the callee did is undone; the caller goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The chain's code: 1 reverted, 2 trapped or out of gas, 3 no such contract, 4 no such function, 5 too few coins,
    /// 6 re-entry refused, 7 too deep, or too much memory, 8 the contract to be created exists already.
    pub code: i32,
    /// The callee's revert data.
    pub reason: &'static [u8],
    /// The callee, or the template for a contract to be created.
    pub contract: Account,
}

impl Failure {
    /// The fields of the callee's typed error of the given code, from a call in the binary form.
    #[doc(hidden)]
    pub fn error(&self, code: u32) -> Option<Reader> {
        match self.reason.split_first() {
            Some((&MARK, bytes)) if self.code == 1 && bytes.starts_with(&code.to_le_bytes()) => {
                Some(Reader::new(&bytes[4..], "the error of a call is of another type"))
            }
            _ => None,
        }
    }

    fn text(&self) -> &'static [u8] {
        match self.code {
            1 if self.reason.first() == Some(&MARK) || self.reason.starts_with(b"{\"error\":") => {
                // Callers must not take it for a typed error of this contract.
                let mut passed = Buffer::new();
                passed.push_array(&[MARK_PASSED]);
                passed.push_array(self.contract.0);
                passed.push(self.reason);
                passed.bytes()
            }
            1 => self.reason,
            2 => b"trapped or out of gas",
            3 => b"no such contract",
            4 => b"no such function",
            5 => b"too few coins",
            6 => b"re-entry refused",
            8 => b"the contract exists",
            _ => b"too deep, or too much memory",
        }
    }
}

/// The outcome of a call of another contract.
pub trait OrFail<T> {
    /// The result; if the call failed, the current call reverts with the callee's reason.
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

fn outcome(contract: &Account, code: i32) -> Result<&'static [u8], Failure> {
    let n = unsafe { sys::result_len() };
    let result = heap::fill(n, |out| {
        if n > 0 {
            unsafe { sys::result_read(out) }
        }
        n
    });
    if code == 0 { Ok(result) } else { Err(Failure { code, reason: result, contract: *contract }) }
}

/// Calls a function of a contract with encoded arguments, coins of this contract, and at most the given gas. It returns
/// the callee's bytes. 1/64 of the gas is always kept back.
pub fn call(contract: &Account, function: &str, args: &[u8], value: u64, gas: u64) -> Result<&'static [u8], Failure> {
    outcome(contract, unsafe {
        let contract = contract.0.as_ptr();
        sys::call(contract, function.as_ptr(), function.len(), args.as_ptr(), args.len(), value, gas)
    })
}

/// Like [`call`], but neither the callee nor the contracts that it calls can change anything.
pub fn call_view(contract: &Account, function: &str, args: &[u8], gas: u64) -> Result<&'static [u8], Failure> {
    outcome(contract, unsafe {
        sys::call_view(contract.0.as_ptr(), function.as_ptr(), function.len(), args.as_ptr(), args.len(), gas)
    })
}

/// Makes a contract with the code of another one, the template, and runs its `init` with encoded arguments, coins of
/// this contract, and at most the given gas. It returns the new contract, whose creator is this one. The ID follows
/// from this contract, the template's code and the salt, so each salt makes one contract: see [`instance_of`].
///
/// The name is for people, and has at most 64 bytes.
pub fn create(
    template: &Account, salt: &[u8; 32], name: &str, args: &[u8], value: u64, gas: u64,
) -> Result<Account, Failure> {
    let mut code = 0;
    let made = heap::fixed(|out| {
        code = unsafe {
            let (name, name_len) = (name.as_ptr(), name.len());
            let (args, args_len) = (args.as_ptr(), args.len());
            sys::create(template.0.as_ptr(), salt.as_ptr(), name, name_len, args, args_len, value, gas, out)
        }
    });
    outcome(template, code).map(|_| Account(made))
}

/// The contract that a creator makes, or made, from a code and a salt.
pub fn instance_of(creator: &Account, code: &Hash, salt: &[u8; 32]) -> Account {
    let tag = host::sha256(b"cairn/instance/v2");
    let mut message = Buffer::new();
    for part in [tag.0, tag.0, creator.0, code.0, salt] {
        message.push_array(part)
    }
    Account(host::sha256(message.bytes()).0)
}

/// Builds the creation of a contract, with arguments of its `init` by name.
pub struct Creation {
    template: Account,
    salt: [u8; 32],
    name: &'static str,
    args: Object,
    given: bool,
}

impl Creation {
    /// A contract with the code of the template.
    pub fn new(template: Account, salt: [u8; 32]) -> Self {
        Creation { template, salt, name: "", args: Object::new(), given: false }
    }

    /// Names the contract.
    pub fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Adds an argument of `init`.
    pub fn arg<T: Value>(mut self, name: &str, value: &T) -> Self {
        self.args.member(name, value);
        self.given = true;
        self
    }

    /// Creates the contract, as [`create`] does.
    pub fn create(mut self, value: u64, gas: u64) -> Result<Account, Failure> {
        let args: &[u8] = if self.given { self.args.finish() } else { b"" };
        create(&self.template, &self.salt, self.name, args, value, gas)
    }
}

/// Builds a call; [`interface!`](crate::interface) makes these.
pub struct Request {
    contract: Account,
    function: &'static str,
    args: Arguments,
}

enum Arguments {
    Json(Object),
    Binary(Buffer),
}

impl Request {
    /// Begins a call of a function, in JSON or in the binary form.
    pub fn new(contract: Account, function: &'static str, binary: bool) -> Self {
        let mut packed = Buffer::new();
        let args = if binary {
            packed.push_array(&[MARK]);
            Arguments::Binary(packed)
        } else {
            Arguments::Json(Object::new())
        };
        Request { contract, function, args }
    }

    /// Adds an argument.
    pub fn arg<T: Value>(mut self, name: &str, value: &T) -> Self {
        match &mut self.args {
            Arguments::Json(object) => object.member(name, value),
            Arguments::Binary(packed) => value.pack(packed),
        }
        self
    }

    fn finish(&mut self) -> &'static [u8] {
        match &mut self.args {
            Arguments::Json(object) => object.finish(),
            Arguments::Binary(packed) => packed.bytes(),
        }
    }

    /// Makes the call.
    pub fn call<T: Returned>(mut self, value: u64, gas: u64) -> Result<T, Failure> {
        let args = self.finish();
        call(&self.contract, self.function, args, value, gas).map(|result| T::take(result, self.function))
    }

    /// Makes the call as a view, which can change nothing.
    pub fn view<T: Returned>(mut self, gas: u64) -> Result<T, Failure> {
        let args = self.finish();
        call_view(&self.contract, self.function, args, gas).map(|result| T::take(result, self.function))
    }
}

/// What a function returns: a [`Value`], or nothing.
pub trait Returned {
    /// Sets the result of this call, as JSON or in the binary form.
    fn give(self, binary: bool);
    /// Reads the result of a function; reverts if it has another type.
    fn take(result: &'static [u8], function: &'static str) -> Self;
}

impl Returned for () {
    fn give(self, _: bool) {}
    fn take(_: &'static [u8], _: &'static str) {}
}

impl<T: Value> Returned for T {
    #[inline]
    fn give(self, binary: bool) {
        let mut out = Buffer::of_value();
        if binary {
            out.push_array(&[MARK]);
            self.pack(&mut out);
        } else {
            self.write(&mut out);
        }
        host::return_data(out.written());
    }
    fn take(result: &'static [u8], function: &'static str) -> Self {
        match result.split_first() {
            Some((&MARK, bytes)) => {
                let mut reader = Reader::new(bytes, "the result of a call is of another type");
                let value = T::unpack(&mut reader);
                reader.end();
                value
            }
            _ => json::read(result, function),
        }
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
/// gas set by `with_value` and `with_gas`. `read` functions are called with `call_view`.
///
/// Before the interface there may be, in this order, `types { … }` and `errors { … }` of the other contract, as its own
/// [`contract!`](crate::contract) declares them, and `json;`. Calls use the binary form, with the arguments in the
/// order of the parameters. It costs less, and contracts of both SDKs accept it. With `json;` calls use JSON, for
/// contracts that accept only JSON or are unknown; `Token::at(token).json()` does so for one call.
/// `TooLow::of(&failure)` reads a failure as a typed error. "cairn contract bindings" writes all of this. Another
/// interface may follow, with its own sections before it:
///
/// ```
/// # use cairn::*;
/// interface! {
///     Token {
///         write fn transfer(to: Account, amount: u64) -> bool;
///     }
///
///     errors { TooLow = 2 { need: u64 } }
///     /// Sells lots, each at its lowest price or more.
///     Market {
///         payable fn buy(lot: u64);
///     }
/// }
///
/// fn buy(market: Account, lot: u64, most: u64) -> u64 {
///     match Market::at(market).with_value(most).buy(lot) {
///         Ok(()) => most,
///         Err(failure) => TooLow::of(&failure).or_revert("the market refuses").need,
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! interface {
    ($($rest:tt)*) => {
        $crate::__interface_sections! { {} {} true $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __interface_sections {
    ({} $errors:tt $binary:ident types { $($types:tt)* } $($rest:tt)*) => {
        $crate::__interface_sections! { { $($types)* } $errors $binary $($rest)* }
    };
    ($types:tt {} $binary:ident errors { $($errors:tt)* } $($rest:tt)*) => {
        $crate::__interface_sections! { $types { $($errors)* } $binary $($rest)* }
    };
    ($types:tt $errors:tt true json; $($rest:tt)*) => {
        $crate::__interface_sections! { $types $errors false $($rest)* }
    };
    ($types:tt $errors:tt $binary:ident $(#[$meta:meta])* $name:ident { $($functions:tt)* } $($next:tt)+) => {
        $crate::__interface! { types $types errors $errors $binary $(#[$meta])* $name { $($functions)* } }
        $crate::interface! { $($next)+ }
    };
    ($types:tt $errors:tt $binary:ident $($rest:tt)*) => {
        $crate::__interface! { types $types errors $errors $binary $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __interface {
    (types {
        $($(#[$tm:meta])* $kind:ident $type_name:ident { $($body:tt)* })*
    } errors {
        $($(#[$errm:meta])* $error:ident = $code:literal $({ $($(#[$dm:meta])* $data:ident : $dt:ty),* $(,)? })?)*
    } $binary:ident $(#[$meta:meta])* $name:ident {
        $($(#[$fm:meta])* $mode:ident fn $function:ident($($arg:ident : $type:ty),* $(,)?) $(-> $returns:ty)?;)*
    }) => {
        $($crate::__type! { $kind [$(#[$tm])*] $type_name { $($body)* } })*

        $(
            $(#[$errm])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[allow(non_snake_case, dead_code)]
            pub struct $error { $($($(#[$dm])* pub $data: $dt),*)? }

            #[allow(dead_code)]
            impl $error {
                /// The error of a call in the binary form, if it was this one. Reverts for this code with other fields.
                pub fn of(failure: &$crate::Failure) -> Option<Self> {
                    let mut _fields = failure.error($code)?;
                    let error = $error { $($($data: $crate::Value::unpack(&mut _fields)),*)? };
                    _fields.finish();
                    Some(error)
                }
            }
        )*

        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name {
            contract: $crate::Account,
            value: u64,
            gas: u64,
            binary: bool,
        }

        #[allow(non_snake_case, dead_code)]
        impl $name {
            /// The contract at an account.
            pub fn at(contract: $crate::Account) -> Self {
                $name { contract, value: 0, gas: u64::MAX, binary: $binary }
            }

            /// With arguments in JSON, which every contract accepts.
            pub fn json(self) -> Self {
                $name { binary: false, ..self }
            }

            /// With coins of this contract.
            pub fn with_value(self, value: u64) -> Self {
                $name { value, ..self }
            }

            /// With at most the given gas.
            pub fn with_gas(self, gas: u64) -> Self {
                $name { gas, ..self }
            }

            $(
                $(#[$fm])*
                pub fn $function(&self, $($arg: $type),*) -> Result<$crate::__returned!($($returns)?), $crate::Failure> {
                    let request = $crate::Request::new(self.contract, stringify!($function), self.binary)
                        $(.arg(stringify!($arg), &$arg))*;
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
