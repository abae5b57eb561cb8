// Package fakeslack is a workspace of Slack inside the process: the Web API,
// Socket Mode, signed HTTP deliveries, App Home and modals, with people who
// click and type.
//
// It decides what Slack decides: which block is refused, which method is over
// its limit, which connection gets an envelope, whether a lost delivery comes
// again. It holds the faults that make Slack apps fail: ghost connections, lost
// clicks, repeated events, disconnect frames, limits of an update that differ
// from those of a post, outages, revoked tokens, archived channels.
//
// It promises to be no kinder than Slack is known to be: unmodified clients of
// other makers run against it in interop/. It knows one workspace with one app;
// a test that needs two starts two servers. Nothing that ships imports it except
// the load driver.
package fakeslack
