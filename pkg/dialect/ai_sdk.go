package dialect

import (
	"cmp"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

const aiSDKName = "ai-sdk"

// aiSDKAsk reads the approval requests of AI SDK: a part of type
// tool-approval-request, or an array of parts, of which other types are
// skipped but for files, such as an image that the model made, and so are
// requests that a rule of the program has decided.
func aiSDKAsk(b *builder, v value) {
	b.meta(ask.MetadataPermission, aiSDKName)
	parts, i := v.oneOrMore(), 0
	for _, part := range parts {
		part.object()
		if typ := part.field("type"); len(parts) > 1 && (typ.string() != "tool-approval-request" || part.field("isAutomatic").bool(false)) {
			if typ.string() == "file" {
				b.attach(aiSDKFile(part))
			}
			part.ignore()
			continue
		} else if typ.string() != "tool-approval-request" {
			typ.fault(ask.FaultNotOneOf, clip(typ.string()), "tool-approval-request")
		}
		if i >= ask.MaxQuestions {
			part.fault(ask.FaultOneTooMany, ask.MaxQuestions)
			break
		}
		b.soonest(part)
		part.ignore("toolCallId", "isAutomatic", "providerMetadata", "providerExecuted", "reason")
		call := part.field("toolCall")
		if !call.given() { // in a message the call is a separate part
			call = callOf(parts, part.field("toolCallId").text())
		}
		call.object()
		call.ignore()
		b.remember(part.field("approvalId").need(), 0, i, "approval")
		if signature := part.field("signature").string(); signature != "" {
			b.remember(signature, 0, i, "signature")
		}
		if executed, _ := call.field("providerExecuted").raw.(bool); executed {
			b.remember("provider", 0, i, "executed")
		}
		name := call.field("toolName").text()
		if name == "" {
			call.field("toolName").fault(ask.FaultMissing, "string")
		}
		if id := call.field("toolCallId").text(); i == 0 {
			b.meta(ask.MetadataCall, cmp.Or(id, part.field("approvalId").string()))
		}
		b.approval(0, i, approval{name: name, description: part.field("reason").text(), args: call.first("input", "args").raw, at: part.at, approvable: true, rejectable: true})
		i++
	}
	if i == 0 && len(parts) != 1 {
		v.fault(ask.FaultMissing, "tool_approval_request")
	}
}

// aiSDKFile reads a file part of a model's or of a UI's message.
func aiSDKFile(part value) foreignFile {
	data := part.field("data")
	f := foreignFile{at: part, name: part.field("filename").text(), encoded: data, url: part.field("url").text()}
	if _, tagged := data.raw.(*object); tagged {
		f.encoded, f.text, f.url = data.field("data"), data.field("text"), data.field("url").text()
	} else if strings.Contains(data.text(), "://") {
		f.encoded, f.url = value{}, data.text()
	}
	return f
}

// callOf returns the tool call with this id among the parts of a message.
func callOf(parts []value, id string) value {
	for _, part := range parts {
		if part.field("type").text() == "tool-call" && part.field("toolCallId").text() == id {
			return part
		}
	}
	return value{r: parts[0].r, at: parts[0].at}
}

// aiSDKAnswer writes the parts of the tool message, one for each request in the
// same order, with its signature unchanged. Without a decision it returns a
// problem, and the calls stay unapproved.
func aiSDKAnswer(a *ask.Ask, o *ask.Outcome) Response {
	words, refused, none := refuses(a, o)
	if none != nil {
		return *none
	}
	parts := []any{}
	for i := 0; a.Question(approvalID(0, i)) != nil; i++ {
		decision, note := approvalReject, words
		if !refused {
			decision, _, note = decided(a, o, approvalID(0, i))
		}
		part := ordered("type", "tool-approval-response", "approvalId", recall(a, "", 0, i, "approval"), "approved", decision == approvalApprove)
		part.setText("reason", note)
		part.setText("signature", recall(a, "", 0, i, "signature"))
		if recall(a, "", 0, i, "executed") != "" { // the SDK passes on to the provider only what says so
			part.set("providerExecuted", true)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return problem(a, 409, "Not an approval", "not_an_approval", Report(a, o))
	}
	return respond(200, parts)
}

// aiSDKShow writes an ask as approval requests. Any other ask is shown as the
// input of a tool and answered elsewhere.
func aiSDKShow(a *ask.Ask) ([]byte, []Warning) {
	var s screen
	parts := []any{}
	for i := 0; cameAs(a, aiSDKName) && a.Question(approvalID(0, i)) != nil; i++ {
		id := approvalID(0, i)
		part := ordered("type", "tool-approval-request", "approvalId", recall(a, "", 0, i, "approval"),
			"toolCall", ordered("type", "tool-call", "toolCallId", id, "toolName", recall(a, id, id, "name"), "input", callArguments(a, a.Question(id), id, "args")))
		part.setText("reason", recall(a, "", id, "description"))
		part.setText("signature", recall(a, "", 0, i, "signature"))
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		s.warn("/questions", "are shown as text; an approval is yes or no, and this ask is answered elsewhere")
		parts = append(parts, ordered("type", "tool-approval-request", "approvalId", a.ID, "reason", a.Heading(),
			"toolCall", ordered("type", "tool-call", "toolCallId", a.ID, "toolName", "question", "input", ordered("question", a.Plain()))))
	}
	return encode(parts), s.warnings
}

// aiSDKReply reads approval responses: one part or an array of them.
func aiSDKReply(a *ask.Ask, v value) Given {
	given := Given{Decision: Replied}
	for _, part := range v.oneOrMore() {
		part.object()
		foreign, reason := part.field("approvalId").need(), part.field("reason").string()
		approved := part.field("approved").wanted("true, false").bool(false)
		if !cameAs(a, aiSDKName) {
			if foreign == a.ID && !approved {
				return Given{Decision: Declined, Reason: reason}
			}
			return Given{Decision: Dismissed}
		}
		known := false
		for i := 0; a.Question(approvalID(0, i)) != nil; i++ {
			if recall(a, "", 0, i, "approval") != foreign {
				continue
			}
			known = true
			part.field("approved").answers(approvalID(0, i))
			decision := approvalReject
			if approved {
				decision = approvalApprove
			}
			given.Reply.Answers = append(given.Reply.Answers, ask.Answer{QuestionID: approvalID(0, i), Selected: []string{decision}, Notes: reason})
		}
		if !known {
			part.field("approvalId").fault(ask.FaultNotAmong, clip(foreign), "the_requests")
		}
	}
	return given
}
