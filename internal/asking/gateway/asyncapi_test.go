package gateway_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/oasdiff/yaml"
)

type asyncAPI struct {
	AsyncAPI string
	Channels map[string]struct {
		Address    string
		Parameters map[string]any
		Messages   map[string]map[string]string
	}
	Operations map[string]struct {
		Action   string
		Channel  map[string]string
		Messages []map[string]string
	}
	Components struct {
		Messages map[string]struct {
			Name    string
			Payload map[string]any
			Data    map[string]any `json:"x-data"`
		}
		Schemas map[string]any
	}
}

func TestAsyncAPIAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc asyncAPI
	if _, err := yaml.Unmarshal(data, &doc, yaml.DecodeOpts{}); err != nil || doc.AsyncAPI != "3.1.0" {
		t.Fatal(doc.AsyncAPI, err)
	}
	verbs := map[string]bool{}
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	for name, ch := range doc.Channels {
		for _, m := range parameter.FindAllStringSubmatch(ch.Address, -1) {
			if ch.Parameters[m[1]] == nil {
				t.Errorf("%s: parameter %s is not described", name, m[1])
			}
		}
		for message, ref := range ch.Messages {
			if _, ok := doc.Components.Messages[strings.TrimPrefix(ref["$ref"], "#/components/messages/")]; !ok {
				t.Errorf("%s: message %s leads nowhere: %s", name, message, ref["$ref"])
			}
		}
		at := parameter.ReplaceAllString(strings.NewReplacer("{user}", "U"+strings.Repeat("A", 55), "{asker}", subject.TypeGateway).Replace(ch.Address), "x")
		switch strings.Split(at, ".")[0] {
		case subject.Agents, subject.Responders, subject.Hosts, subject.Operators:
			if _, _, _, _, ok := subject.ParsePresent(at); ok {
				continue
			}
			r, err := subject.Parse(at)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			verbs[r.Root+" "+string(r.Verb)] = true
		case subject.State:
			if r, err := subject.ParseState(strings.NewReplacer("{verb}", "put", "{role}", "gateway", "{scope}", "~", "{", "", "}", "").Replace(ch.Address)); err != nil {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		case subject.StateOut:
			if _, _, ok := subject.ParseStateEntry(at); !ok {
				t.Errorf("%s: %s is no such subject", name, at)
			}
		case subject.Out:
			if _, _, ok := subject.ParseOut(at); !ok {
				t.Errorf("%s: %s is no such subject", name, at)
			}
		case subject.Presence:
			if at != subject.Here("x", "x") {
				t.Errorf("%s: %s", name, at)
			}
		default:
			t.Errorf("%s: %s is not a subject of ours", name, at)
		}
	}
	for root, of := range map[string][]subject.Verb{
		subject.Agents: {subject.VerbAsk, subject.VerbGet, subject.VerbWait, subject.VerbWithdraw, subject.VerbRepeat, subject.VerbDelivered, subject.VerbList},
		subject.Responders: {
			subject.VerbGet, subject.VerbList, subject.VerbAnswer, subject.VerbCancel, subject.VerbReceipt, subject.VerbSnooze, subject.VerbHandOver, subject.VerbSeen, subject.VerbAway,
			subject.VerbNext, subject.VerbDone, subject.VerbExtend, subject.VerbLater,
		},
		subject.Hosts:     {subject.VerbGet, subject.VerbAnswer, subject.VerbCancel},
		subject.Operators: {subject.VerbAbort},
	} {
		for _, verb := range of {
			if !verbs[root+" "+string(verb)] {
				t.Errorf("no channel for %s of %s", verb, root)
			}
		}
	}
	for name, op := range doc.Operations {
		channel := strings.TrimPrefix(op.Channel["$ref"], "#/channels/")
		ch, ok := doc.Channels[channel]
		if !ok || channel != name {
			t.Errorf("operation %s is about %s", name, channel)
		}
		for _, ref := range op.Messages {
			if message, ok := strings.CutPrefix(ref["$ref"], "#/channels/"+channel+"/messages/"); !ok || ch.Messages[message] == nil {
				t.Errorf("operation %s: %s leads nowhere", name, ref["$ref"])
			}
		}
	}
	if len(doc.Operations) != len(doc.Channels) {
		t.Errorf("%d operations for %d channels", len(doc.Operations), len(doc.Channels))
	}
	events, said := eventTypes(t), map[string]bool{}
	for name, m := range doc.Components.Messages {
		if m.Name != "" && !slices.Contains(events, m.Name) {
			t.Errorf("message %s: the code knows no event %s", name, m.Name)
		}
		said[m.Name] = true
		for _, of := range []map[string]any{m.Payload, m.Data} {
			ref, _ := of["$ref"].(string)
			if file, ok := strings.CutPrefix(ref, "schemas/"); ok {
				if _, err := fs.Stat(wire.Schemas(), file); err != nil {
					t.Errorf("message %s: %v", name, err)
				}
			} else if own, ok := strings.CutPrefix(ref, "#/components/schemas/"); ref != "" && (!ok || doc.Components.Schemas[own] == nil) {
				t.Errorf("message %s: %s leads nowhere", name, ref)
			}
		}
	}
	for _, event := range events {
		if !said[event] {
			t.Errorf("no message for %s", event)
		}
	}
	if linked, err := os.ReadFile("../../../docs/asyncapi.yaml"); err != nil || string(linked) != string(data) {
		t.Errorf("docs/asyncapi.yaml is another one: %v", err)
	}
}

// eventTypes returns the event types in the code.
func eventTypes(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../../protocol/cloudevent/event.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, m := range regexp.MustCompile(`"(dev\.askbus\.[a-z.]+v1)"`).FindAllStringSubmatch(string(source), -1) {
		types = append(types, m[1])
	}
	return types
}
