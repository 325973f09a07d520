//! What [`contract!`](crate::contract) expands to.

pub use crate::call::Returned;
pub use crate::json::{Arguments, Object};
use crate::{host, revert, Value};

/// Begins a function that takes no coins.
#[inline(never)]
pub fn refuse_coins() {
    if host::value() != 0 {
        revert("the function takes no coins")
    }
}

/// An event that is being put together.
pub struct Log {
    data: Object,
    topics: [[u8; 32]; 3],
    count: usize,
    fields: usize,
}

impl Log {
    /// An event without fields.
    pub fn new() -> Self {
        Log { data: Object::of_event(), topics: [[0; 32]; 3], count: 0, fields: 0 }
    }

    #[inline(never)]
    /// Adds a field; an integer, account or hash among the first three is a topic too.
    pub fn field<T: Value>(&mut self, name: &str, value: &T) {
        self.data.member(name, value);
        if self.fields < 3 && value.topic(&mut self.topics[self.count]) {
            self.count += 1;
        }
        self.fields += 1;
    }

    /// Logs the event.
    pub fn emit(&mut self, name: &str) {
        let data = self.data.finish();
        let data = if data.is_empty() { b"{}" } else { data };
        host::emit(name, &self.topics[..self.count], data)
    }
}

impl Default for Log {
    fn default() -> Self {
        Self::new()
    }
}

/// Declares a contract: its events, then its functions.
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
        $crate::__contract! { true; $($rest)* }
    };
    ($($rest:tt)*) => {
        $crate::__contract! { false; $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract {
    ($reentrant:ident; events {
        $($(#[$em:meta])* $event:ident { $($(#[$fieldm:meta])* $field:ident : $ft:ty),* $(,)? })*
    } $($(#[$fm:meta])* $mode:ident fn $name:ident($($arg:ident : $at:ty),* $(,)?) $(-> $returns:ty)? $body:block)*) => {
        $(
            $(#[$em])*
            #[allow(non_snake_case)]
            pub struct $event { $($(#[$fieldm])* pub $field: $ft),* }

            impl $event {
                /// Logs the event.
                pub fn emit(&self) {
                    let mut log = $crate::contract::Log::new();
                    $(log.field(stringify!($field), &self.$field);)*
                    log.emit(stringify!($event))
                }
            }
        )*

        $(
            $(#[$fm])*
            #[allow(non_snake_case)]
            pub fn $name($($arg: $at),*) $(-> $returns)? $body
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
                    $crate::contract::Returned::give(super::$name($(args.next::<$at>()),*))
                }
            )*

            $crate::__reentrant!($reentrant);

            const FUNCTIONS: &[$crate::abi::Function] = &[$($crate::abi::Function {
                name: stringify!($name),
                mode: $crate::__mode!($mode),
                args: &[$((stringify!($arg), <$at as $crate::Value>::TYPE)),*],
                returns: $crate::__returns!($($returns)?),
            }),*];
            const EVENTS: &[$crate::abi::Event] = &[$($crate::abi::Event {
                name: stringify!($event),
                args: &[$((stringify!($field), <$ft as $crate::Value>::TYPE)),*],
            }),*];
            const LEN: usize = $crate::abi::Text::<0>::abi(FUNCTIONS, EVENTS).len;

            #[cfg_attr(target_arch = "wasm32", link_section = "cairn_abi")]
            #[used]
            pub static ABI: [u8; LEN] = $crate::abi::Text::<LEN>::abi(FUNCTIONS, EVENTS).bytes;
        }

        /// The contract, to be deployed in tests.
        #[cfg(not(target_arch = "wasm32"))]
        #[allow(dead_code)]
        pub static CONTRACT: $crate::testing::Contract = $crate::testing::Contract {
            functions: &[$((stringify!($name), exports::$name as fn())),*],
            reentrant: $reentrant,
            abi: &exports::ABI,
        };
    };
    ($reentrant:ident; $($functions:tt)*) => {
        $crate::__contract_without_events! { $reentrant; $($functions)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __contract_without_events {
    ($reentrant:ident; # $($rest:tt)*) => {
        $crate::__contract! { $reentrant; events {} # $($rest)* }
    };
    ($reentrant:ident; $mode:ident fn $($rest:tt)*) => {
        $crate::__contract! { $reentrant; events {} $mode fn $($rest)* }
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
    (payable) => { "write" };
    (init) => { "init" };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __returns {
    () => { None };
    ($type:ty) => { Some(<$type as $crate::Value>::TYPE) };
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
