// Package picture makes the images of asks into what terminals draw: the kitty
// graphics protocol, or sixel. The bytes come from strangers: an image is decoded
// only if its head says that it has at most [MaxPixels], one at a time for each
// [Decoder], and what is written to a terminal is always encoded again here. It
// does not ask a terminal what it can draw.
package picture
