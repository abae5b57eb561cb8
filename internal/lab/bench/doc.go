// Package bench measures askbus and prints reproducible figures.
//
// It measures the ask cycle: an agent asks, a responder sees it and answers, the agent gets the
// outcome. The same run alternates with the floor: raw NATS doing the same two durable writes and
// the same deliveries, without askbus. Machines are shared and noisy, so the ratio of adjacent
// rounds is the figure that counts, and every figure is a median of rounds with its spread.
//
// It uses the public libraries, pkg/client and pkg/responder, like any agent and any surface. It
// does not judge figures: docs/performance.md has the goals.
package bench
