//! The binary form of arguments and results (docs/protocol.md, "ABI"), and of values in storage.

use crate::{host, revert};

/// The first byte of arguments, results and typed errors in the binary form.
pub(crate) const MARK: u8 = 1;
/// The first byte of a typed error that this contract passes on from another one.
pub(crate) const MARK_PASSED: u8 = 2;

/// Reads bytes from front to back.
pub struct Reader {
    at: *const u8,
    left: usize,
    problem: &'static str,
}

impl Reader {
    pub(crate) fn new(bytes: &'static [u8], problem: &'static str) -> Self {
        Reader { at: bytes.as_ptr(), left: bytes.len(), problem }
    }

    /// Reverts because the bytes are not a value of the expected type.
    #[inline(never)]
    pub fn fail(&self) -> ! {
        revert(self.problem)
    }

    /// The next n bytes.
    #[inline(always)]
    pub fn take(&mut self, n: usize) -> &'static [u8] {
        if n > self.left {
            self.fail()
        }
        let at = self.at;
        self.left -= n;
        unsafe {
            self.at = at.add(n);
            core::slice::from_raw_parts(at, n) // within the bytes
        }
    }

    /// The next N bytes.
    #[inline(always)]
    pub fn fixed<const N: usize>(&mut self) -> &'static [u8; N] {
        unsafe { &*self.take(N).as_ptr().cast() } // N bytes
    }

    /// A byte that must be 0 or 1.
    pub(crate) fn flag(&mut self) -> bool {
        match self.take(1)[0] {
            0 => false,
            1 => true,
            _ => self.fail(),
        }
    }

    /// The number of the elements that follow. Each has at least one byte.
    pub(crate) fn count(&mut self) -> usize {
        let n = u64::from_le_bytes(*self.fixed());
        if n > self.left as u64 {
            self.fail()
        }
        n as usize
    }

    /// Reverts unless all bytes were read.
    #[doc(hidden)]
    pub fn finish(self) {
        self.end()
    }

    /// Reverts unless all bytes were read.
    #[inline(always)]
    pub(crate) fn end(&self) {
        if self.left != 0 {
            self.fail()
        }
    }
}

/// Whether the current call's arguments, and therefore its results and errors, are in the binary form.
pub(crate) fn asked() -> bool {
    host::args().first() == Some(&MARK)
}
