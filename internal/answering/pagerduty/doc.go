// Package pagerduty opens an incident in PagerDuty for each step of an ask's ladder
// that names it ("via": ["pagerduty"]), acknowledges it when somebody looks at the
// ask, and resolves it when the ask ends. It only tells: nobody answers there.
//
// It speaks the Events API v2. The deduplication key of an incident is that of the
// ask's life and the step, the same on every replica, so an event that is sent again,
// after a crash or a lost reply, is still one incident.
package pagerduty
