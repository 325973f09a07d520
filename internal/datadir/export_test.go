package datadir

// SignedName is the file of the height lock of a key on the chain of a genesis block.
var SignedName = signedName
