package present

import "time"

// Words are what stands around cards: on buttons, in menus, as headings. The
// pages of a surface take them from here, so that a language is one file.
// Patterns have {}, as those of the cards; [Fill] fills them.
type Words struct {
	// Of the panel above a chat input.
	Send, YourAnswer, Whole, Questions, Lost string

	Turn    TurnWords
	History HistoryWords
	Bulk    BulkWords
}

// TurnWords are about whose turn an ask is: putting off and handing over.
type TurnWords struct {
	PutOff, PutOffUntil, TakeBack, Snoozed, Returns        string
	Minutes15, Hour1, Hours4, Tomorrow, Monday             string
	HandOver, To, ToHow, Word, Moves, GiveBack, Group      string
	HandedTo, HandedWith, InListYou, InListTo, ReturnsWhen string
	NotHanded, NotHandedWord, NotPutOff, NotNow            string
}

// HistoryWords are those of the history and of a session as a conversation.
type HistoryWords struct {
	Title, Inbox, Session, Asked, After, Reason             string
	NoneKept, CameAfter, Export, Search, SearchHow, HowEnds string
	However, NoneFound, NoneYet, Newer, Older, PartOf       string
	Reading, Today, Yesterday, AnAgent, You                 string
	Answered, Declined, Withdrawn, Expired, Aborted         string
	Day                                                     func(time.Time) string
}

// BulkWords are those of declining several asks at once.
type BulkWords struct {
	Title, Final, More, Why, Decline, Back, Nothing string
	Choose                                          string
	Done, Late, Failed                              func(asks int) string
}

// WordsOf are the words of a language tag; English when it is unknown.
func WordsOf(lang string) *Words { return &catalogueOf(lang).page }

// Fill puts values into a pattern of [Words].
func Fill(pattern string, values ...string) string { return fill(pattern, values...) }

// Asks says who asks: "builder asks".
func (c *Card) Asks() string { return fill(c.words.asks, c.Asker.Agent) }

// Others says who else is at an ask, each in a sentence. The viewer is left out.
func (v Viewer) Others(all ...Attention) []string {
	w := v.words()
	var words []string
	for i := range all {
		if v.is(&all[i].By) {
			continue
		}
		pattern := w.looking
		if all[i].Answering {
			pattern = w.answering
		}
		words = append(words, fill(pattern, Name(all[i].By)))
	}
	return words
}
