package feishu

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// The header of a card has 200 bytes, and a title 300 characters: it can say what somebody permits.
func TestALongTitleIsShownWhole(t *testing.T) {
	t.Parallel()
	rec := &ask.Record{State: ask.StatePending, Ask: ask.Ask{
		Title: strings.Repeat("删", 299) + "尾", Metadata: map[string]any{ask.MetadataPermission: "x"},
		Questions: []ask.Question{{ID: "q", Kind: ask.KindBoolean, Text: "May it?"}},
	}}
	d := drawing{Card: card.New(rec, card.Viewer{Surface: Type, Shared: true}, time.Now()), rec: rec, open: true}
	if content := d.content(); d.cut || !strings.Contains(content, rec.Ask.Title) {
		t.Errorf("cut is %v: %s", d.cut, content)
	}
	if rec.Ask.Title = "短"; strings.Count((&drawing{Card: card.New(rec, card.Viewer{Surface: Type, Shared: true}, time.Now()), rec: rec, open: true}).content(), "短") != 2 { // the header, and the notification
		t.Error("a short title is there twice")
	}
}
