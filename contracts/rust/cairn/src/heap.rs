//! Memory that is only ever taken.
//!
//! An instance lives for one call, so nothing is given back: what is read stays valid to the end (`'static`), and a
//! storage access uses about as many bytes as its key and value have, while it costs thousands of gas.

#[cfg(target_arch = "wasm32")]
mod region {
    const PAGE: usize = 65_536;

    static mut TOP: usize = 0;
    static mut END: usize = 0;
    static mut SCRATCH: [[u8; super::SCRATCH]; 2] = [[0; super::SCRATCH]; 2];

    /// One of two places that are written again and again.
    pub fn scratch(which: usize) -> *mut u8 {
        unsafe { core::ptr::addr_of_mut!(SCRATCH[which]).cast() }
    }

    extern "C" {
        static __heap_base: u8; // set by the linker: behind the stack and the data
    }

    /// The first free byte; at least n of them are free.
    pub fn reserve(n: usize) -> *mut u8 {
        // An instance has one thread, and nothing else refers to the two.
        unsafe {
            if n >= END - TOP {
                find_room(n) // also the first time, as both are 0 then
            }
            TOP as *mut u8
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn find_room(n: usize) {
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
    }

    /// Takes n bytes that were reserved.
    pub fn take(n: usize) {
        unsafe { TOP += n }
    }

    /// Gives the last n bytes before an end back, if nothing was taken behind them.
    pub fn give_back(end: usize, n: usize) {
        unsafe {
            if TOP == end {
                TOP = end - n
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod region {
    use std::cell::Cell;

    const SIZE: usize = 16 << 16; // what a contract may have at most

    thread_local! {
        static TOP: Cell<usize> = Cell::new(0);
        static END: Cell<usize> = Cell::new(0);
        static SCRATCH: [usize; 2] = [0; 2].map(|_| vec![0_u8; super::SCRATCH].leak().as_ptr() as usize);
    }

    pub fn scratch(which: usize) -> *mut u8 {
        SCRATCH.with(|places| places[which] as *mut u8)
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

    pub fn give_back(end: usize, n: usize) {
        TOP.with(|top| {
            if top.get() == end {
                top.set(end - n)
            }
        })
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

/// Bytes that grow at their end.
pub struct Buffer {
    start: *mut u8,
    len: usize,
    room: usize, // that was taken for it
    /// Integers are written to it as JSON numbers whatever their size.
    pub(crate) numbers: bool,
}

const ROOM: usize = 256; // to begin with
const SCRATCH: usize = 256; // bytes: a key has no more

impl Buffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Buffer { start: core::ptr::NonNull::dangling().as_ptr(), len: 0, room: 0, numbers: false }
    }

    /// An empty buffer to which integers are written as numbers whatever their size.
    pub(crate) fn of_event() -> Self {
        let mut buffer = Buffer::new();
        buffer.numbers = true;
        buffer
    }

    /// An empty buffer for a key of storage. There is one at a time, which a host function reads before the next.
    #[inline]
    pub(crate) fn of_key() -> Self {
        Buffer { start: region::scratch(0), len: 0, room: SCRATCH, numbers: false }
    }

    /// An empty buffer for a value that a host function reads before the next one is begun.
    #[inline]
    pub(crate) fn of_value() -> Self {
        Buffer { start: region::scratch(1), len: 0, room: SCRATCH, numbers: false }
    }

    /// What was appended to a buffer of a key or a value, until the next one is begun.
    #[inline(always)]
    pub(crate) fn written(&self) -> &[u8] {
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }

    /// Makes room for n bytes more at the end, of which the caller says which it writes.
    #[inline]
    pub(crate) fn extend(&mut self, n: usize) -> *mut u8 {
        if n > self.room - self.len {
            self.grow(n)
        }
        let end = unsafe { self.start.add(self.len) }; // within the room
        self.len += n;
        end
    }

    #[inline(never)]
    fn grow(&mut self, n: usize) {
        if self.start == region::scratch(0) {
            crate::host::key_too_long(self.len + n) // as long as the place is, a key may be
        }
        let more = if n < ROOM { ROOM } else { n };
        let top = region::reserve(more);
        if self.room == 0 {
            self.start = top
        } else if top as usize != self.start as usize + self.room {
            self.go_on_behind(more)
        }
        region::take(more);
        self.room += more;
    }

    /// Something else took memory meanwhile: goes on behind it.
    #[cold]
    #[inline(never)]
    fn go_on_behind(&mut self, more: usize) {
        let start = region::reserve(self.len + more);
        unsafe { core::ptr::copy_nonoverlapping(self.start, start, self.len) }
        region::take(self.len);
        self.start = start;
        self.room = self.len;
    }

    /// Appends bytes.
    #[inline(never)]
    pub fn push(&mut self, more: &[u8]) {
        let end = self.extend(more.len());
        unsafe { copy(more.as_ptr(), end, more.len()) }
    }

    /// Appends the length of a name in one byte, and the name.
    #[inline(never)]
    pub(crate) fn push_name(&mut self, name: &str) {
        let end = self.extend(name.len() + 1);
        unsafe {
            *end = name.len() as u8;
            copy(name.as_ptr(), end.add(1), name.len())
        }
    }

    /// Appends so many bytes that the compiler knows their number.
    #[inline]
    pub fn push_array<const N: usize>(&mut self, more: &[u8; N]) {
        let end = self.extend(N);
        unsafe { core::ptr::copy_nonoverlapping(more.as_ptr(), end, N) }
    }

    /// What was appended. The room behind it is given back, if nothing else was taken meanwhile.
    pub fn bytes(&mut self) -> &'static [u8] {
        region::give_back(self.start as usize + self.room, self.room - self.len);
        self.room = self.len;
        unsafe { core::slice::from_raw_parts(self.start, self.len) } // written, and never given out again
    }

    /// Sets a byte that was appended.
    pub(crate) fn set(&mut self, at: usize, byte: u8) {
        if at < self.len {
            unsafe { *self.start.add(at) = byte }
        }
    }

    /// How many bytes were appended.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Copies n bytes by words, the last of which may overlap the one before.
///
/// # Safety
/// As of `copy_nonoverlapping`.
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    let word = |at: usize| to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned());
    let half = |at: usize| to.add(at).cast::<u32>().write_unaligned(from.add(at).cast::<u32>().read_unaligned());
    if n < 8 {
        if n >= 4 {
            half(0);
            half(n - 4);
            return;
        }
        for i in 0..n {
            *to.add(i) = *from.add(i)
        }
        return;
    }
    let mut at = 0;
    while at < n - 8 {
        word(at);
        at += 8;
    }
    word(n - 8);
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}
