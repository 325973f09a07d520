import { copy } from "./memory";

/** Decodes valid UTF-8 to a string. */
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

/** The length of the UTF-8 character at an address (RFC 3629, section 4); 0 if it is invalid. */
export function characterLength(at: usize, end: usize): u32 {
  const first = <u32>load<u8>(at);
  if (first < 0x80) return 1;
  const length: u32 = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  let good = first >= 0xc2 && first <= 0xf4 && end - at >= length;
  for (let i: u32 = 1; good && i < length; i++) {
    const byte = <u32>load<u8>(at + i);
    good = (byte & 0xc0) == 0x80;
    if (i > 1) continue;
    if (first == 0xe0) good = good && byte >= 0xa0; // an overlong form
    if (first == 0xed) good = good && byte < 0xa0; // a surrogate
    if (first == 0xf0) good = good && byte >= 0x90; // an overlong form
    if (first == 0xf4) good = good && byte < 0x90; // above U+10FFFF
  }
  return good ? length : 0;
}
