package gateway_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
)

// Text that is not UTF-8 is refused at every door of HTTP and at the WebSocket.
func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	const body = `{"id":"a1","questions":[{"text":"TEXT","options":[{"label":"Yes"},{"label":"No"}]}]}`
	for text, says := range map[string]string{
		"\xca\xfd\xbe\xdd": "byte 33 of the body (0xCA) is not UTF-8", `\u0000`: "byte 33 of the body is the escape", `\udc00`: "byte 33 of the body is the escape",
	} {
		d.do(agent, "POST", "/v1/asks", strings.Replace(body, "TEXT", text, 1)).want(t, 400, says)
		d.do(agent, "POST", "/v1/asks?dialect=by-id", strings.Replace(body, "TEXT", text, 1)).want(t, 400, says)
	}
	d.do(agent, "POST", "/v1/asks", body, "Content-Type", "application/json; charset=GBK").want(t, 415, `GBK`)
	d.do(agent, "POST", "/a2a", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}").want(t, 200, "-32700", "byte 34")
	d.do(agent, "POST", "/a2a", "["+strings.Repeat(`{},`, 1000)+"{}]").want(t, 200, "-32600", "batches are not supported")
	d.do(agent, "GET", "/v1/asks/s1/a1", "").want(t, 404)
	w := d.dial(d.screen("s1"), "")
	w.send(`{"type":"hello","data":{"by":"\ud800"}}`)
	if f := w.next("error"); !strings.Contains(f.Data.Detail, "byte 30 of the body") {
		t.Errorf("%+v", f)
	}
}

// An agent names the shape of its asks in a hello as well as in the address.
func TestAnAgentsHelloSetsItsDialect(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	w := d.dial(d.agent("s1"), "?sessionId=s1")
	w.send(`{"type":"hello","data":{"dialect":"d9"}}`)
	if e := w.next("error"); !strings.Contains(e.Data.Detail, "event-pair, typed, interact") {
		t.Errorf("%+v", e)
	}
	w.send(`{"type":"hello","data":{"dialect":"typed"}}`)
	w.send(`{"type":"ask:question:request","data":{"id":"n","questions":[{"question":"How many?","type":"number"}]}}`)
	if f := w.read(); f.Type != "ask:question:pending" || f.Data.ID != "n" {
		t.Errorf("%+v", f)
	}
}
