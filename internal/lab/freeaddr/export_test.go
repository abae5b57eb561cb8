package freeaddr

// PickOf is [Pick] of another loopback address.
var PickOf = pick
