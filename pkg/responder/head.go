package responder

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Head is what a list shows of a pending ask.
type Head struct {
	Key      ask.Key
	Life     string
	Heading  string // one line, safe to show, at most 120 characters
	Agent    string // its name, else its id
	AgentID  string
	Source   string // the repository that the agent works on, one line; empty: it does not say
	Priority ask.Priority
	AskedAt  time.Time
	Deadline time.Time
	Audience []string  // shared: do not change it
	MinProof string    // see [ask.Ask]
	Excluded []string  // principals of the asker, who may not decide; shared; nil: nobody is excluded
	Handed   *Handover // to whom it was handed over; nil: to nobody
}

// Record is a head as a record whose ask has no questions.
func (h Head) Record() ask.Record {
	return ask.Record{State: ask.StatePending, Life: h.Life, AskedAt: h.AskedAt, Ask: ask.Ask{
		ID: h.Key.ID, Tenant: h.Key.Tenant, Session: h.Key.Session, Title: h.Heading, Agent: ask.Agent{ID: h.AgentID, Name: h.Agent, Repository: h.Source},
		Priority: h.Priority, Deadline: h.Deadline, Audience: slices.Clip(h.Audience), MinProof: h.MinProof, ExcludeAsker: h.Excluded != nil, Asker: slices.Clip(h.Excluded),
	}}
}

// head is a [Head] as the board holds it, in about 300 bytes with everything.
type head struct {
	key      string // tenant/session/id
	heading  string
	agent    string
	agentID  string
	source   string
	life     string
	audience *[]string
	excluded *[]string
	asked    int64 // Unix nanoseconds
	deadline int64
	seq      uint64
	round    uint32 // the last full read that had it
	rank     uint8  // of its priority: 0 is urgent
	proof    uint8  // which of the proofs it demands, from 1; 0: none
	handed   *Handover
}

func (h *head) id() ask.Key {
	tenant, rest, _ := strings.Cut(h.key, "/")
	session, id, _ := strings.Cut(rest, "/")
	return ask.Key{Tenant: tenant, Session: session, ID: id}
}

func (h *head) public() Head {
	p := Head{
		Key: h.id(), Life: h.life, Heading: h.heading, Agent: h.agent, AgentID: h.agentID, Source: h.source, Priority: priorities[h.rank],
		AskedAt: time.Unix(0, h.asked).UTC(), Deadline: time.Unix(0, h.deadline).UTC(), Handed: h.handed,
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
	return p
}

// named is the audience; nobody may change it.
func (h *head) named() []string {
	if h.audience == nil {
		return nil
	}
	return *h.audience
}

func (h *head) record() ask.Record {
	rec := h.public().Record()
	rec.Seq = h.seq
	return rec
}

//nolint:gochecknoglobals // a constant
var priorities = [...]ask.Priority{ask.PriorityUrgent, ask.PriorityHigh, ask.PriorityNormal, ask.PriorityLow}

// before is the order of a queue: priority, then deadline, then age.
func before(a, b *head) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.asked, b.asked), strings.Compare(a.key, b.key))
}

// headOf is the head of a record, whole or cut already.
func (b *Board) headOf(rec *ask.Record) *head {
	a := &rec.Ask
	h := &head{
		key: a.Key().String(), life: rec.Life, seq: rec.Seq, heading: strings.Clone(wire.Heading(a.Heading())),
		asked: rec.AskedAt.UnixNano(), deadline: a.Deadline.UnixNano(), rank: 2,
	}
	if i := slices.Index(priorities[:], a.Priority); i >= 0 {
		h.rank = uint8(i) //nolint:gosec // one of four
	}
	name := a.Agent.Name
	if name == "" {
		name = a.Agent.ID
	}
	h.agent, h.agentID = b.words.share(wire.Heading(name)), b.words.share(a.Agent.ID)
	h.source = b.words.share(wire.Heading(a.Agent.Repository))
	h.proof = uint8(slices.Index(ask.MinProofs(), a.MinProof) + 1) //nolint:gosec // one of six, or 0
	if len(a.Audience) > 0 {
		h.audience = b.audiences.share(strings.Join(a.Audience, "\x00"), a.Audience)
	}
	if a.ExcludeAsker {
		h.excluded = b.audiences.share(strings.Join(a.Asker, "\x00"), a.Asker)
	}
	return h
}

// maxShared bounds the words that heads share.
const maxShared = 10_000

// words are strings that many heads have.
type words map[string]string

func (w words) share(s string) string {
	if had, ok := w[s]; ok {
		return had
	}
	if len(w) >= maxShared {
		clear(w)
	}
	s = strings.Clone(s)
	w[s] = s
	return s
}

// audiences are lists that many heads have.
type audiences map[string]*[]string

func (a audiences) share(key string, list []string) *[]string {
	if had, ok := a[key]; ok {
		return had
	}
	if len(a) >= maxShared {
		clear(a)
	}
	list = slices.Clone(list)
	a[strings.Clone(key)] = &list
	return &list
}
