//! Memory that is allocated and never freed.
//!
//! An instance lives for one call, so everything that was read stays valid to the end (`'static`). A storage access
//! takes about as many bytes as its key and value have, while it costs thousands of gas.

#[cfg(target_arch = "wasm32")]
mod region {
    const PAGE: usize = 65_536;

    static mut TOP: usize = 0;
    static mut END: usize = 0;
    static mut SCRATCH: [[u8; super::SCRATCH]; 2] = [[0; super::SCRATCH]; 2];

    /// One of two buffers that are reused.
    pub fn scratch(which: usize) -> *mut u8 {
        unsafe { core::ptr::addr_of_mut!(SCRATCH[which]).cast() }
    }

    extern "C" {
        static __heap_base: u8; // set by the linker: the end of the stack and the data
    }

    /// The address of the first free byte. At least n bytes are free there.
    pub fn reserve(n: usize) -> *mut u8 {
        // An instance has one thread, and nothing else refers to these two statics.
        unsafe {
            if n >= END - TOP {
                find_room(n) // also at the first call, when both are 0
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

    /// Allocates n bytes that were reserved.
    pub fn take(n: usize) {
        unsafe { TOP += n }
    }

    /// Frees the n bytes before an end, if nothing was allocated after them.
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

    const SIZE: usize = 16 << 16; // the most memory that a contract may have

    thread_local! {
        static TOP: Cell<usize> = Cell::new(0);
        static END: Cell<usize> = Cell::new(0);
        static SCRATCH: [usize; 2] = [0; 2].map(|_| vec![0_u8; super::SCRATCH].leak().as_ptr() as usize);
    }

    pub fn scratch(which: usize) -> *mut u8 {
        SCRATCH.with(|places| places[which] as *mut u8)
    }

    pub fn reserve(n: usize) -> *mut u8 {
        // An allocation of 0 bytes gets an address too, because even an empty slice has one.
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

/// Bytes that a function writes: it gets room for `cap` bytes and returns how many it used.
pub(crate) fn fill(cap: usize, write: impl FnOnce(*mut u8) -> usize) -> &'static [u8] {
    let start = region::reserve(cap);
    let len = write(start);
    region::take(len);
    // The bytes were free, have just been written, and are never allocated again.
    unsafe { core::slice::from_raw_parts(start, len) }
}

/// Like [`fill`], for a fixed number of bytes.
pub(crate) fn fixed<const N: usize>(write: impl FnOnce(*mut u8)) -> &'static [u8; N] {
    let bytes = fill(N, |out| {
        write(out);
        N
    });
    unsafe { &*bytes.as_ptr().cast() } // N bytes
}

/// Makes a list of n items in order, each from its index.
pub fn list<T: 'static>(n: usize, mut make: impl FnMut(usize) -> T) -> &'static [T] {
    let align = core::mem::align_of::<T>();
    let size = n.checked_mul(core::mem::size_of::<T>()).and_then(|size| size.checked_add(align));
    let size = crate::OrRevert::or_revert(size, "out of memory");
    let start = region::reserve(size);
    region::take(size);
    let items = ((start as usize + align - 1) & !(align - 1)) as *mut T;
    for i in 0..n {
        let item = make(i); // may allocate memory itself
        unsafe { items.add(i).write(item) } // within the allocation, and aligned
    }
    unsafe { core::slice::from_raw_parts(items, n) } // all of them are written
}

/// Bytes that grow at their end.
pub struct Buffer {
    start: *mut u8,
    len: usize,
    room: usize, // allocated for it
    /// Whether integers of any size are written as JSON numbers.
    pub(crate) numbers: bool,
}

const ROOM: usize = 256; // initial capacity in bytes
const SCRATCH: usize = 256; // the longest key in bytes

impl Buffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Buffer { start: core::ptr::NonNull::dangling().as_ptr(), len: 0, room: 0, numbers: false }
    }

    /// An empty buffer in which integers of any size are written as numbers.
    pub(crate) fn of_event() -> Self {
        let mut buffer = Buffer::new();
        buffer.numbers = true;
        buffer
    }

    /// An empty buffer for a storage key. Only one exists at a time: it is read before the next one is begun.
    #[inline]
    pub(crate) fn of_key() -> Self {
        Buffer { start: region::scratch(0), len: 0, room: SCRATCH, numbers: false }
    }

    /// An empty buffer for a value that a host function reads before the next one is begun.
    #[inline]
    pub(crate) fn of_value() -> Self {
        Buffer { start: region::scratch(1), len: 0, room: SCRATCH, numbers: false }
    }

    /// The content of a buffer for a key or a value. It is valid until the next such buffer is begun.
    #[inline(always)]
    pub(crate) fn written(&self) -> &[u8] {
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }

    /// Makes room for n more bytes at the end. The caller sets how many of them it wrote.
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
            crate::host::key_too_long(self.len + n) // the buffer has the length of the longest key
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

    /// Something else allocated memory meanwhile, so the buffer moves behind it.
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

    /// Appends bytes whose number the compiler knows.
    #[inline]
    pub fn push_array<const N: usize>(&mut self, more: &[u8; N]) {
        let end = self.extend(N);
        unsafe { core::ptr::copy_nonoverlapping(more.as_ptr(), end, N) }
    }

    /// The content. The room after it is freed, unless something else was allocated meanwhile.
    pub fn bytes(&mut self) -> &'static [u8] {
        region::give_back(self.start as usize + self.room, self.room - self.len);
        self.room = self.len;
        unsafe { core::slice::from_raw_parts(self.start, self.len) } // written, and never allocated again
    }

    /// Overwrites a byte of the content.
    pub(crate) fn set(&mut self, at: usize, byte: u8) {
        if at < self.len {
            unsafe { *self.start.add(at) = byte }
        }
    }

    /// The length of the content in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether the content is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Copies n bytes word by word. The last word may overlap the one before.
///
/// # Safety
/// The same conditions as for `copy_nonoverlapping`.
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
