//! The code that [`contract!`](crate::contract) expands to.

use core::mem::MaybeUninit;

use crate::binary::{self, MARK};
pub use crate::call::Returned;
use crate::json::write_string;
pub use crate::json::{Arguments, Fields, Object};
use crate::{host, revert, Buffer, Value};

/// Begins a function that takes no coins.
#[inline]
pub fn refuse_coins() {
    if host::value() != 0 {
        revert("the function takes no coins")
    }
}

/// Builds an event.
pub struct Log {
    data: Buffer,
    topics: MaybeUninit<[[u8; 32]; 3]>,
    count: usize,
    fields: usize,
}

impl Log {
    /// An event without fields.
    pub fn new() -> Self {
        Log { data: Buffer::of_event(), topics: MaybeUninit::uninit(), count: 0, fields: 0 }
    }

    /// Adds a field. The name is in JSON, with a comma before and a colon after it. An integer, account or hash among
    /// the first three fields is a topic too.
    #[inline(never)]
    pub fn field<T: Value>(&mut self, name: &str, value: &T) {
        FieldWriter(&mut self.data).field(name, value);
        // The first `count` topics are set, and there are at most three.
        if self.fields < 3 && value.topic(unsafe { &mut *self.topics.as_mut_ptr().cast::<[u8; 32]>().add(self.count) }) {
            self.count += 1;
        }
        self.fields += 1;
    }

    /// Logs the event.
    pub fn emit(&mut self, name: &str) {
        if self.fields == 0 {
            self.data.push(b",");
        }
        self.data.set(0, b'{'); // replaces the comma of the first field
        self.data.push(b"}");
        let topics = unsafe { core::slice::from_raw_parts(self.topics.as_ptr().cast(), self.count) };
        host::emit_named(name, topics, self.data.bytes())
    }
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

/// A function that writes the fields of an object.
pub struct FieldWriter<'a>(&'a mut Buffer);

impl FieldWriter<'_> {
    /// Appends a field. The name is in quotes, with a comma before and a colon after it.
    pub fn field<T: Value>(&mut self, name: &str, value: &T) {
        self.0.push(name.as_bytes());
        value.write(self.0);
    }
}

/// Appends an object with at least one field.
pub fn write_fields(out: &mut Buffer, fields: impl FnOnce(&mut FieldWriter)) {
    let at = out.len();
    fields(&mut FieldWriter(out));
    out.set(at, b'{'); // replaces the comma of the first field
    out.push(b"}");
}

/// Appends a variant: its name, or an object of its name and fields.
pub fn write_variant(out: &mut Buffer, name: &str, fields: usize, write: impl FnOnce(&mut FieldWriter)) {
    if fields == 0 {
        return write_string(name, out);
    }
    out.push(b"{");
    write_string(name, out);
    out.push(b":");
    write_fields(out, write);
    out.push(b"}");
}

/// Reverts with a typed error, given its code and functions that write its fields in each form.
pub fn revert_with(name: &str, code: u32, fields: impl FnOnce(&mut Buffer), object: impl FnOnce(&mut Object)) -> ! {
    let mut out = Buffer::new();
    if binary::asked() {
        out.push_array(&[MARK]);
        code.pack(&mut out);
        fields(&mut out);
    } else {
        out.push(b"{\"error\":");
        write_string(name, &mut out);
        out.push(b",\"code\":");
        code.write(&mut out);
        let mut data = Object::new();
        object(&mut data);
        let data = data.finish();
        if !data.is_empty() {
            out.push(b",\"data\":");
            out.push(data);
        }
        out.push(b"}");
    }
    host::revert_bytes(out.bytes())
}

/// Declares a contract: its types, its errors, its events, its storage, its invariants, then its functions. Each but the
/// last may be left out:
///
/// ```
/// # use cairn::*;
/// contract! {
///     types {
///         record Offer { seller: Account, price: u64 }
///         enum State { Open, Sold { to: Account } }
///     }
///     errors {
///         /// The offer is below the price.
///         TooLow = 1 { offered: u64, price: u64 }
///     }
///     events {
///         Sold { to: Account }
///     }
///     storage {
///         /// Offers by number.
///         OFFERS: Map<u64, Offer> = "offer",
///     }
///     read fn check(offer: Offer, offered: u64) -> State {
///         if offered < offer.price {
///             TooLow { offered, price: offer.price }.revert()
///         }
///         State::Open
///     }
/// }
/// # fn main() {}
/// ```
///
/// Types become structs and enums that arguments, results, events and storage may have. Errors become structs with a method
/// `revert`; callers get their code, name and fields.
///
/// `storage` declares statics, here `static OFFERS: Map<u64, Offer> = Map::new("offer")`, and puts them into the ABI, so
/// that tools show what is in storage. The ABI costs gas in the deploy; a static declared outside is not in it. A name
/// that occurs twice does not compile:
///
/// ```compile_fail
/// # use cairn::*;
/// contract! {
///     storage { A: Cell<u64> = "count", B: Cell<u64> = "count" }
///     read fn count() -> u64 { A.get() }
/// }
/// # fn main() {}
/// ```
///
/// Before the functions there may be `invariants { fn solvent() { … } }`: functions without arguments that revert if a
/// condition that must always hold does not. "cairn contract test" searches for calls that make one revert. They are no
/// part of the contract that is deployed.
///
/// Functions are `read fn` (they change nothing), `write fn`, `payable fn` (they take coins), and at most one
/// `init fn init`, which runs once, in the deploy. Parameters, results and fields are [`Value`](crate::Value)s. A function
/// other than `payable` ones reverts if coins come with the call.
///
/// `reentrant;` at the beginning allows the contract to be called while it is on the call stack. Without it a call from
/// a contract that this one calls fails, and with it every function must expect to run in the middle of another.
///
/// Each event becomes a struct with a method `emit`; each function an ordinary one of its name, and an export.
#[macro_export]
macro_rules! contract {
    (reentrant; $($rest:tt)*) => {
        $crate::__sections! { true {} {} {} {} {} $($rest)* }
    };
    ($($rest:tt)*) => {
        $crate::__sections! { false {} {} {} {} {} $($rest)* }
    };
}

/// Takes the sections in any order, each once, and then the functions.
#[doc(hidden)]
#[macro_export]
macro_rules! __sections {
    ($reentrant:ident {} $errors:tt $events:tt $storage:tt $invariants:tt types { $($items:tt)* } $($rest:tt)*) => {
        $crate::__sections! { $reentrant { $($items)* } $errors $events $storage $invariants $($rest)* }
    };
    ($reentrant:ident $types:tt {} $events:tt $storage:tt $invariants:tt errors { $($items:tt)* } $($rest:tt)*) => {
        $crate::__sections! { $reentrant $types { $($items)* } $events $storage $invariants $($rest)* }
    };
    ($reentrant:ident $types:tt $errors:tt {} $storage:tt $invariants:tt events { $($items:tt)* } $($rest:tt)*) => {
        $crate::__sections! { $reentrant $types $errors { $($items)* } $storage $invariants $($rest)* }
    };
    ($reentrant:ident $types:tt $errors:tt $events:tt {} $invariants:tt storage { $($items:tt)* } $($rest:tt)*) => {
        $crate::__sections! { $reentrant $types $errors $events { $($items)* } $invariants $($rest)* }
    };
    ($reentrant:ident $types:tt $errors:tt $events:tt $storage:tt {} invariants { $($items:tt)* } $($rest:tt)*) => {
        $crate::__sections! { $reentrant $types $errors $events $storage { $($items)* } $($rest)* }
    };
    (
        $reentrant:ident $types:tt $errors:tt $events:tt $storage:tt $invariants:tt
        $section:ident { $($items:tt)* } $($rest:tt)*
    ) => {
        compile_error!(concat!(
            "contract! has types, errors, events, storage and invariants, each at most once, before its functions; not ",
            stringify!($section)
        ));
    };
    ($reentrant:ident $types:tt $errors:tt $events:tt $storage:tt {} $($functions:tt)*) => {
        $crate::__contract! {
            $reentrant; invariants [] types $types errors $errors events $events storage $storage $($functions)*
        }
    };
    ($reentrant:ident $types:tt $errors:tt $events:tt $storage:tt $invariants:tt $($functions:tt)*) => {
        $crate::__with_invariants! {
            $invariants { $reentrant; }
            { types $types errors $errors events $events storage $storage $($functions)* }
        }
    };
}

/// Invariants become read functions in native tests and in the fuzzer's module.
#[cfg(any(feature = "invariants", not(target_arch = "wasm32")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_invariants {
    ({ $($(#[$m:meta])* fn $name:ident() $body:block)* } { $reentrant:ident; } { $($contract:tt)* }) => {
        $crate::__contract! { $reentrant; invariants [$($name)*] $($contract)* $($(#[$m])* read fn $name() $body)* }
    };
}

#[cfg(not(any(feature = "invariants", not(target_arch = "wasm32"))))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_invariants {
    ($invariants:tt { $reentrant:ident; } { $($contract:tt)* }) => {
        $crate::__contract! { $reentrant; invariants [] $($contract)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract {
    ($reentrant:ident; invariants [$($invariant:ident)*] types {
        $($(#[$tm:meta])* $kind:ident $type:ident { $($body:tt)* })*
    } errors {
        $($(#[$errm:meta])* $error:ident = $code:literal $({ $($(#[$dm:meta])* $data:ident : $dt:ty),* $(,)? })?)*
    } events {
        $($(#[$em:meta])* $event:ident { $($(#[$fieldm:meta])* $field:ident : $ft:ty),* $(,)? })*
    } storage {
        $($(#[$cm:meta])* $cell:ident : $ct:ty = $key:literal),* $(,)?
    } $($(#[$fm:meta])* $mode:ident fn $name:ident($($arg:ident : $at:ty),* $(,)?) $(-> $returns:ty)? $body_of:block)*) => {
        $($crate::__type! { $kind [$(#[$tm])*] $type { $($body)* } })*

        $(
            $(#[$errm])*
            #[allow(non_snake_case, dead_code)]
            pub struct $error { $($($(#[$dm])* pub $data: $dt),*)? }

            #[allow(dead_code)]
            impl $error {
                /// Ends the call with this error and undoes it.
                pub fn revert(&self) -> ! {
                    $crate::contract::revert_with(
                        stringify!($error),
                        $code,
                        |_out| { $($($crate::Value::pack(&self.$data, _out);)*)? },
                        |_out| { $($(_out.member(stringify!($data), &self.$data);)*)? },
                    )
                }
            }
        )*

        $(
            $(#[$em])*
            #[allow(non_snake_case)]
            pub struct $event { $($(#[$fieldm])* pub $field: $ft),* }

            impl $event {
                /// Logs the event.
                pub fn emit(&self) {
                    let mut log = $crate::contract::Log::new();
                    $(log.field(concat!(",\"", stringify!($field), "\":"), &self.$field);)*
                    log.emit(stringify!($event))
                }
            }
        )*

        $(
            $(#[$cm])*
            static $cell: $ct = <$ct>::new($key);
        )*

        $(
            $(#[$fm])*
            #[allow(non_snake_case)]
            pub fn $name($($arg: $at),*) $(-> $returns)? $body_of
        )*

        #[doc(hidden)]
        #[allow(non_snake_case)]
        pub mod exports {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[cfg_attr(target_arch = "wasm32", no_mangle)]
                pub fn $name() {
                    $crate::__coins!($mode);
                    #[allow(unused_mut, unused_variables)]
                    let mut args = $crate::contract::Arguments::read(&[$(stringify!($arg)),*]);
                    $crate::contract::Returned::give(super::$name($(args.next::<$at>()),*), args.binary())
                }
            )*

            $crate::__reentrant!($reentrant);

            pub const TYPES: &[$crate::abi::Named] = &[$($type::DECLARED),*];
            pub const FUNCTIONS: &[$crate::abi::Function] = &[$($crate::abi::Function {
                name: stringify!($name),
                mode: $crate::__mode!($mode),
                args: &[$((stringify!($arg), $crate::type_of::<$at>())),*],
                returns: $crate::__returns!($($returns)?),
            }),*];
            const DECLARED: $crate::abi::Declared = $crate::abi::Declared {
                types: TYPES,
                functions: FUNCTIONS,
                errors: &[$($crate::abi::Error {
                    name: stringify!($error),
                    code: $code,
                    fields: &[$($((stringify!($data), $crate::type_of::<$dt>())),*)?],
                }),*],
                events: &[$($crate::abi::Event {
                    name: stringify!($event),
                    args: &[$((stringify!($field), $crate::type_of::<$ft>())),*],
                }),*],
                storage: &[$($crate::abi::Cell {
                    name: $key,
                    kind: <$ct as $crate::Described>::KIND,
                    key: <$ct as $crate::Described>::KEY,
                    value: <$ct as $crate::Described>::VALUE,
                }),*],
            };
            const LEN: usize = $crate::abi::Text::<0>::abi(&DECLARED).len;

            #[cfg_attr(target_arch = "wasm32", link_section = "cairn_abi")]
            #[used]
            pub static ABI: [u8; LEN] = $crate::abi::Text::<LEN>::abi(&DECLARED).bytes;
        }

        /// The contract, for deployment in tests.
        #[cfg(not(target_arch = "wasm32"))]
        #[allow(dead_code)]
        pub static CONTRACT: $crate::testing::Contract = $crate::testing::Contract {
            functions: &[$((stringify!($name), exports::$name as fn())),*],
            reentrant: $reentrant,
            abi: &exports::ABI,
            declared: exports::FUNCTIONS,
            types: exports::TYPES,
            invariants: &[$(stringify!($invariant)),*],
        };
    };
}

/// A record or an enum of a contract.
#[doc(hidden)]
#[macro_export]
macro_rules! __type {
    (record [$(#[$m:meta])*] $name:ident { $($(#[$fm:meta])* $field:ident : $type:ty),+ $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(non_snake_case, dead_code)]
        pub struct $name { $($(#[$fm])* pub $field: $type),+ }

        impl $name {
            #[doc(hidden)]
            #[allow(dead_code)]
            pub const DECLARED: $crate::abi::Named = $crate::abi::Named {
                name: stringify!($name),
                kind: "record",
                variants: &[("", &[$((stringify!($field), $crate::type_of::<$type>())),+])],
            };
        }

        impl $crate::Value for $name {
            const TYPE: $crate::abi::Type = $crate::abi::Type::of(stringify!($name));

            fn parse(from: &mut $crate::Parser) -> Self {
                let mut fields = $crate::contract::Fields::of(from, &[$(stringify!($field)),+]);
                $name { $($field: fields.next()),+ }
            }

            fn write(&self, out: &mut $crate::Buffer) {
                $crate::contract::write_fields(out, |out| { $(out.field(concat!(",\"", stringify!($field), "\":"), &self.$field);)+ })
            }

            fn unpack(from: &mut $crate::Reader) -> Self {
                $name { $($field: $crate::Value::unpack(from)),+ }
            }

            fn pack(&self, out: &mut $crate::Buffer) {
                $($crate::Value::pack(&self.$field, out);)+
            }
        }

        $crate::__stored_as_value!($name);
    };
    (enum [$(#[$m:meta])*] $name:ident {
        $($(#[$vm:meta])* $variant:ident $({ $($field:ident : $type:ty),+ $(,)? })?),+ $(,)?
    }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(non_snake_case, dead_code)]
        pub enum $name { $($(#[$vm])* $variant $({ $($field: $type),+ })?),+ }

        impl $name {
            #[doc(hidden)]
            #[allow(dead_code)]
            pub const DECLARED: $crate::abi::Named = $crate::abi::Named {
                name: stringify!($name),
                kind: "enum",
                variants: &[$((stringify!($variant), &[$($((stringify!($field), $crate::type_of::<$type>())),+)?])),+],
            };
        }

        #[allow(unused_assignments, unused_mut, unused_variables)]
        impl $crate::Value for $name {
            const TYPE: $crate::abi::Type = $crate::abi::Type::of(stringify!($name));

            fn parse(from: &mut $crate::Parser) -> Self {
                let (name, with_fields) = from.begin_variant(&Self::TYPE);
                $({
                    const FIELDS: &[&str] = &[$($(stringify!($field)),+)?];
                    if name == stringify!($variant).as_bytes() && with_fields == !FIELDS.is_empty() {
                        let mut fields = $crate::contract::Fields::of_variant(from, FIELDS);
                        let value = $name::$variant $({ $($field: fields.next()),+ })?;
                        from.end_variant(with_fields);
                        return value;
                    }
                })+
                from.fail_variant(&Self::TYPE)
            }

            fn write(&self, out: &mut $crate::Buffer) {
                match self {
                    $($name::$variant $({ $($field),+ })? => {
                        let fields: &[&str] = &[$($(stringify!($field)),+)?];
                        $crate::contract::write_variant(out, stringify!($variant), fields.len(), |out| {
                            $($(out.field(concat!(",\"", stringify!($field), "\":"), $field);)+)?
                        })
                    })+
                }
            }

            fn unpack(from: &mut $crate::Reader) -> Self {
                let at: u32 = $crate::Value::unpack(from);
                let mut i = 0;
                $(
                    if at == i {
                        return $name::$variant $({ $($field: $crate::Value::unpack(from)),+ })?;
                    }
                    i += 1;
                )+
                from.fail()
            }

            fn pack(&self, out: &mut $crate::Buffer) {
                let mut i = 0_u32;
                $(
                    if let $name::$variant $({ $($field),+ })? = self {
                        $crate::Value::pack(&i, out);
                        $($($crate::Value::pack($field, out);)+)?
                    }
                    i += 1;
                )+
            }
        }

        $crate::__stored_as_value!($name);
    };
}

/// Storage holds the contract's own types in their binary form.
#[doc(hidden)]
#[macro_export]
macro_rules! __stored_as_value {
    ($name:ident) => {
        impl $crate::Stored for $name {
            fn encode(&self, out: &mut $crate::Buffer) {
                $crate::Value::pack(self, out)
            }
            fn decode(from: &mut $crate::Reader) -> Self {
                $crate::Value::unpack(from)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __coins {
    (payable) => {};
    ($mode:ident) => {
        $crate::contract::refuse_coins()
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mode {
    (read) => { "read" };
    (write) => { "write" };
    (payable) => { "payable" };
    (init) => { "init" };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __returns {
    () => { None };
    ($type:ty) => { Some($crate::type_of::<$type>()) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __reentrant {
    (true) => {
        #[cfg_attr(target_arch = "wasm32", no_mangle)]
        pub extern "C" fn _reentrant() {}
    };
    (false) => {};
}
