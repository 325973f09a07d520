package datadir

// SignedName is the file of the sign state of a key on the chain of a genesis block.
var SignedName = signedName
