package chattest

import (
	"regexp"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// LinkInbox is the inbox to whose page the codes of [World.Linked] lead.
const LinkInbox = "https://ask.example.com"

var linkAt = regexp.MustCompile(regexp.QuoteMeta(LinkInbox) + `/account/chats/([2-9A-Z]{4}-[2-9A-Z]{4}-[2-9A-Z]{4})`)

// LinkCode returns the code of words that lead to the page of [LinkInbox], as nobody's Markdown changes it; "" if they do not.
func LinkCode(words string) string {
	if found := linkAt.FindStringSubmatch(words); found != nil {
		return found[1]
	}
	return ""
}

// OptionLink returns an ask with an option of this name, which answers as well as others.
func OptionLink(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "do", Text: "What to do with the file?", Options: []ask.Option{{ID: "l", Label: "Link"}, {ID: "c", Label: "Copy"}}}}}
}

// AnsweredLink waits until the ask of [OptionLink] is answered with that option.
func (w *World) AnsweredLink(id string) {
	w.T.Helper()
	if o := w.Wait(id); len(o.Answers) != 1 || len(o.Answers[0].Selected) != 1 || o.Answers[0].Selected[0] != "l" {
		w.T.Errorf("it ended with %+v", o)
	}
}

// LinkCodes waits until somebody is told codes, and returns all that anybody was told.
func (w *World) LinkCodes(said func() []string) (codes []string) {
	w.T.Helper()
	natstest.Eventually(w.T, "a code", func() bool {
		codes = nil
		for _, words := range said() {
			if c := LinkCode(words); c != "" {
				codes = append(codes, c)
			}
		}
		return len(codes) > 0
	})
	return codes
}

// Linked links who was told a code with Mei at the inbox, and checks who that is.
func (w *World) Linked(code, principal string) {
	w.T.Helper()
	mei := ask.By{Principal: "oidc:mei", Name: "Mei", Proof: ask.ProofOIDC}
	if l, err := w.Other.Link(w.T.Context(), mei, code); err != nil || l.Principal != principal || l.Account != mei.Principal {
		w.T.Fatalf("linked: %+v, %v; want %s", l, err, principal)
	}
	if _, err := w.Other.Link(w.T.Context(), ask.By{Principal: "oidc:eve", Proof: ask.ProofOIDC}, code); err == nil {
		w.T.Error("the code links somebody else as well")
	}
}
