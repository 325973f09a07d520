import { copy } from "./memory";

/** The string that valid UTF-8 encodes. */
export function decodeText(from: usize, length: u32): string {
  const units = heap.alloc(<usize>length << 1);
  let to = units;
  for (const end = from + length; from < end; ) {
    const first = <u32>load<u8>(from++);
    if (first < 0x80) {
      store<u16>(to, first);
      to += 2;
      continue;
    }
    const more: u32 = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    let point = first & (0x3f >> more);
    for (let i: u32 = 0; i < more; i++) point = (point << 6) | (load<u8>(from++) & 0x3f);
    if (point >= 0x10000) {
      point -= 0x10000;
      store<u16>(to, 0xd800 | (point >> 10));
      to += 2;
      point = 0xdc00 | (point & 0x3ff);
    }
    store<u16>(to, point);
    to += 2;
  }
  const size = to - units;
  const text = __new(size, idof<string>());
  copy(text, units, <u32>size);
  return changetype<string>(text);
}
