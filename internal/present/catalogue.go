package present

import (
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// catalogue is the words of one language. A test sees that no field is left
// out, so a language is either there or not. In patterns, {} is replaced in
// order, and {1}, {2} by number, for languages with another order.
type catalogue struct {
	lang string

	// Times, counts and lists.
	span  func(time.Duration) string
	ago   func(time.Duration) string
	until func(time.Duration) string
	clock func(at, now time.Time) string
	comma string
	or    string
	dot   string

	// Who asks.
	anAgent, you, group        string
	asks, asked, forAgent      string
	session, branch            string
	tenant, waiting            string
	noDeadline, agentWaits     string
	ends, shownToo, answerAt   string
	several                    func(questions int) string
	step, urgent, high         string
	onItsWay, failed           string
	looking, answering         string
	over, onlyThey, unproven   string
	tooWeak, demands           string
	excluded, noPerson         string
	notAsker                   string
	needs                      func(minProof string) string // what it demands
	readOnly                   string
	forThem, expires, defaults string
	place                      func(responder string) string

	// Questions and options.
	recommended, cancels, endsAsk, optional, required string
	other, noAnswer, yes, no, unknown                 string
	howTo                                             func(*ask.Question) string
	severalHow                                        string
	limits                                            func(*ask.Question) string
	needsAnswer, yourAnswer                           string
	again                                             func(questions int) string

	// Ends.
	ending                                               func(o *ask.Outcome, principal, clock string) string
	answered, declined, withdrawn, gaveUp                string // as leads
	expired, aborted                                     string
	gistDeclined, gistWithdrawn, gistAborted, gistNobody string
	gistGaveUp                                           string
	gistAnswered, gistDefault, quoted, nothing           string
	first                                                string

	// What keys do.
	keyChoose, keyOther, keySend, keyNote, keyReply, keyDecline, keyContext, keyPreview, keyFind, keyMove string

	page Words // what stands around cards
}

// catalogues are all languages, the one for everybody first.
var catalogues = []*catalogue{english()} //nolint:gochecknoglobals // never changed

// catalogueOf finds the words for a language tag: the tag, its language, else
// English.
func catalogueOf(tag string) *catalogue {
	tag = strings.ToLower(strings.ReplaceAll(tag, "_", "-"))
	for tag != "" {
		for _, w := range catalogues {
			if w.lang == tag {
				return w
			}
		}
		at := max(strings.LastIndexByte(tag, '-'), 0)
		tag = tag[:at]
	}
	return catalogues[0]
}

// fill puts values into a pattern.
func fill(pattern string, values ...string) string {
	pairs := make([]string, 0, 2*len(values))
	for i, value := range values {
		if numbered := "{" + string(rune('1'+i)) + "}"; strings.Contains(pattern, numbered) {
			pairs = append(pairs, numbered, value)
		}
	}
	if len(pairs) > 0 {
		return strings.NewReplacer(pairs...).Replace(pattern)
	}
	var b strings.Builder
	for _, value := range values {
		before, after, ok := strings.Cut(pattern, "{}")
		if !ok {
			break
		}
		b.WriteString(before + value)
		pattern = after
	}
	return b.String() + pattern
}
