package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Headers of copied messages.
const (
	// headerSource is set by the server, which rejects it in other messages.
	headerSource = "Nats-Stream-Source"
	// HeaderRestored replaces headerSource on copies restored from a backup.
	HeaderRestored = "Askbus-Audit-Source"
	// HeaderUser is the public key of the credential that caused an outcome.
	HeaderUser = "Askbus-User"
	// HeaderAsker is the public key of the gateway's or operator's credential that asked and, after a
	// space, the id of the API token on whose behalf a gateway did. Agents' subjects have no key.
	HeaderAsker = "Askbus-Asker"
	// HeaderRelieved says when a broker wrote a question to say who is on call; other writes have none.
	HeaderRelieved = "Askbus-Relieved"
	// HeaderLeft says when the agent of a question left it.
	HeaderLeft = "Askbus-Left"
)

// Source is the origin of a copy: "ASKS_00 17 ledgerv1.00.acme.s1.a1.o".
type Source struct {
	Stream  string
	Seq     string
	Subject string
}

// String returns the value of [HeaderRestored].
func (s Source) String() string { return s.Stream + " " + s.Seq + " " + s.Subject }

// SourceOf returns the origin of a copy.
func SourceOf(h nats.Header) (Source, bool) {
	// The server writes stream, sequence, filters, destinations, subject and consumer; form feeds
	// separate several filters.
	if t := strings.Split(h.Get(headerSource), " "); len(t) >= 5 {
		return Source{t[0], t[1], t[4]}, true
	}
	if t := strings.Split(h.Get(HeaderRestored), " "); len(t) == 3 {
		return Source{t[0], t[1], t[2]}, true
	}
	return Source{}, false
}

// Copied is a question or an outcome in the audit.
type Copied struct {
	Record
	Key   ask.Key
	Life  string
	Whole json.RawMessage // the question, or the outcome with its question
	Timed bool            // the server's timer wrote it: it may have come after another outcome
}

// ReadCopy decodes a question or an outcome that the server copied.
func ReadCopy(msg *nats.Msg) (c Copied, err error) {
	src, ok := SourceOf(msg.Header)
	if !ok {
		return Copied{}, errors.New("audit: a copy without its source")
	}
	k, kind, _, ok := subject.ParseLedger(src.Subject)
	if !ok {
		return Copied{}, fmt.Errorf("audit: a copy of %.100q", src.Subject)
	}
	c = Copied{Key: k}
	c.ID = src.Stream + "-" + src.Seq
	c.Version, c.Tenant, c.Session, c.Ask = Version, k.Tenant, k.Session, k.ID
	defer func() { c.clip() }()
	if kind == subject.Question {
		s, err := cloudevent.ReadQuestion(msg, k)
		if err != nil {
			return Copied{}, fmt.Errorf("audit: %w", err)
		}
		c.asked(&s)
		votes, at := s.Votes(), time.Time{}
		if len(votes) > 0 {
			at = votes[len(votes)-1].At
		}
		left, _ := time.Parse(time.RFC3339Nano, msg.Header.Get(HeaderLeft))
		relieved, _ := time.Parse(time.RFC3339Nano, msg.Header.Get(HeaderRelieved))
		switch e, when := s.Escalated(), s.Escalated().At(); {
		case !relieved.IsZero():
			c.Action, c.Time, c.Actor = AskOnCall, relieved, &Actor{Role: "broker"}
		case !left.IsZero() && !left.Before(at) && !left.Before(when):
			c.Action, c.Time = AskLeft, left
		case e != nil && !when.Before(at):
			c.escalated(e, when)
		case len(votes) > 0:
			c.voted(&s, &votes[len(votes)-1])
		default:
			c.askedBy(msg.Header.Get(HeaderAsker))
		}
		if c.Decision != nil {
			c.Decision.Waited = c.Time.Sub(c.Question.AskedAt).Milliseconds()
		}
		c.Whole = s.RawAsk
		return c, nil
	}
	s, err := cloudevent.ReadOutcome(msg, k)
	if err != nil {
		return Copied{}, fmt.Errorf("audit: %w", err)
	}
	c.ended(&s, msg.Header.Get(HeaderUser))
	if c.Whole = s.RawEnd; c.Whole == nil {
		c.Whole, err = wire.EncodeOutcome(s.End, s.RawAsk)
	}
	return c, err
}

func (c *Copied) asked(s *lifecycle.State) {
	c.Action, c.Time, c.Life = AskAsked, s.AskedAt.UTC(), s.Life
	c.Question = question(s)
	c.Actor = &Actor{Role: "agent", Name: c.Question.AgentName}
}

// voted describes the vote with which a question was written again: the last.
func (c *Copied) voted(s *lifecycle.State, v *ask.Vote) {
	c.Action, c.Time, c.Surface = AskVoted, v.At.UTC(), v.By.Responder
	c.Actor = &Actor{Role: roleOf(v.By.Responder), Credential: v.Credential, Principal: v.By.Principal, Proof: v.By.Proof, Name: v.By.Name, Groups: groups(&v.By), For: absent(&v.By)}
	if v.Token != "" {
		c.Object = &Object{Kind: "token", ID: v.Token}
	}
	c.Decision = &Decision{Status: string(v.Choice), Reason: v.Reason}
	if v.Option != "" {
		c.Decision.Answers = []Answer{answer(s.Ask, &ask.Answer{QuestionID: s.Ask.Questions[0].ID, Selected: []string{v.Option}})}
	}
}

// escalated describes the step with which a question was written again, or who
// looked, so that one waits.
func (c *Copied) escalated(e *ask.Escalated, at time.Time) {
	c.Action, c.Time, c.Actor = AskEscalated, at.UTC(), &Actor{Role: "broker"}
	one := &ask.Escalated{}
	if last := e.Last(); last != nil && last.At.Equal(at) {
		one.Steps = []ask.Step{*last}
	} else if n := len(e.Seen); n > 0 {
		seen := e.Seen[n-1]
		one.Seen = []ask.Seen{seen}
		c.Surface, c.Actor = seen.By.Responder, &Actor{Role: roleOf(seen.By.Responder), Principal: seen.By.Principal, Proof: seen.By.Proof, Name: seen.By.Name}
	}
	c.Decision = &Decision{Status: "escalated", Escalated: one}
}

// askedBy names who asked, by [HeaderAsker].
func (c *Copied) askedBy(asker string) {
	user, token, _ := strings.Cut(asker, " ")
	c.Actor.Credential = user
	if token != "" {
		c.Object = &Object{Kind: "token", ID: token}
	}
}

func question(s *lifecycle.State) *Question {
	q := &Question{
		Title: s.Ask.Title, Deadline: s.Deadline.UTC(), Audience: s.Ask.Audience, MinProof: s.Ask.MinProof, Priority: string(s.Ask.Priority),
		AskedAt: s.AskedAt.UTC(), Digest: s.Digest(), Life: s.Life, AgentID: s.Ask.Agent.ID, AgentName: s.Ask.Agent.Name,
		Asker: s.Ask.Asker, Policies: s.Ask.Policies,
	}
	for i := range s.Ask.Questions {
		q.Texts = append(q.Texts, s.Ask.Questions[i].Text)
	}
	return q
}

func (c *Copied) ended(s *lifecycle.State, user string) {
	o := s.End
	c.Time, c.Life, c.Timed = o.At.UTC(), s.Life, s.Timed
	c.Question = question(s)
	d := &Decision{Status: string(o.Status), Source: string(o.Source), Reason: o.Reason, Waited: o.Waited.Milliseconds(), Typed: o.Response != ""}
	for i := range o.Answers {
		if i == maxItems {
			break
		}
		d.Answers = append(d.Answers, answer(s.Ask, &o.Answers[i]))
	}
	if by := o.CancelledBy; by != nil {
		d.Answers = append(d.Answers, answer(s.Ask, &ask.Answer{QuestionID: by.QuestionID, Selected: []string{by.OptionID}}))
	}
	for i := range o.Votes {
		d.Votes = append(d.Votes, vote(s.Ask, &o.Votes[i]))
	}
	d.BreakGlass, d.Escalated = o.BreakGlass, o.Escalated
	c.Decision = d
	switch o.Status {
	case ask.StatusAnswered:
		c.Action = AskAnswered
	case ask.StatusCancelled:
		c.Action = AskCancelled
	case ask.StatusWithdrawn:
		c.Action, c.Actor = AskWithdrawn, &Actor{Role: "agent"}
	case ask.StatusAborted:
		c.Action, c.Actor = AskAborted, &Actor{Role: "operator"}
	case ask.StatusExpired:
		c.Action = AskExpired
	default:
		c.Action = Action("ask." + string(o.Status))
	}
	if o.BreakGlass != nil {
		c.Action = AskBreakGlass
	}
	if by := o.By; by != nil {
		c.Surface = by.Responder
		c.Actor = &Actor{Role: roleOf(by.Responder), Credential: user, Principal: by.Principal, Proof: by.Proof, Name: by.Name, Groups: groups(by), For: absent(by)}
	}
}

// absent returns the principal of whom a person stands in for.
func absent(by *ask.By) string {
	if by.For == nil {
		return ""
	}
	return by.For.Principal
}

// groups returns those that give the right to decide.
func groups(by *ask.By) []string {
	if by.For != nil {
		return by.For.Groups
	}
	return by.Groups
}

func vote(a *ask.Ask, v *ask.Vote) Vote {
	out := Vote{
		Choice: string(v.Choice), Principal: short(v.By.Principal), Name: short(v.By.Name), For: short(absent(&v.By)), Groups: groups(&v.By), Proof: v.By.Proof,
		Reason: short(v.Reason), At: v.At.UTC(), Surface: v.By.Responder, Credential: v.Credential, Token: v.Token, Person: v.Person,
	}
	if v.Option != "" && len(a.Questions) == 1 {
		out.Option = &Choice{short(v.Option), short(label(a, a.Questions[0].ID, v.Option))}
	}
	return out
}

// roleOf returns the role whose credentials answer as a responder type.
func roleOf(typ string) string {
	switch typ {
	case subject.TypeGateway, subject.TypeOperator:
		return typ
	case ask.ResponderNative, ask.ResponderElicit:
		return "host"
	}
	return "responder"
}

func answer(a *ask.Ask, given *ask.Answer) Answer {
	out := Answer{Question: short(given.QuestionID), Number: given.Number, Boolean: given.Boolean, Date: given.Date, Skipped: given.Skipped, Typed: given.Text != "" || given.Other != "" || given.Notes != ""}
	for i, id := range given.Selected {
		if i == maxItems {
			break
		}
		out.Choices = append(out.Choices, Choice{short(id), short(label(a, given.QuestionID, id))})
	}
	return out
}

func label(a *ask.Ask, question, option string) string {
	if q := a.Question(question); q != nil {
		if o := q.Option(option); o != nil {
			return o.Label
		}
	}
	return ""
}
