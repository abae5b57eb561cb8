package broker_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Text that is not UTF-8 is refused with the byte's offset in the message, and
// nothing of it is stored.
func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc := plain(t, b, agent("s1"))
	body := event("dev.askbus.ask.requested.v1", "a1", `{"id":"a1","questions":[{"text":"TEXT","kind":"boolean"}]}`)
	for name, v := range map[string]struct {
		text   string
		header nats.Header
		code   string
		says   string
	}{
		"GBK":              {"\xca\xfd\xbe\xdd", nil, ask.CodeInvalid, "byte 177 of the body (0xCA) is not UTF-8"},
		"NUL":              {`\u0000`, nil, ask.CodeInvalid, "byte 177 of the body is the escape"},
		"half a surrogate": {`\ud83c`, nil, ask.CodeInvalid, "surrogate"},
		"another charset":  {"x", nats.Header{"Content-Type": {"application/cloudevents+json; charset=GBK"}}, "unsupported_media_type", `"GBK"`},
	} {
		e := problem(t, request(t, nc, "askv1.acme.s1.ask.a1", v.header, strings.Replace(body, "TEXT", v.text, 1)))
		if e.Code != v.code || !strings.Contains(e.Detail, v.says) {
			t.Errorf("%s: %s %s", name, e.Code, e)
		}
	}
	// In binary mode and in base64 too.
	h := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"e"}, "ce-source": {"/x"}, "ce-type": {"dev.askbus.ask.requested.v1"}}
	if e := problem(t, request(t, nc, "askv1.acme.s1.ask.a1", h, "{\"id\":\"a1\",\"title\":\"\xff\"}")); !strings.Contains(e.Detail, "byte 20 of the body") {
		t.Error(e)
	}
	in64 := strings.Replace(body, `"data":{"id":"a1","questions":[{"text":"TEXT","kind":"boolean"}]}`, `"data_base64":"eyJpZCI6ImExIiwidGl0bGUiOiL/In0="`, 1)
	if e := problem(t, request(t, nc, "askv1.acme.s1.ask.a1", nil, in64)); !strings.Contains(e.Error(), "byte 20") {
		t.Error(e)
	}
	if e := problem(t, request(t, nc, "askv1.acme.s1.get.a1", nil, "")); e.Code != ask.CodeNotFound {
		t.Errorf("stored: %v", e)
	}
}

// A request whose id is no token gets a reply that says so.
func TestAnIDThatIsNoTokenGetsAReply(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc := plain(t, b, agent("s1"))
	for _, subj := range []string{"askv1.acme.s1.ask.中", "askv1.acme.s1.get.a$", "askv1.acme.s1.withdraw.ä"} {
		e := problem(t, request(t, nc, subj, nil, event("dev.askbus.ask.requested.v1", "x", `{"questions":[{"text":"t"}]}`)))
		if e.Code != ask.CodeInvalid || len(e.Faults) != 1 || e.Faults[0].Pointer != "/id" || !strings.Contains(e.Faults[0].Message, "A-Z a-z 0-9 _ -") {
			t.Errorf("%s: %v", subj, e)
		}
	}
}
