// Package bench measures askbus and prints figures that anyone can reprint.
//
// The ask cycle is what counts: an agent asks, a responder sees it and answers,
// the agent has the outcome. Beside it, in the same run and alternating, runs
// the floor: raw NATS doing the same two durable writes and the same
// deliveries, with no askbus in between. Machines are shared and noisy, so the
// ratio of neighbouring rounds is the figure that counts, and every figure is a
// median of rounds with its spread.
//
// It measures with the public libraries, pkg/client and pkg/responder, as any
// agent and any surface would. It decides nothing and judges nothing: which
// figure is good enough stands in docs/performance.md.
package bench
