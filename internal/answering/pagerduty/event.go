package pagerduty

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// maxSummary is the longest summary that PagerDuty takes, in characters.
const maxSummary = 1024

// Actions of events.
const (
	trigger     = "trigger"
	acknowledge = "acknowledge"
	resolve     = "resolve"
)

// event is a request of the Events API v2.
type event struct {
	RoutingKey string   `json:"routing_key"`
	Action     string   `json:"event_action"`
	DedupKey   string   `json:"dedup_key"`
	Payload    *payload `json:"payload,omitempty"` // of a trigger
	Links      []link   `json:"links,omitempty"`
	Client     string   `json:"client,omitempty"`
	ClientURL  string   `json:"client_url,omitempty"`
}

type payload struct {
	Summary   string    `json:"summary"`
	Source    string    `json:"source"`
	Severity  string    `json:"severity"`
	Timestamp time.Time `json:"timestamp"`
	Component string    `json:"component,omitempty"`
	Group     string    `json:"group"`
	Class     string    `json:"class"`
	Details   details   `json:"custom_details"`
}

// details let the person who is woken find the ask. Its context, options and
// metadata are not among them: they stay on the bus.
type details struct {
	Ask      string   `json:"ask_id"`
	Tenant   string   `json:"tenant"`
	Session  string   `json:"session"`
	Step     int      `json:"step"`
	Tell     []string `json:"tell,omitempty"`
	Deadline string   `json:"deadline,omitempty"`
}

type link struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// dedupKey names the incident of a step: key is that of the ask's life.
func dedupKey(key string, step int) string { return key + "-" + strconv.Itoa(step) }

// triggerOf returns the event that opens the incident of a step.
func triggerOf(p *responder.Post, s *ask.Step) event {
	line := func(text string, most int) string { return ask.Clip(ask.CleanLine(text), most) }
	source := p.Ask.Tenant + "/" + p.Ask.Session
	e := event{Action: trigger, DedupKey: dedupKey(p.Key, s.N), Client: "askbus", ClientURL: p.Link, Payload: &payload{
		Summary: line(fmt.Sprintf("Nobody has decided this yet: %s (%s)", line(p.Ask.Heading(), maxSummary-200), source), maxSummary),
		Source:  "askbus " + source, Severity: severity(p.Ask.Priority), Timestamp: s.At.UTC(), Component: line(cmp.Or(p.Ask.Agent.Name, p.Ask.Agent.ID), 200),
		Group: p.Ask.Tenant, Class: "ask.escalated", Details: details{Ask: p.Ask.ID, Tenant: p.Ask.Tenant, Session: p.Ask.Session, Step: s.N, Tell: ask.Unresolved(s.Tell)},
	}}
	if !p.Ask.Deadline.IsZero() {
		e.Payload.Details.Deadline = p.Ask.Deadline.UTC().Format(time.RFC3339)
	}
	if p.Link != "" {
		e.Links = []link{{p.Link, "Open in askbus"}}
	}
	return e
}

// severity returns PagerDuty's word for a priority.
func severity(p ask.Priority) string {
	switch p {
	case ask.PriorityUrgent:
		return "critical"
	case ask.PriorityHigh:
		return "error"
	case ask.PriorityLow:
		return "info"
	case ask.PriorityNormal:
	}
	return "warning"
}
