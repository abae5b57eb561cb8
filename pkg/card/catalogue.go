package card

import (
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// catalogue has the texts of cards in one language. In patterns, %s is filled in order, and %[1]s,
// %[2]s by number.
type catalogue struct {
	*lang.Language

	// Times, counts and lists.
	span  func(time.Duration) string
	ago   func(time.Duration) string
	until func(time.Duration) string
	clock func(at, now time.Time) string
	comma string
	or    string
	dot   string

	colon, asideMark string // separators: ": " and " (note)"

	// Who asks.
	anAgent, you, group        string
	asks, asked, forAgent      string
	session, branch            string
	tenant, waiting            string
	agentWaits                 string
	ends, shownToo, answerAt   string
	several                    func(questions int) string
	step, urgent, high         string
	onItsWay, failed           string
	looking, answering         string
	over, onlyThey, unproven   string
	tooWeak, demands           string
	excluded, noPerson         string
	notAsker                   string
	approved, denied, tookBack string // what a vote says
	declinedIt                 string
	needs                      func(minProof string) string // the required proof
	readOnly                   string
	forThem, expires, defaults string
	place                      func(responder string) string

	// Questions and options.
	recommended, destructive, cancels, endsAsk, optional, required string
	other, noAnswer, yes, no, unknown                              string
	howTo                                                          func(*ask.Question) string
	severalHow                                                     string
	limits                                                         func(*ask.Question) string
	needsAnswer, which                                             string
	again                                                          func(questions int) string

	// Ends.
	summaryDeclined, summaryWithdrawn, summaryAborted, summaryNobody string
	summaryGaveUp                                                    string
	summaryAnswered, summaryDefault, quoted, nothing                 string

	// What keys do.
	keyReason, keyTakeBack                                                                                string
	keyChoose, keyOther, keySend, keyNote, keyReply, keyDecline, keyContext, keyPreview, keyFind, keyMove string
}

// catalogues are the catalogues of all languages.
//
//nolint:gochecknoglobals // made once, never changed
var catalogues = sync.OnceValue(func() map[*lang.Language]*catalogue {
	all := map[*lang.Language]*catalogue{}
	for _, l := range lang.All() {
		all[l] = newCatalogue(l)
	}
	return all
})

// catalogueOf returns the catalogue of a language tag.
func catalogueOf(tag string) *catalogue { return catalogues()[lang.Of(tag)] }

// fill fills a pattern.
func fill(pattern string, values ...string) string {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return lang.Fill(pattern, all...)
}
