//! Memory that is only ever taken.
//!
//! An instance lives for one call, so nothing is given back: what is read stays valid to the end (`'static`), and a
//! storage access uses about as many bytes as its key and value have, while it costs thousands of gas.

#[cfg(target_arch = "wasm32")]
mod region {
    const PAGE: usize = 65_536;

    static mut TOP: usize = 0;
    static mut END: usize = 0;

    extern "C" {
        static __heap_base: u8; // set by the linker: behind the stack and the data
    }

    /// The first free byte; at least n of them are free.
    pub fn reserve(n: usize) -> *mut u8 {
        // An instance has one thread, and nothing else refers to the two.
        unsafe {
            if END == 0 {
                TOP = &__heap_base as *const u8 as usize;
                END = core::arch::wasm32::memory_size(0) * PAGE;
            }
            if n > END - TOP {
                let pages = (n - (END - TOP) + PAGE - 1) / PAGE;
                if core::arch::wasm32::memory_grow(0, pages) == usize::MAX {
                    crate::revert("out of memory");
                }
                END += pages * PAGE;
            }
            TOP as *mut u8
        }
    }

    /// Takes n bytes that were reserved.
    pub fn take(n: usize) {
        unsafe { TOP += n }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod region {
    use std::cell::Cell;

    const SIZE: usize = 16 << 16; // what a contract may have at most

    thread_local! {
        static TOP: Cell<usize> = Cell::new(0);
        static END: Cell<usize> = Cell::new(0);
    }

    pub fn reserve(n: usize) -> *mut u8 {
        // Nothing asked of nothing is given an address, too: a slice has one even where it is empty.
        if END.with(Cell::get) == 0 || n > END.with(Cell::get) - TOP.with(Cell::get) {
            assert!(n <= SIZE, "more memory than a contract may have");
            let fresh = vec![0_u8; SIZE].leak().as_ptr() as usize;
            TOP.with(|top| top.set(fresh));
            END.with(|end| end.set(fresh + SIZE));
        }
        TOP.with(Cell::get) as *mut u8
    }

    pub fn take(n: usize) {
        TOP.with(|top| top.set(top.get() + n))
    }
}

/// Bytes that a function fills: it is given room for at most `cap` and says how many it used.
pub(crate) fn fill(cap: usize, write: impl FnOnce(*mut u8) -> usize) -> &'static [u8] {
    let start = region::reserve(cap);
    let len = write(start);
    region::take(len);
    // The bytes were free, were just written, and are never given out again.
    unsafe { core::slice::from_raw_parts(start, len) }
}

/// Like [`fill`], of a fixed number of bytes.
pub(crate) fn fixed<const N: usize>(write: impl FnOnce(*mut u8)) -> &'static [u8; N] {
    let bytes = fill(N, |out| {
        write(out);
        N
    });
    unsafe { &*bytes.as_ptr().cast() } // N bytes
}

/// A list of n items, made one after the other from their index.
pub fn list<T: 'static>(n: usize, mut make: impl FnMut(usize) -> T) -> &'static [T] {
    let align = core::mem::align_of::<T>();
    let size = n.checked_mul(core::mem::size_of::<T>()).and_then(|size| size.checked_add(align));
    let size = crate::OrRevert::or_revert(size, "out of memory");
    let start = region::reserve(size);
    region::take(size);
    let items = ((start as usize + align - 1) & !(align - 1)) as *mut T;
    for i in 0..n {
        let item = make(i); // may take memory itself
        unsafe { items.add(i).write(item) } // within what was taken, aligned
    }
    unsafe { core::slice::from_raw_parts(items, n) } // all of them are written
}

/// Bytes that grow at their end. Only one may be filled at a time.
pub struct Buffer {
    bytes: &'static [u8],
    /// Integers are written to it as JSON numbers whatever their size.
    pub(crate) numbers: bool,
}

impl Buffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Buffer { bytes: &[], numbers: false }
    }

    /// Appends bytes.
    pub fn push(&mut self, more: &[u8]) {
        let len = self.bytes.len();
        let mut end = region::reserve(more.len());
        if len == 0 {
            self.bytes = unsafe { core::slice::from_raw_parts(end, 0) };
        } else if end as usize != self.bytes.as_ptr() as usize + len {
            // Something else took memory meanwhile: go on behind it.
            let old = self.bytes;
            end = region::reserve(len + more.len());
            unsafe { core::ptr::copy_nonoverlapping(old.as_ptr(), end, len) }
            self.bytes = unsafe { core::slice::from_raw_parts(end, len) };
            region::take(len);
            end = unsafe { end.add(len) };
        }
        unsafe {
            core::ptr::copy_nonoverlapping(more.as_ptr(), end, more.len());
            self.bytes = core::slice::from_raw_parts(self.bytes.as_ptr(), len + more.len());
        }
        region::take(more.len());
    }

    /// What was appended.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}
