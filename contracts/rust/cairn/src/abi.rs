//! The ABI as text, made by the compiler from the source (custom section `cairn_abi`).

use crate::json::MAX_ARGUMENTS;
use crate::Buffer;

/// The name of a type: a base, and what lists and options add behind it.
#[derive(Clone, Copy)]
pub struct Type {
    base: &'static str,
    suffix: [u8; 8],
    len: usize,
}

impl Type {
    /// A type of this name.
    pub const fn of(base: &'static str) -> Self {
        Type { base, suffix: [0; 8], len: 0 }
    }

    /// The type with more behind its name.
    pub const fn then(mut self, more: &str) -> Self {
        let mut i = 0;
        while i < more.len() {
            self.suffix[self.len] = more.as_bytes()[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    pub(crate) fn write(&self, out: &mut Buffer) {
        out.push(self.base.as_bytes());
        out.push(&self.suffix[..self.len]);
    }
}

/// A parameter of a function, or a field of an event.
pub type Parameter = (&'static str, Type);

/// A function.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// read, write or init.
    pub mode: &'static str,
    /// Its parameters.
    pub args: &'static [Parameter],
    /// What it returns.
    pub returns: Option<Type>,
}

/// An event.
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// Its fields.
    pub args: &'static [Parameter],
}

/// Text of at most N bytes; what does not fit is counted in `len` only.
pub struct Text<const N: usize> {
    /// The text, if it fits.
    pub bytes: [u8; N],
    /// How long it is.
    pub len: usize,
}

impl<const N: usize> Text<N> {
    /// The ABI of a contract. Panics, when the compiler makes it, if a tool or the chain could not use it.
    pub const fn abi(functions: &[Function], events: &[Event]) -> Self {
        let mut text = Text { bytes: [0; N], len: 0 }.put(b"{\"functions\":[");
        let mut i = 0;
        while i < functions.len() {
            let f = &functions[i];
            check_name(f.name);
            assert!(f.args.len() <= MAX_ARGUMENTS, "a function has more than 16 parameters");
            assert!(is_init(f.name) == is_init(f.mode), "the init function, and no other, is named init");
            text = text.comma(i).put(b"{\"name\":").quoted(f.name);
            text = text.put(b",\"mode\":").quoted(f.mode).parameters(f.args);
            if let Some(returns) = &f.returns {
                text = text.put(b",\"returns\":").type_name(returns);
            }
            text = text.put(b"}");
            i += 1;
        }
        text = text.put(b"],\"events\":[");
        i = 0;
        while i < events.len() {
            check_name(events[i].name);
            text = text.comma(i).put(b"{\"name\":").quoted(events[i].name).parameters(events[i].args).put(b"}");
            i += 1;
        }
        text.put(b"]}")
    }

    const fn put(mut self, more: &[u8]) -> Self {
        let mut i = 0;
        while i < more.len() {
            if self.len < N {
                self.bytes[self.len] = more[i];
            }
            self.len += 1;
            i += 1;
        }
        self
    }

    const fn comma(self, i: usize) -> Self {
        if i > 0 {
            self.put(b",")
        } else {
            self
        }
    }

    const fn quoted(self, name: &str) -> Self {
        self.put(b"\"").put(name.as_bytes()).put(b"\"")
    }

    const fn type_name(mut self, t: &Type) -> Self {
        self = self.put(b"\"").put(t.base.as_bytes());
        let mut i = 0;
        while i < t.len {
            self = self.put(&[t.suffix[i]]);
            i += 1;
        }
        self.put(b"\"")
    }

    const fn parameters(mut self, args: &[Parameter]) -> Self {
        self = self.put(b",\"args\":[");
        let mut i = 0;
        while i < args.len() {
            check_name(args[i].0);
            self = self.comma(i).put(b"{\"name\":").quoted(args[i].0);
            self = self.put(b",\"type\":").type_name(&args[i].1).put(b"}");
            i += 1;
        }
        self.put(b"]")
    }
}

const fn is_init(name: &str) -> bool {
    matches!(name.as_bytes(), b"init")
}

/// Names are ASCII identifiers of at most 64 bytes that do not begin with an underscore: such functions cannot be called.
const fn check_name(name: &str) {
    let bytes = name.as_bytes();
    assert!(bytes.len() <= 64, "a name has more than 64 bytes");
    assert!(bytes[0] != b'_', "a name begins with an underscore");
    let mut i = 0;
    while i < bytes.len() {
        assert!(bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_', "a name is no plain identifier");
        i += 1;
    }
}
