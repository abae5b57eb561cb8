package board

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Head is what a list shows of a pending ask.
type Head struct {
	Key      ask.Key
	Life     string
	Seq      uint64 // of what the ledger has of it: a rewrite, as by a vote, has another
	Heading  string // one line, safe to show, at most 120 characters
	Agent    string // its name, else its id
	AgentID  string
	Source   string // the repository that the agent works on, one line; may be empty
	Priority ask.Priority
	AskedAt  time.Time
	Deadline time.Time
	Audience []string // shared: do not modify
	MinProof string   // see [ask.Ask]
	Excluded []string // principals of the asker, who may not decide; shared; nil: nobody is excluded
	// Only, Exclude, Asker and Approval say who may decide, as in [ask.Ask]; Votes
	// are those so far. All are shared: do not modify.
	Only     string
	Exclude  []string
	Asker    []string
	Approval *ask.Approval
	Votes    []ask.Vote
	// Escalate, EscalateRepeat, OpenHours and Escalated are its ladder and how far it has come.
	Escalate       []ask.Escalation
	EscalateRepeat int
	OpenHours      *ask.OpenHours
	Escalated      *ask.Escalated
	Handed         *Handover // to whom it was handed over; nil: nobody
}

// Record returns a head as a record whose ask has no questions.
func (h Head) Record() ask.Record {
	return ask.Record{State: ask.StatePending, Life: h.Life, Seq: h.Seq, AskedAt: h.AskedAt, Votes: h.Votes, Escalated: h.Escalated, Ask: ask.Ask{
		ID: h.Key.ID, Tenant: h.Key.Tenant, Session: h.Key.Session, Title: h.Heading, Agent: ask.Agent{ID: h.AgentID, Name: h.Agent, Repository: h.Source},
		Priority: h.Priority, Deadline: h.Deadline, Audience: slices.Clip(h.Audience), MinProof: h.MinProof, ExcludeAsker: h.Excluded != nil, Asker: slices.Clip(h.askers()),
		Only: h.Only, Exclude: slices.Clip(h.Exclude), Approval: h.Approval, Escalate: h.Escalate, EscalateRepeat: h.EscalateRepeat, OpenHours: h.OpenHours,
	}}
}

func (h Head) askers() []string {
	if h.Asker != nil {
		return h.Asker
	}
	return h.Excluded
}

// head is a [Head] as the board stores it, about 300 bytes in all.
type head struct {
	key      string // tenant/session/id
	heading  string
	life     string
	asker    *[]string // its agent's name, id and repository
	audience *[]string
	excluded *[]string
	deciders *deciders // nil for nearly all
	asked    int64     // Unix nanoseconds
	deadline int64
	seq      uint64
	round    uint32 // the last full read that contained it
	rank     uint8  // of its priority: 0 is urgent
	proof    uint8  // index of the demanded proof, from 1; 0: none
	handed   *Handover
}

// deciders is what only few asks say about who may decide them, and who is told.
type deciders struct {
	only           string
	exclude, asker []string
	approval       *ask.Approval
	votes          []ask.Vote
	escalate       []ask.Escalation
	repeat         int
	open           *ask.OpenHours
	escalated      *ask.Escalated
}

func (h *head) id() ask.Key {
	tenant, rest, _ := strings.Cut(h.key, "/")
	session, id, _ := strings.Cut(rest, "/")
	return ask.Key{Tenant: tenant, Session: session, ID: id}
}

// place is the ask's tenant/session.
func (h *head) place() string {
	tenant := strings.IndexByte(h.key, '/') + 1
	return h.key[:tenant+strings.IndexByte(h.key[tenant:], '/')]
}

func (h *head) public() Head {
	p := Head{
		Key: h.id(), Life: h.life, Seq: h.seq, Heading: h.heading, Priority: priorities[h.rank],
		AskedAt: time.Unix(0, h.asked).UTC(), Deadline: time.Unix(0, h.deadline).UTC(), Handed: h.handed,
	}
	if h.asker != nil { // nil for an ended ask
		p.Agent, p.AgentID, p.Source = (*h.asker)[0], (*h.asker)[1], (*h.asker)[2]
	}
	if h.proof > 0 {
		p.MinProof = ask.MinProofs()[h.proof-1]
	}
	if h.audience != nil {
		p.Audience = *h.audience
	}
	if h.excluded != nil {
		p.Excluded = *h.excluded
	}
	if d := h.deciders; d != nil {
		p.Only, p.Exclude, p.Asker, p.Approval, p.Votes = d.only, d.exclude, d.asker, d.approval, d.votes
		p.Escalate, p.EscalateRepeat, p.OpenHours, p.Escalated = d.escalate, d.repeat, d.open, d.escalated
	}
	return p
}

// named returns the audience, which must not be modified.
func (h *head) named() []string {
	if h.audience == nil {
		return nil
	}
	return *h.audience
}

func (h *head) record() ask.Record { return h.public().Record() }

//nolint:gochecknoglobals // a constant
var priorities = [...]ask.Priority{ask.PriorityUrgent, ask.PriorityHigh, ask.PriorityNormal, ask.PriorityLow}

// before orders a queue: by priority, then deadline, then age.
func before(a, b *head) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.asked, b.asked), strings.Compare(a.key, b.key))
}

// Head returns the head of a pending ask; ok is false if the board does not follow it.
func (b *Board) Head(k ask.Key) (h Head, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held[k.String()]
	if held == nil {
		return Head{}, false
	}
	return held.public(), true
}

// headOf returns the head of a record, complete or not. It keeps no string of
// the record: a header's value is a part of its message's whole header, 1.8 KB.
func (b *Board) headOf(rec *ask.Record) *head {
	a := &rec.Ask
	h := &head{
		key: a.Key().String(), life: strings.Clone(rec.Life), seq: rec.Seq, heading: strings.Clone(wire.Heading(a.Heading())),
		asked: rec.AskedAt.UnixNano(), deadline: a.Deadline.UnixNano(), rank: 2,
	}
	if i := slices.Index(priorities[:], a.Priority); i >= 0 {
		h.rank = uint8(i) //nolint:gosec // one of four
	}
	h.asker = b.lists.share(wire.Heading(cmp.Or(a.Agent.Name, a.Agent.ID)), a.Agent.ID, wire.Heading(a.Agent.Repository))
	h.proof = uint8(slices.Index(ask.MinProofs(), a.MinProof) + 1) //nolint:gosec // one of six, or 0
	if len(a.Audience) > 0 {
		h.audience = b.lists.share(a.Audience...)
	}
	if a.ExcludeAsker {
		h.excluded = b.lists.share(a.Asker...)
	}
	if a.Only != "" || len(a.Exclude) > 0 || a.Approval != nil || len(a.Escalate) > 0 {
		h.deciders = &deciders{a.Only, a.Exclude, a.Asker, a.Approval, rec.Votes, a.Escalate, a.EscalateRepeat, a.OpenHours, rec.Escalated}
	}
	return h
}

// maxShared bounds the lists that heads share.
const maxShared = 10_000

// lists interns the lists that many heads have in common.
type lists map[string]*[]string

func (l lists) share(list ...string) *[]string {
	key := strings.Join(list, "\x00")
	if had, ok := l[key]; ok {
		return had
	}
	if len(l) >= maxShared {
		clear(l)
	}
	own := make([]string, len(list))
	for i := range list {
		own[i] = strings.Clone(list[i])
	}
	l[key] = &own
	return &own
}
