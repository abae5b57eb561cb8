package chat

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Seen is a message of a thread. Payload returns the strings that a message of this app carries out of sight: "ask" and
// "life" of a card, and what [Taken.Payload] has. It returns "" for everything else.
type Seen struct {
	ID      string
	User    string // id; empty for an app
	Payload func(key string) string
}

// Thread is what a thread holds for somebody who wrote in it.
type Thread struct {
	Ours    bool   // it has a card
	Open    []Open // the newest first
	Handled bool   // another replica has handled the reply
}

// Open is an open ask of a thread.
type Open struct {
	Rec    *ask.Record
	Card   Message
	Others bool         // somebody else wrote since the card
	Draft  []ask.Answer // the person's earlier answers
}

// Bounds of reading a thread.
const (
	maxThreadCards = 50 // of which the newest are looked up
	maxOpen        = 5  // open asks of a thread that a reply may be offered to
	maxHeld        = 3000
)

// ReadThread returns what a thread holds, the oldest message first, for the user who wrote the reply m.
func (s *Surface) ReadThread(ctx context.Context, messages []Seen, m Message, user string) (t Thread) {
	drafts, cards, others := map[string][]ask.Answer{}, 0, false
	for i := range slices.Backward(messages) {
		f := &messages[i]
		if m.ID != "" && f.Payload("for") == m.ID {
			return Thread{Ours: true, Handled: true}
		}
		k, ok := ask.ParseKey(f.Payload("ask"))
		if !ok {
			others = others || f.ID != m.ID && f.User != user
			continue
		}
		if held := f.Payload("draft"); held != "" {
			var list []ask.Answer
			if f.Payload("by") == user && drafts[k.String()] == nil && json.Unmarshal([]byte(held), &list) == nil {
				drafts[k.String()] = list
			}
			continue
		}
		t.Ours = true
		if cards++; cards > maxThreadCards || len(t.Open) > maxOpen {
			continue
		}
		rec, err := s.Bus.Get(ctx, k)
		if err != nil || rec.Life != f.Payload("life") || rec.State != ask.StatePending {
			if err != nil && !errors.Is(err, ask.ErrNotFound) {
				s.Log.WarnContext(ctx, "cannot read an ask of a thread", slog.String("ask_id", k.ID), slog.String("error", err.Error()))
			}
			continue
		}
		at := Message{Channel: m.Channel, ID: f.ID, Thread: m.Thread}
		if same := slices.IndexFunc(t.Open, func(o Open) bool { return o.Rec.Ask.Key() == k }); same >= 0 {
			t.Open[same].Card, t.Open[same].Others = at, others
			continue
		}
		t.Open = append(t.Open, Open{Rec: &rec, Card: at, Others: others, Draft: drafts[k.String()]})
	}
	return t
}

// Answers reports whether words answer an ask of the thread: the first. Unread says that it has more messages than
// were read.
func (t *Thread) Answers(h Heard, unread bool) bool {
	asks := make([]*ask.Ask, len(t.Open))
	for i := range t.Open {
		asks[i] = &t.Open[i].Rec.Ask
	}
	return len(asks) > 0 && h.Answers(asks, unread || t.Open[0].Others)
}

// Said is what a button carries that sends words of a thread as an answer.
type Said struct {
	Target string `json:"t"`           // the ask, as [Ref.Question]
	Whole  bool   `json:"a,omitempty"` // the words are for the whole ask, not for the target's question
	Card   string `json:"c,omitempty"` // id
	User   string `json:"u"`           // id of who wrote them
	Reply  string `json:"r"`           // id of the message that they are in
	Thread string `json:"h"`
	Words  string `json:"w"`
	Sure   bool   `json:"y,omitempty"` // the words choose a destructive option, and the button says so
}

// ParseSaid parses what [Offer.Value] returned.
func ParseSaid(value string) (b Said, of Ref, ok bool) {
	if json.Unmarshal([]byte(value), &b) == nil {
		of, ok = ParseRef(b.Target)
	}
	return b, of, ok
}

// question returns the question that the words are for, or nil: the whole ask.
func (b *Said) question(a *ask.Ask) *ask.Question {
	t, ok := ParseRef(b.Target)
	if !ok || b.Whole || t.Q >= len(a.Questions) {
		return nil
	}
	return &a.Questions[t.Q]
}

// Offer is a button that sends words as an answer. Only their writer may see it.
type Offer struct {
	N     int // different for each button of a message
	Label string
	Said  Said
}

// Value encodes what the button carries.
func (o *Offer) Value() string {
	data, _ := json.Marshal(o.Said) // strings always marshal
	return string(data)
}

// Offer returns what to tell the writer of words that were not taken as an answer, with a button for each open ask.
func (t *Thread) Offer(l *lang.Language, by Said) (text string, offers []Offer) {
	for i := range t.Open[:min(len(t.Open), maxOpen)] {
		o := &t.Open[i]
		by.Target, by.Whole, by.Card = Ref{Key: o.Rec.Ask.Key(), Life: o.Rec.Life}.Question(), true, o.Card.ID
		label := l.Say("Send this as the answer")
		if len(t.Open) > 1 {
			label = l.Say("Answer: %s", card.Heading(&o.Rec.Ask))
		}
		offers = append(offers, Offer{i, label, by})
	}
	if len(t.Open) > 1 {
		return l.Say("This was not taken as an answer: several questions are open in this thread."), offers
	}
	return l.Say("This was not taken as an answer, because people also talk in threads. Begin with “answer:” to answer."), offers
}

// Taken is what words for an ask come to: one of Decline, Reply, Again, and Why with Offers.
type Taken struct {
	Decline *responder.Decline
	Reply   *ask.Reply
	Again   string            // what to ask again in the thread
	Payload map[string]string // of that message: the ask and the answers so far, so that any replica can continue
	Why     string            // why they were not understood, for their writer alone
	Offers  []Offer           // what they may mean
}

// Take reads words for an open ask, in the language of their writer.
func (s *Surface) Take(l *lang.Language, by Said, o *Open) Taken {
	id := AnswerID(s.Type, o.Card.Channel, by.Thread, by.Reply, by.User)
	if reason, ok := Declines(by.Words); ok {
		return Taken{Decline: &responder.Decline{AnswerID: id, Reason: reason}}
	}
	view := s.Card(l, o.Rec)
	d := view.Draft()
	for _, ans := range o.Draft {
		d.Set(ans)
	}
	var again []card.Again
	if q := by.question(&o.Rec.Ask); q != nil {
		ans, err := q.ParseReply(by.Words)
		if wrong, ok := errors.AsType[*ask.ReplyError](err); ok {
			return Taken{Why: wrong.In(view.Lang)}
		}
		d.Set(ans)
		again = d.Open()
	} else if again = d.Read(by.Words); len(again) > 0 && again[0].Unclear {
		return Taken{Why: again[0].Why, Offers: offerQuestions(by, o, Meant(&o.Rec.Ask, d, by.Words))}
	}
	reply := d.Reply()
	if chosen := view.Destructive(reply.Answers); len(again) == 0 && chosen != "" && !by.Sure {
		if by.Sure = true; by.Target == "" {
			by.Target, by.Whole, by.Card = Ref{Key: o.Rec.Ask.Key(), Life: o.Rec.Life}.Question(), true, o.Card.ID
		}
		return Taken{Why: l.Say("“%s” is destructive. Press the button if you mean it.", chosen), Offers: []Offer{{0, l.Say("Yes: %s", chosen), by}}}
	}
	if len(again) == 0 {
		reply.AnswerID = id
		return Taken{Reply: &reply}
	}
	held, err := json.Marshal(reply.Answers)
	if err != nil || len(held) > maxHeld {
		held = []byte("[]")
	}
	return Taken{
		Again:   view.AskAgain(again) + "\n\n" + view.Say("Begin your reply with “answer:”, or use the card."),
		Payload: map[string]string{"ask": o.Rec.Ask.Key().String(), "life": o.Rec.Life, "draft": string(held), "by": by.User, "for": by.Reply},
	}
}

// offerQuestions returns a button for each of an ask's questions that words may answer.
func offerQuestions(by Said, o *Open, questions []int) (offers []Offer) {
	by.Whole, by.Card = false, o.Card.ID
	for _, q := range questions {
		by.Target = Ref{Key: o.Rec.Ask.Key(), Life: o.Rec.Life, Q: q}.Question()
		text := o.Rec.Ask.Questions[q].Header
		if text == "" {
			text = card.InlinePlain(OneLine(o.Rec.Ask.Questions[q].Text))
		}
		offers = append(offers, Offer{q, strconv.Itoa(q+1) + ". " + text, by})
	}
	return offers
}
