//! The ABI as text, which the compiler makes from the source (custom section `cairn_abi`).

use crate::json::MAX_ARGUMENTS;
use crate::Buffer;

/// The text of a type.
#[derive(Clone, Copy)]
pub struct Type {
    text: [u8; 64],
    len: usize,
}

impl Type {
    /// A type of this name.
    pub const fn of(name: &str) -> Self {
        Type { text: [0; 64], len: 0 }.then(name)
    }

    /// The type with a suffix added to its text.
    pub const fn then(mut self, more: &str) -> Self {
        let mut i = 0;
        while i < more.len() {
            self.text[self.len] = more.as_bytes()[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// The type with another type's text appended.
    pub const fn with(mut self, other: &Type) -> Self {
        let mut i = 0;
        while i < other.len {
            self.text[self.len] = other.text[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// `bytesN`.
    pub const fn fixed_bytes(n: usize) -> Self {
        assert!(n >= 1 && n <= 256, "bytesN has 1 to 256 bytes");
        let mut t = Type::of("bytes");
        let mut unit = if n >= 100 { 100 } else if n >= 10 { 10 } else { 1 };
        while unit > 0 {
            t.text[t.len] = b'0' + (n / unit % 10) as u8;
            t.len += 1;
            unit /= 10;
        }
        t
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.text[..self.len]).expect("a type is ASCII")
    }

    pub(crate) fn write(&self, out: &mut Buffer) {
        out.push(&self.text[..self.len]);
    }
}

/// A parameter of a function, or a field of an event.
pub type Parameter = (&'static str, Type);

/// A function.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// read, write, payable or init.
    pub mode: &'static str,
    /// Its parameters.
    pub args: &'static [Parameter],
    /// The type of its result.
    pub returns: Option<Type>,
}

/// An event.
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// Its fields.
    pub args: &'static [Parameter],
}

/// A typed error.
pub struct Error {
    /// Its name.
    pub name: &'static str,
    /// Its number.
    pub code: u32,
    /// Its fields.
    pub fields: &'static [Parameter],
}

/// A record, which has one variant without a name, or an enum.
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// record or enum.
    pub kind: &'static str,
    /// The names of the variants, and their fields.
    pub variants: &'static [(&'static str, &'static [Parameter])],
}

/// A name in storage.
pub struct Cell {
    /// Its name.
    pub name: &'static str,
    /// cell, map or list.
    pub kind: &'static str,
    /// The type of a map's keys; none otherwise.
    pub key: Option<Type>,
    /// The type of the value, or of each value.
    pub value: Type,
}

/// All that a contract declares.
pub struct Declared {
    /// Its records and enums.
    pub types: &'static [Named],
    /// Its functions.
    pub functions: &'static [Function],
    /// Its events.
    pub events: &'static [Event],
    /// Its typed errors.
    pub errors: &'static [Error],
    /// Its names in storage.
    pub storage: &'static [Cell],
}

/// Text of at most N bytes; further bytes are only counted in `len`.
pub struct Text<const N: usize> {
    /// The text, if it fits.
    pub bytes: [u8; N],
    /// Its length.
    pub len: usize,
}

impl<const N: usize> Text<N> {
    /// The ABI of a contract. It panics at compile time if a tool or the chain could not use it.
    pub const fn abi(declared: &Declared) -> Self {
        let (functions, events) = (declared.functions, declared.events);
        let mut text = Text { bytes: [0; N], len: 0 }.put(b"{\"abi\":2,\"binary\":true").types(declared.types);
        text = text.put(b",\"functions\":[");
        let mut i = 0;
        while i < functions.len() {
            let f = &functions[i];
            check_name(f.name);
            assert!(is_init(f.name) == is_init(f.mode), "the init function, and no other, is named init");
            text = text.comma(i).put(b"{\"name\":").quoted(f.name).put(b",\"mode\":");
            text = if f.mode.len() == "payable".len() {
                text.quoted("write").put(b",\"payable\":true")
            } else {
                text.quoted(f.mode)
            };
            text = text.put(b",\"args\":").parameters(f.args);
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
            text = text.comma(i).put(b"{\"name\":").quoted(events[i].name);
            text = text.put(b",\"args\":").parameters(events[i].args).put(b"}");
            i += 1;
        }
        text.put(b"]").errors(declared.errors).storage(declared.storage).put(b"}")
    }

    const fn types(mut self, types: &[Named]) -> Self {
        let mut i = 0;
        while i < types.len() {
            check_name(types[i].name);
            assert!(types[i].name.as_bytes()[0].is_ascii_uppercase(), "the name of a type begins with a capital letter");
            self = self.put(if i == 0 { b",\"types\":[" } else { b"," });
            self = self.put(b"{\"name\":").quoted(types[i].name).put(b",\"kind\":").quoted(types[i].kind);
            let variants = types[i].variants;
            if types[i].kind.len() == "record".len() {
                self = self.put(b",\"fields\":").parameters(variants[0].1);
            } else {
                self = self.put(b",\"variants\":[");
                let mut v = 0;
                while v < variants.len() {
                    check_name(variants[v].0);
                    self = self.comma(v).put(b"{\"name\":").quoted(variants[v].0);
                    if !variants[v].1.is_empty() {
                        self = self.put(b",\"fields\":").parameters(variants[v].1);
                    }
                    self = self.put(b"}");
                    v += 1;
                }
                self = self.put(b"]");
            }
            self = self.put(b"}");
            i += 1;
        }
        if types.is_empty() {
            self
        } else {
            self.put(b"]")
        }
    }

    const fn errors(mut self, errors: &[Error]) -> Self {
        let mut i = 0;
        while i < errors.len() {
            check_name(errors[i].name);
            self = self.put(if i == 0 { b",\"errors\":[" } else { b"," });
            self = self.put(b"{\"name\":").quoted(errors[i].name).put(b",\"code\":").decimal(errors[i].code);
            if !errors[i].fields.is_empty() {
                self = self.put(b",\"fields\":").parameters(errors[i].fields);
            }
            self = self.put(b"}");
            i += 1;
        }
        if errors.is_empty() {
            self
        } else {
            self.put(b"]")
        }
    }

    const fn storage(mut self, cells: &[Cell]) -> Self {
        if cells.is_empty() {
            return self;
        }
        self = self.put(b",\"storage\":{\"encoding\":\"prefixed\",\"cells\":[");
        let mut i = 0;
        while i < cells.len() {
            check_name(cells[i].name);
            let mut other = 0;
            while other < i {
                assert!(!same(cells[other].name, cells[i].name), "two names in storage are the same");
                other += 1;
            }
            self = self.comma(i).put(b"{\"name\":").quoted(cells[i].name).put(b",\"kind\":").quoted(cells[i].kind);
            if let Some(key) = &cells[i].key {
                self = self.put(b",\"key\":").type_name(key);
            }
            self = self.put(b",\"value\":").type_name(&cells[i].value).put(b"}");
            i += 1;
        }
        self.put(b"]}")
    }

    const fn decimal(mut self, number: u32) -> Self {
        let mut unit = 1_000_000_000;
        while unit > 0 {
            if number >= unit || unit == 1 {
                self = self.put(&[b'0' + (number / unit % 10) as u8]);
            }
            unit /= 10;
        }
        self
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
        self = self.put(b"\"");
        let mut i = 0;
        while i < t.len {
            self = self.put(&[t.text[i]]);
            i += 1;
        }
        self.put(b"\"")
    }

    const fn parameters(mut self, args: &[Parameter]) -> Self {
        assert!(args.len() <= MAX_ARGUMENTS, "more than 16 parameters or fields");
        self = self.put(b"[");
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

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

const fn is_init(name: &str) -> bool {
    matches!(name.as_bytes(), b"init")
}

/// Names are ASCII identifiers of at most 64 bytes. A function whose name begins with an underscore cannot be called.
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
