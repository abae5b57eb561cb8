//go:build race

package waittest

// Fewer divides how often tests repeat what finds leaks or rare inputs. Races show in the first repetitions, and the
// tests run in full without the detector.
const Fewer = 20

const slower = 3 // the race detector takes most of a core's time
