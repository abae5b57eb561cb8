package interop_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// acpSchema compiles one definition of ACP's schema, version 2, from the
// official package.
func acpSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	const file = "node_modules/@agentclientprotocol/sdk/schema/v2/schema.json"
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	whole, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("acp.json", whole); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("acp.json#/$defs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits reports what a message breaks of a schema.
func fits(t *testing.T, s *jsonschema.Schema, body []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, body)
	}
}

// TestACPVersion2FitsItsSchema reads requests of every shape that version 2 of
// ACP has for permissions and forms, and checks each answer that we give, and
// what we show of any ask, with the schema of the official package.
func TestACPVersion2FitsItsSchema(t *testing.T) {
	t.Parallel()
	const call = `{"toolCallId":"call_1","title":"Run","kind":"execute","status":"pending","rawInput":{"command":"make"}}`
	options := `[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"Reject","kind":"reject_once"},{"optionId":"never","name":"Never","kind":"_reject_today"}]`
	form := func(scope, properties string) string {
		return `{` + scope + `,"mode":"form","message":"Choose","requestedSchema":{"type":"object","properties":` + properties + `,"required":["a"]}}`
	}
	for _, c := range []struct {
		dialect, asked, answered string
		requests                 []string
	}{
		{"acp-permission", "RequestPermissionRequest", "RequestPermissionResponse", []string{
			`{"sessionId":"s","title":"May I?","options":` + options + `}`,
			`{"sessionId":"s","title":"May I?","description":null,"subject":null,"_meta":null,"options":` + options + `}`,
			`{"sessionId":"s","title":"May I?","subject":{"type":"tool_call","toolCall":` + call + `},"options":` + options + `}`,
			`{"sessionId":"s","title":"May I?","subject":{"type":"command","command":"make","cwd":"/src","toolCallId":"call_1"},"options":` + options + `}`,
			`{"sessionId":"s","title":"May I?","subject":{"type":"_budget","cents":5},"options":` + options + `}`,
		}},
		{"elicitation", "CreateElicitationRequest", "CreateElicitationResponse", []string{
			form(`"sessionId":"s"`, `{"a":{"type":"string"}}`),
			form(`"sessionId":"s","toolCallId":"call_1"`, `{"a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]},"b":{"type":"boolean"}}`),
			form(`"requestId":7`, `{"a":{"type":"array","items":{"type":"string","enum":["x","y"]}},"n":{"type":"integer","minimum":1},"f":{"type":"number"}}`),
		}},
	} {
		d, _ := dialect.Lookup(c.dialect)
		asked, answered := acpSchema(t, c.asked), acpSchema(t, c.answered)
		for _, request := range c.requests {
			fits(t, asked, []byte(request))
			a, _, err := d.Ask([]byte(request))
			if err != nil {
				t.Errorf("%v\n%s", err, request)
				continue
			}
			a.ID, a.Session = "ask-1", "s"
			for _, row := range asktest.Outcomes(&a) {
				if told := d.Answer(&a, &row.Outcome); told.Status == 200 {
					fits(t, answered, told.Body)
				}
			}
			if shown, _ := d.Show(&a); c.dialect == "acp-permission" { // elicitation shows MCP's, which have no scope
				fits(t, asked, shown)
			}
		}
	}
}

// TestACPVersion2OfTheFuture reads what version 2 leaves open: each is passed on
// or refused by its place, and none grants anything.
func TestACPVersion2OfTheFuture(t *testing.T) {
	t.Parallel()
	elicitation, _ := dialect.Lookup("elicitation")
	request := acpSchema(t, "CreateElicitationRequest")
	for body, at := range map[string]string{
		`{"sessionId":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"c":{"type":"_color","depth":8}}}}`: "/requestedSchema/properties/c/type",
		`{"sessionId":"s","mode":"_voice","message":"m"}`: "/mode",
	} {
		fits(t, request, []byte(body))
		if _, _, err := elicitation.Ask([]byte(body)); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", body, err)
		}
	}
	form, _, err := elicitation.Ask([]byte(`{"sessionId":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	response := acpSchema(t, "CreateElicitationResponse")
	for _, value := range []string{`{"r":1}`, `[{"r":1}]`, `[[]]`, `null`} {
		body := []byte(`{"action":"accept","content":{"a":` + value + `}}`)
		fits(t, response, body)
		if given, err := elicitation.Reply(&form, body); err == nil && len(given.Reply.Answers) == 1 && !given.Reply.Answers[0].Skipped {
			t.Errorf("%s: %+v", body, given)
		}
	}
	other := []byte(`{"action":"_later","when":"tomorrow"}`)
	fits(t, response, other)
	if given, err := elicitation.Reply(&form, other); err == nil && given.Decision == dialect.Replied {
		t.Errorf("%s: %+v", other, given)
	}
	permission, _ := dialect.Lookup("acp-permission")
	a, _, err := permission.Ask([]byte(`{"sessionId":"s","title":"t","options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	outcome := acpSchema(t, "RequestPermissionResponse")
	for _, body := range []string{`{"outcome":{"outcome":"_deferred","until":"noon"}}`, `{"outcome":{"outcome":"cancelled","_meta":{"x":1}}}`} {
		fits(t, outcome, []byte(body))
		if given, err := permission.Reply(&a, json.RawMessage(body)); err == nil && given.Decision != dialect.Dismissed {
			t.Errorf("%s: %+v", body, given)
		}
	}
}
