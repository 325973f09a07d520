//! Strict JSON (RFC 8259), the form of arguments and results.

use crate::abi::Type;
use crate::binary::{self, Reader};
use crate::{heap, host, Buffer, Value};

/// The maximum number of parameters of a function and of fields of a record.
pub(crate) const MAX_ARGUMENTS: usize = 16;

const MAX_DEPTH: usize = 16; // nesting depth of lists and objects
const MISSING: u16 = u16::MAX; // arguments have at most 64 KiB, so no value begins at this position

/// A position in a JSON text, and a name for errors. A [`Value`] reads itself from it.
pub struct Parser {
    text: &'static [u8],
    at: usize,
    what: &'static str,
}

impl Parser {
    pub(crate) fn new(text: &'static [u8], what: &'static str) -> Self {
        Parser { text, at: 0, what }
    }

    /// Reverts, saying what is wrong with the value being read.
    #[inline(never)]
    pub fn fail(&self, problem: &str) -> ! {
        let mut reason = Buffer::new();
        reason.push(self.what.as_bytes());
        reason.push(b": ");
        reason.push(problem.as_bytes());
        host::revert_bytes(reason.bytes())
    }

    /// Reverts, saying that the value being read has another type.
    #[inline(never)]
    pub(crate) fn fail_type(&self, wanted: &Type) -> ! {
        let mut problem = Buffer::new();
        problem.push(b"not a valid ");
        wanted.write(&mut problem);
        self.fail(unsafe { core::str::from_utf8_unchecked(problem.bytes()) }) // type names are ASCII
    }

    fn peek(&self) -> u8 {
        match self.text.get(self.at) {
            Some(&byte) => byte,
            None => 0, // this byte never occurs in JSON
        }
    }

    #[inline(never)]
    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1
        }
    }

    /// Skips a byte if it is the next one.
    #[inline(never)]
    fn pass(&mut self, byte: u8) -> bool {
        let comes = self.peek() == byte;
        self.at += comes as usize;
        comes
    }

    fn expect(&mut self, byte: u8) {
        if !self.pass(byte) {
            self.malformed()
        }
    }

    #[inline(never)]
    fn malformed(&self) -> ! {
        self.fail("malformed JSON")
    }

    /// Skips a word if it is next.
    #[inline(never)]
    pub(crate) fn word(&mut self, word: &[u8]) -> bool {
        let start = self.at;
        let comes = word.iter().all(|byte| self.pass(*byte)) && self.after_value();
        if !comes {
            self.at = start
        }
        comes
    }

    pub(crate) fn end(&mut self) {
        self.space();
        if self.at != self.text.len() {
            self.malformed()
        }
    }

    /// Reads a string if one is next; its bytes are UTF-8 if the text is.
    pub(crate) fn string(&mut self) -> Option<&'static [u8]> {
        if !self.pass(b'"') {
            return None;
        }
        let text = self.text; // its lifetime differs from that of self
        let mut start = self.at;
        let mut parts = Buffer::new();
        loop {
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    parts.push(part(text, start, self.at));
                    self.at += 1;
                    self.escape(&mut parts);
                    start = self.at;
                }
                0..=0x1f => self.malformed(), // also matches at the end of the text
                _ => self.at += 1,
            }
        }
        let last = part(text, start, self.at);
        self.at += 1;
        if parts.is_empty() {
            return Some(last);
        }
        parts.push(last);
        Some(parts.bytes())
    }

    fn escape(&mut self, out: &mut Buffer) {
        let byte = match self.peek() {
            b'u' => return self.unicode(out),
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            byte @ (b'"' | b'\\' | b'/') => byte,
            _ => self.malformed(),
        };
        self.at += 1;
        out.push(&[byte]);
    }

    /// A `u` with its four hex digits, or two of these that form a surrogate pair.
    fn unicode(&mut self, out: &mut Buffer) {
        let mut code = self.code_unit();
        if code >> 10 == 0xd800 >> 10 {
            self.expect(b'\\');
            let low = self.code_unit();
            if low >> 10 != 0xdc00 >> 10 {
                self.malformed()
            }
            code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        }
        match char::from_u32(code) {
            Some(c) => out.push(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => self.malformed(),
        }
    }

    fn code_unit(&mut self) -> u32 {
        self.expect(b'u');
        let mut code = 0;
        for _ in 0..4 {
            match hex_digit(self.peek()) {
                Some(digit) => code = code << 4 | digit as u32,
                None => self.malformed(),
            }
            self.at += 1;
        }
        code
    }

    /// The digits of an unsigned number. None if there are none, if it exceeds 2^64 - 1, or for a needless leading 0.
    fn digits(&mut self) -> Option<u64> {
        let start = self.at;
        let mut number: u64 = 0;
        let mut fits = true;
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            fits &= number < u64::MAX / 10 || number == u64::MAX / 10 && digit as u64 <= u64::MAX % 10;
            number = number.wrapping_mul(10).wrapping_add(digit as u64);
            self.at += 1;
        }
        let n = self.at - start;
        let needless = n > 1 && self.text.get(start) == Some(&b'0');
        if fits && n > 0 && !needless { Some(number) } else { None }
    }

    /// Like [`Parser::digits`], up to 2^128 - 1.
    fn wide_digits(&mut self) -> Option<u128> {
        let start = self.at;
        let mut number: Option<u128> = Some(0);
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number.and_then(|n| n.checked_mul(10)).and_then(|n| n.checked_add(digit as u128));
            self.at += 1;
        }
        let n = self.at - start;
        let needless = n > 1 && self.text.get(start) == Some(&b'0');
        if n > 0 && !needless { number } else { None }
    }

    /// Like [`Parser::integer`], up to 2^128 - 1.
    #[inline(never)]
    pub(crate) fn wide_integer(&mut self) -> Option<(bool, u128)> {
        let quoted = self.pass(b'"');
        let negative = self.pass(b'-');
        let number = self.wide_digits()?;
        if quoted && !self.pass(b'"') || !self.after_value() || negative && number == 0 {
            return None;
        }
        Some((negative, number))
    }

    /// Reads an integer from a number or a decimal string. Returns whether it is negative, and its magnitude.
    #[inline(never)]
    pub(crate) fn integer(&mut self) -> Option<(bool, u64)> {
        let quoted = self.pass(b'"');
        let negative = self.pass(b'-');
        let number = self.digits()?;
        if quoted && !self.pass(b'"') || !self.after_value() || negative && number == 0 {
            return None;
        }
        Some((negative, number))
    }

    /// Bytes: hexadecimal digits after 0x in a string.
    #[inline(never)]
    pub(crate) fn hex(&mut self) -> Option<&'static [u8]> {
        let digits = self.string()?.strip_prefix(b"0x")?;
        if digits.len() % 2 != 0 {
            return None;
        }
        let mut valid = true;
        let bytes = heap::fill(digits.len() / 2, |out| {
            for (i, pair) in digits.chunks_exact(2).enumerate() {
                match (hex_digit(pair[0]), hex_digit(pair[1])) {
                    (Some(high), Some(low)) => unsafe { *out.add(i) = high << 4 | low }, // i < len / 2
                    _ => valid = false,
                }
            }
            if valid { digits.len() / 2 } else { 0 }
        });
        if valid { Some(bytes) } else { None }
    }

    /// Reads the items of a list; `None` if no list is next.
    pub(crate) fn list<T: Value + 'static>(&mut self) -> Option<&'static [T]> {
        if self.peek() != b'[' {
            return None;
        }
        let start = self.at;
        let n = self.skip_list(MAX_DEPTH);
        self.at = start + 1;
        let items = heap::list(n, |_| self.item());
        if n == 0 {
            self.space();
            self.at += 1;
        }
        Some(items)
    }

    /// Whether a list of n items is next, for n over 0. If so, its opening bracket is skipped.
    pub(crate) fn begins_list(&mut self, n: usize) -> bool {
        let start = self.at;
        let comes = self.peek() == b'[' && self.skip_list(MAX_DEPTH) == n;
        self.at = start + comes as usize;
        comes
    }

    /// Reads the next item of a list that is known to have one more.
    pub(crate) fn item<T: Value>(&mut self) -> T {
        self.space();
        let item = T::parse(self);
        self.space();
        self.at += 1; // the comma, or the bracket at the end
        item
    }

    /// Skips a list and counts its items.
    fn skip_list(&mut self, depth: usize) -> usize {
        self.expect(b'[');
        self.space();
        if self.pass(b']') {
            return 0;
        }
        let mut n = 0;
        loop {
            self.skip(depth);
            n += 1;
            self.space();
            if self.pass(b']') {
                return n;
            }
            self.expect(b',');
            self.space();
        }
    }

    /// Skips an object.
    fn skip_object(&mut self, depth: usize) {
        self.expect(b'{');
        self.space();
        if self.pass(b'}') {
            return;
        }
        loop {
            if self.string().is_none() {
                self.malformed()
            }
            self.colon();
            self.skip(depth);
            self.space();
            if self.pass(b'}') {
                return;
            }
            self.expect(b',');
            self.space();
        }
    }

    fn colon(&mut self) {
        self.space();
        self.expect(b':');
        self.space();
    }

    /// Whether an object is next. If so, its opening brace is skipped.
    pub(crate) fn begins_object(&mut self) -> bool {
        let begins = self.pass(b'{');
        if begins {
            self.space();
        }
        begins
    }

    /// Reads the name of a variant. Returns it with whether the fields follow, in an object of one member.
    pub fn begin_variant(&mut self, wanted: &Type) -> (&'static [u8], bool) {
        let with_fields = self.begins_object();
        let name = match self.string() {
            Some(name) => name,
            None => self.fail_type(wanted),
        };
        if with_fields {
            self.colon();
        }
        (name, with_fields)
    }

    /// Reads the end of a variant after [`Parser::begin_variant`].
    pub fn end_variant(&mut self, with_fields: bool) {
        if with_fields {
            self.space();
            self.expect(b'}');
        }
    }

    /// Reverts: there is no such variant.
    pub fn fail_variant(&self, wanted: &Type) -> ! {
        self.fail_type(wanted)
    }

    /// Skips a value. Anything other than a string, list or object is checked later, when its type reads it.
    fn skip(&mut self, depth: usize) {
        match self.peek() {
            b'"' => {
                self.string();
            }
            b'[' if depth > 0 => {
                self.skip_list(depth - 1);
            }
            b'{' if depth > 0 => self.skip_object(depth - 1),
            _ => {
                let start = self.at;
                while !self.after_value() {
                    self.at += 1
                }
                if self.at == start {
                    self.malformed()
                }
            }
        }
    }

    /// Whether the next byte ends a number or word.
    fn after_value(&self) -> bool {
        matches!(self.peek(), 0 | b' ' | b'\t' | b'\n' | b'\r' | b',' | b'"' | b':' | b'[' | b']' | b'{' | b'}')
    }
}

/// The bytes between two positions in ascending order, both within the text.
fn part(text: &'static [u8], from: usize, to: usize) -> &'static [u8] {
    text.get(from..to).unwrap_or_default()
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The members of an object, by name: the fields of a record, or arguments.
pub struct Fields {
    text: &'static [u8],
    names: &'static [&'static str],
    at: [u16; MAX_ARGUMENTS], // position of each value
    next: usize,
}

impl Fields {
    fn none(text: &'static [u8], names: &'static [&'static str]) -> Self {
        Fields { text, names, at: [MISSING; MAX_ARGUMENTS], next: 0 }
    }

    /// Reads the members of the next object. Reverts unless it has exactly these names.
    /// Optional ones may be missing.
    #[inline(never)]
    pub fn of(p: &mut Parser, names: &'static [&'static str]) -> Self {
        let mut fields = Self::none(p.text, names);
        if !p.begins_object() {
            p.fail("not a JSON object");
        }
        let what = p.what;
        if !p.pass(b'}') {
            loop {
                fields.member(p);
                p.what = what;
                p.space();
                if p.pass(b'}') {
                    break;
                }
                p.expect(b',');
                p.space();
            }
        }
        fields
    }

    /// Like [`Fields::of`]; without names there is no object.
    pub fn of_variant(p: &mut Parser, names: &'static [&'static str]) -> Self {
        if names.is_empty() { Self::none(p.text, names) } else { Self::of(p, names) }
    }

    fn member(&mut self, p: &mut Parser) {
        let name = match p.string() {
            Some(name) => name,
            None => p.malformed(),
        };
        p.colon();
        let i = match self.names.iter().position(|n| n.as_bytes() == name) {
            Some(i) => i,
            None => {
                let mut reason = Buffer::new();
                reason.push(b"unknown argument ");
                reason.push(name);
                host::revert_bytes(reason.bytes())
            }
        };
        p.what = self.names[i];
        if self.at[i] != MISSING {
            p.fail("given twice")
        }
        self.at[i] = p.at as u16;
        p.skip(MAX_DEPTH);
    }

    /// The next member's value, in the order of the names.
    #[inline(never)]
    pub fn next<T: Value>(&mut self) -> T {
        let mut p = self.next_parser();
        if p.at == MISSING as usize {
            return T::missing(&p);
        }
        T::parse(&mut p)
    }

    #[inline(never)]
    fn next_parser(&mut self) -> Parser {
        let i = self.next;
        self.next += 1;
        Parser { text: self.text, at: self.at[i] as usize, what: self.names[i] }
    }
}

/// The arguments of a call, in either form.
pub enum Arguments {
    /// An object by parameter name.
    Json(Fields),
    /// The bytes after the first one, and the number of parameters still to be read.
    Binary(Reader, usize),
}

impl Arguments {
    /// The arguments of the current call. An empty text means the empty object.
    #[inline]
    pub fn read(names: &'static [&'static str]) -> Self {
        let text = host::args();
        match text.split_first() {
            Some((&binary::MARK, bytes)) => {
                let reader = Reader::new(bytes, "arguments: not of their types");
                if names.is_empty() {
                    reader.end()
                }
                Arguments::Binary(reader, names.len())
            }
            _ => Arguments::Json(Self::parse(text, names)),
        }
    }

    #[inline(never)]
    fn parse(text: &'static [u8], names: &'static [&'static str]) -> Fields {
        if text.is_empty() {
            return Fields::none(text, names);
        }
        let mut p = Parser::new(text, "arguments");
        p.space();
        let fields = Fields::of(&mut p, names);
        p.end();
        fields
    }

    /// The next argument, in the order of the names.
    #[inline]
    pub fn next<T: Value>(&mut self) -> T {
        match self {
            Arguments::Json(fields) => fields.next(),
            Arguments::Binary(reader, left) => {
                let value = T::unpack(reader);
                *left -= 1;
                if *left == 0 {
                    reader.end()
                }
                value
            }
        }
    }

    /// Whether the arguments are in the binary form. The result must be in the same form.
    pub fn binary(&self) -> bool {
        matches!(self, Arguments::Binary(..))
    }
}

/// Appends a string, in quotes.
pub(crate) fn write_string(text: &str, out: &mut Buffer) {
    out.push(b"\"");
    for byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => out.push(&[b'\\', *byte]),
            0..=0x1f => out.push(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), HEX[(byte & 15) as usize]]),
            _ => out.push(&[*byte]),
        }
    }
    out.push(b"\"");
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends bytes in hexadecimal after 0x, in quotes.
#[inline(never)]
pub(crate) fn write_hex(bytes: &[u8], out: &mut Buffer) {
    let mut to = out.extend(bytes.len() * 2 + 4); // for values from 4 on
    unsafe {
        to.cast::<[u8; 3]>().write(*b"\"0x");
        to = to.add(3);
        let mut from = bytes.as_ptr();
        let end = from.add(bytes.len());
        while end as usize - from as usize >= 8 {
            let eight = from.cast::<u64>().read_unaligned();
            to.cast::<u64>().write_unaligned(hex_of(eight as u32));
            to.add(8).cast::<u64>().write_unaligned(hex_of((eight >> 32) as u32));
            from = from.add(8);
            to = to.add(16);
        }
        while from != end {
            to.cast::<u16>().write_unaligned(hex_of(*from as u32) as u16);
            from = from.add(1);
            to = to.add(2);
        }
        *to = b'"';
    }
}

/// The 8 hex digits of 4 bytes, both little-endian. Each nibble is spread to a byte; all become digits at once.
#[inline(always)]
fn hex_of(bytes: u32) -> u64 {
    let mut v = bytes as u64;
    v = (v | v << 16) & 0x0000_ffff_0000_ffff;
    v = (v | v << 8) & 0x00ff_00ff_00ff_00ff;
    v = (v >> 4 | v << 8) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (v + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101; // 1 for nibbles from 10 to 15
    v + 0x3030_3030_3030_3030 + letters * (b'a' - 10 - b'0') as u64
}

/// Appends an integer: as a number up to 2^53 - 1, as a string if larger, because JavaScript would round it. In an
/// event it is always a number, as NEP-20 requires for amounts.
pub(crate) fn write_integer(negative: bool, number: u64, out: &mut Buffer) {
    let quoted = number >> 53 != 0 && !out.numbers;
    const MOST: usize = 23; // 20 digits, a sign and quotes
    let mut digits = core::mem::MaybeUninit::<[u8; MOST]>::uninit();
    let mut start = MOST;
    let mut put = |byte: u8| {
        start -= 1; // at most MOST times
        unsafe { digits.as_mut_ptr().cast::<u8>().add(start).write(byte) }
    };
    if quoted {
        put(b'"')
    }
    let mut rest = number;
    while rest > u32::MAX as u64 {
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    let mut rest = rest as u32; // which is cheap to divide
    loop {
        put(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if negative {
        put(b'-')
    }
    if quoted {
        put(b'"')
    }
    out.push(unsafe { core::slice::from_raw_parts(digits.as_ptr().cast::<u8>().add(start), MOST - start) }) // written
}

/// Appends an integer of 128 bits: as a string, in an event as a number.
pub(crate) fn write_wide(negative: bool, number: u128, out: &mut Buffer) {
    const PART: u128 = 1_000_000_000_000_000_000;
    if !out.numbers {
        out.push(b"\"")
    }
    if negative {
        out.push(b"-")
    }
    let numbers = core::mem::replace(&mut out.numbers, true);
    let mut parts = [0_u64; 3]; // limbs of 18 digits
    let mut n = 0;
    let mut rest = number;
    loop {
        parts[n] = (rest % PART) as u64;
        rest /= PART;
        n += 1;
        if rest == 0 {
            break;
        }
    }
    write_integer(false, parts[n - 1], out);
    for part in parts[..n - 1].iter().rev() {
        let mut smallest = PART as u64 / 10; // with leading zeros
        while smallest > 1 && *part < smallest {
            out.push(b"0");
            smallest /= 10;
        }
        write_integer(false, *part, out);
    }
    out.numbers = numbers;
    if !out.numbers {
        out.push(b"\"")
    }
}

/// Writes an object.
pub struct Object(Buffer);

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Object(Buffer::new())
    }

    /// Appends a member.
    #[inline(never)]
    pub fn member<T: Value>(&mut self, name: &str, value: &T) {
        self.0.push(if self.0.is_empty() { b"{\"" } else { b",\"" });
        self.0.push(name.as_bytes()); // a Rust identifier: nothing to escape
        self.0.push(b"\":");
        value.write(&mut self.0);
    }

    /// The text of the object; empty if it has no members.
    pub fn finish(&mut self) -> &'static [u8] {
        if !self.0.is_empty() {
            self.0.push(b"}");
        }
        self.0.bytes()
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads a value that spans the whole text.
pub(crate) fn read<T: Value>(text: &'static [u8], what: &'static str) -> T {
    let mut p = Parser::new(text, what);
    p.space();
    let start = p.at;
    p.skip(MAX_DEPTH); // like the scan of arguments, so that no malformed text reaches T
    p.end();
    p.at = start;
    T::parse(&mut p)
}

/// The bytes as text, if they are UTF-8 (RFC 3629). The standard library's function is three times as long.
pub(crate) fn utf8(bytes: &'static [u8]) -> Option<&'static str> {
    let mut rest = bytes.iter();
    while let Some(&first) = rest.next() {
        let (more, smallest) = match first {
            0..=0x7f => continue,
            0xc2..=0xdf => (1, 0x80),
            0xe0..=0xef => (2, 0x800),
            0xf0..=0xf4 => (3, 0x10000),
            _ => return None,
        };
        let mut code = (first & 0x3f >> more) as u32;
        for _ in 0..more {
            match rest.next() {
                Some(&next) if next >> 6 == 2 => code = code << 6 | (next & 0x3f) as u32,
                _ => return None,
            }
        }
        if code < smallest || char::from_u32(code).is_none() {
            return None;
        }
    }
    Some(unsafe { core::str::from_utf8_unchecked(bytes) }) // the digits were just checked
}
