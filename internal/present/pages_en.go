package present

import (
	"fmt"
	"time"
)

// englishPages are the words around cards.
func englishPages() Words {
	counted := func(one, several string) func(int) string {
		return func(n int) string {
			if n == 1 {
				return one
			}
			return fmt.Sprintf(several, n)
		}
	}
	return Words{
		Send: "Send", YourAnswer: "Your answer", Whole: "The whole question", Questions: "Questions", Lost: "The connection is lost. Trying again.",
		Turn: TurnWords{
			PutOff: "Put off", PutOffUntil: "Put off, back {}", TakeBack: "Take it back now", Snoozed: "Snoozed", Returns: "Others still see it. It comes back to you by itself.",
			Minutes15: "15 minutes", Hour1: "1 hour", Hours4: "4 hours", Tomorrow: "tomorrow, 9:00", Monday: "Monday, 9:00",
			HandOver: "Hand over", To: "To", ToHow: "a name, os:mei or group:platform", Word: "A word to go with it",
			Moves: "It moves to their list. Everybody who may decide it still may.", GiveBack: "Give it back to everybody", Group: "group {}",
			HandedTo: "Handed to {1} by {2}", HandedWith: "Handed to {1} by {2}: “{3}”", InListYou: "handed to you", InListTo: "handed to {}", ReturnsWhen: "back {}",
			NotHanded: "Not handed over: “to” {}.", NotHandedWord: "Not handed over: the word {}.", NotPutOff: "Not put off: this {}.", NotNow: "This could not be stored just now. Try again.",
		},
		History: HistoryWords{
			Title: "History", Inbox: "Inbox", Session: "Session {}", Asked: "{1} asked, {2}", After: "after {}", Reason: "Reason: {}",
			NoneKept: "Nothing of this session is kept any more.", CameAfter: "What came after", Export: "Export", Search: "Search",
			SearchHow: "Search questions, answers, people, sessions", HowEnds: "How it ended", However: "However it ended",
			NoneFound: "No ended ask has these words.", NoneYet: "Nothing has ended yet.", Newer: "Newer", Older: "Older", PartOf: "{1}–{2} of {3}",
			Reading: "Older ones are still being read. Load this page again in a moment.", Today: "Today", Yesterday: "Yesterday", AnAgent: "an agent", You: "you",
			Answered: "Answered", Declined: "Declined", Withdrawn: "Taken back by the agent", Expired: "Expired", Aborted: "Ended by an operator",
			Day: func(at time.Time) string { return at.Format("Monday, 2 January 2006") },
		},
		Bulk: BulkWords{
			Title: "Decline several", Final: "The agents are told that a person declined. This is final.", More: "{} more are not on this page.",
			Why: "Why? The agents are told. You may leave it empty.", Decline: "Decline the chosen", Back: "Back to the inbox", Nothing: "Nothing here waits for you to decide.",
			Choose: "Nothing was declined: choose 1 to {} asks.",
			Done:   counted("1 ask is declined.", "%d asks are declined."), Late: counted("1 had ended already.", "%d had ended already."),
			Failed: counted("1 could not be declined; try it again.", "%d could not be declined; try them again."),
		},
	}
}
