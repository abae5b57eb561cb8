package interop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/faketelegram"
)

// TestAForeignBotAtOurTelegram runs a bot of grammY, unmodified, against the fake with which the surface in Telegram is
// tested: what the fake says must be what a library of others understands.
func TestAForeignBotAtOurTelegram(t *testing.T) {
	t.Parallel()
	f := faketelegram.Start()
	t.Cleanup(f.Close)
	f.AddUser(faketelegram.User{ID: 103, First: "Mei"}, -100500)
	s := runWith(t, "node", "telegram/bot.mjs", map[string]any{"url": f.URL(), "token": faketelegram.Token, "chat": -100500})
	says := func(want ...string) {
		t.Helper()
		got := string(encode(t, s.result().Result))
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("it says %s; want %s in it", got, part)
			}
		}
	}
	says(`"me":"askbus_fake_bot"`, `"sent":1`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if told, ok := f.Click(ctx, 103, f.Messages()[0], "SQLite"); !ok || told != "stored" {
		t.Errorf("the press is told %q, %v", told, ok)
	}
	says(`"from":103`, `"acknowledged":true`, `"text":"Mei chose lite"`, "message is not modified", "message is too long", "BUTTON_DATA_INVALID")
	f.Write(103, 103, "hello", 0)
	says(`"wrote":"hello"`, `"private":"private"`)
}
