package types

// EvidenceHolds reports whether the evidence of a rule's signer holds for a message. text returns the message's text
// for Bitcoin wallets, or false if there is none.
func EvidenceHolds(s Signer, e Evidence, message [32]byte, text func() (string, bool)) bool {
	var c checks
	return c.evidence(0, s, e, message, text) && c.run(1)[0]
}
