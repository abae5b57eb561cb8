package web_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// TestBrowserAVoteIsNoDraft: who has voted is not answering any more, nothing is left of what was sent, and what was said
// about the votes goes when others vote.
func TestBrowserAVoteIsNoDraft(t *testing.T) {
	t.Parallel()
	bus := newBus()
	a := question("a", ask.Question{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean})
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 3}}}
	k := bus.ask(a, 0)
	b := serve(t, bus).open(t, mei).live()
	votes := []ask.Vote{{AnswerID: "v1", By: mei, Choice: ask.ChoiceApprove, Reason: "OPS-7", At: time.Now()}}
	cast := func(votes []ask.Vote) {
		bus.mu.Lock()
		defer bus.mu.Unlock()
		bus.held[k].Votes = votes
		bus.tell(k)
	}
	answering := func() bool {
		there := bus.Attending(k)
		return len(there) == 1 && there[0].Answering
	}
	changed, stop := bus.Changes(board.Filter{})
	defer stop()
	b.keys("1n")
	b.keys("OPS-7")
	for !answering() {
		<-changed
	}
	bus.mu.Lock()
	bus.fail = &ask.Error{Code: ask.CodeVoted, Votes: votes}
	bus.mu.Unlock()
	b.click(".send")
	b.sees("Your vote is stored")
	cast(votes)
	b.wait(`document.querySelector('.send').innerText === 'Change the vote'`)
	b.wait(`!document.querySelector('article :checked') && document.querySelector('.note textarea').value === '' && Object.keys(localStorage).length === 0`)
	for answering() {
		<-changed
	}
	cast(append(votes, ask.Vote{AnswerID: "v2", By: tom, Choice: ask.ChoiceApprove, At: time.Now()}))
	b.sees("2 of 3 approvals")
	b.wait(`!document.body.innerText.includes('Your vote is stored')`)
	cast(nil) // mei took hers back in a terminal
	b.wait(`document.querySelector('.send').innerText === 'Vote'`)
}

// TestBrowserARowNamesOnePerson: the names of three would be cut off after a letter each.
func TestBrowserARowNamesOnePerson(t *testing.T) {
	t.Parallel()
	bus := newBus()
	k := bus.ask(question("db", database()), 0)
	for _, name := range []string{"Ana", "Tom", "Zoe"} {
		bus.there[k] = append(bus.there[k], board.Attention{Principal: name, Name: name})
	}
	b := serve(t, bus).open(t, mei, screen(1280, 800, "light")).live()
	b.wait(`[...document.querySelectorAll('#list .there')].map((el) => el.offsetWidth > 1 ? el.innerText : '').join() === 'Ana is looking at this,,'`)
}
