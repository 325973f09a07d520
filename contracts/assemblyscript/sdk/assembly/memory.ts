/** Copies bytes between ranges that do not overlap. */
export function copy(to: usize, from: usize, length: u32): void {
  const end = from + length;
  for (; from + 8 <= end; from += 8, to += 8) store<u64>(to, load<u64>(from));
  for (; from < end; from++, to++) store<u8>(to, load<u8>(from));
}

/** Copies 32 bytes. */
// @ts-ignore: decorator
@inline
export function copy32(to: usize, from: usize): void {
  store<u64>(to, load<u64>(from));
  store<u64>(to, load<u64>(from, 8), 8);
  store<u64>(to, load<u64>(from, 16), 16);
  store<u64>(to, load<u64>(from, 24), 24);
}

/** Whether two ranges of the same length hold the same bytes. */
export function same(a: usize, b: usize, length: u32): bool {
  for (const end = a + length; a < end; a++, b++) {
    if (load<u8>(a) != load<u8>(b)) return false;
  }
  return true;
}
