package bech32m

// Locate returns the indices of the wrong characters in a mistyped address, ascending: the characters that no address
// has or, if there are none, the one or two whose change makes the checksum valid. The result is empty if more
// characters are wrong or addr is not a bech32m string at all. The code has a distance of five, so two errors are
// located unambiguously (BIP-173). Locate does not reveal the right characters.
func Locate(addr string) (at []int) {
	hrp, data, err := splitBech32(addr)
	if err != nil {
		return nil
	}
	first := len(hrp) + 1
	for i := range len(data) {
		if charGroups[data[i]] == noGroup {
			at = append(at, first+i)
		}
	}
	if len(at) > 0 {
		return at
	}
	var room [maxBech32]byte
	if err := decodeGroups(&room, data); err != nil {
		return nil
	}
	wrong := checksumOf(hrp).addAll(room[:len(data)]) ^ bech32mChecksum
	if wrong == 0 {
		return nil
	}
	// The effect of a single error on the checksum does not depend on the other characters.
	places := make(map[checksum]int, 31*len(data))
	effects := make([]checksum, 0, 31*len(data))
	for i := range len(data) {
		for e := byte(1); e < 32; e++ {
			effect := checksum(e)
			for range len(data) - 1 - i {
				effect = effect.pushZero()
			}
			places[effect] = i
			effects = append(effects, effect)
		}
	}
	if i, one := places[wrong]; one {
		return []int{first + i}
	}
	for n, effect := range effects {
		if second, two := places[wrong^effect]; two && second > n/31 {
			return []int{first + n/31, first + second}
		}
	}
	return nil
}
