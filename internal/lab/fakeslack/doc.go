// Package fakeslack simulates a Slack workspace in this process: the Web API, Socket Mode, signed
// HTTP deliveries, App Home and modals, and people who click and type.
//
// It decides what Slack decides: which block is rejected, which method is over its limit, which
// connection gets an envelope, whether a lost delivery is repeated. It can inject the faults that
// make Slack apps fail: ghost connections, lost clicks, repeated events, disconnect frames, an
// update's stricter limits, outages, revoked tokens, archived channels.
//
// It promises to be no more lenient than Slack is known to be: other makers' unmodified clients run
// against it in interop/. It has one workspace with one app; a test that needs two starts two
// servers. Among shipped packages, only the load driver imports it.
package fakeslack
