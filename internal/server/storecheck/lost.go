package storecheck

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
)

// This file names the asks of what is lost. Three sources know of messages that
// are gone: the server's index, the audit, whose copies say from which stream
// and sequence they are, and a removed question, whose outcome must be there
// until its retention ends. None of them knows of a message that was stored after
// the index was written, was not copied yet, and whose question is lost as well,
// or is back because its removal is lost.

// hdrSource is the server's header of a copy: the stream, the sequence, two
// fields of the source's settings, and the subject.
const hdrSource = "Nats-Stream-Source"

// contents are the asks in the readable part of a stream, as tenant/session/id.
type contents struct {
	questions map[string]bool // that nothing removed
	outcomes  map[string]bool
	ended     map[string]bool   // whose question was removed not so long ago that the outcome may have expired
	newest    map[string]uint64 // the sequence of the last of its questions that nothing removed
}

// contents reads the asks of a stream.
func (s *scanned) contents(name string, now time.Time) (*contents, error) {
	type question struct {
		seq   uint64
		until time.Time // when its outcome may expire at the earliest
	}
	questions, removed := map[string][]question{}, map[uint64]bool{}
	c := &contents{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]uint64{}}
	err := s.records(name, func(r record) {
		if r.removed {
			removed[r.seq] = true
			return
		}
		switch k, kind, _, _ := subject.ParseLedger(r.subject); kind {
		case subject.Outcome:
			c.outcomes[k.String()] = true
		case subject.Question:
			questions[k.String()] = append(questions[k.String()], question{r.seq, r.outlived()})
		}
	})
	for id, all := range questions {
		isLive := func(q question) bool { return !removed[q.seq] }
		isRecent := func(q question) bool { return now.Before(q.until) }
		// One of several was removed because the question was written again.
		c.questions[id] = slices.ContainsFunc(all, isLive)
		c.ended[id] = !c.questions[id] && slices.ContainsFunc(all, isRecent)
		for _, q := range all {
			if isLive(q) {
				c.newest[id] = max(c.newest[id], q.seq)
			}
		}
	}
	return c, err
}

// outlived returns until when a question's ask has a question or an outcome; its
// own time: unknown.
func (r record) outlived() time.Time {
	at, err := time.Parse("@at "+time.RFC3339Nano, r.get("Nats-Schedule"))
	if err != nil {
		return r.time
	}
	ttl, _ := lifetime(r.get("Nats-Schedule-TTL"))
	return at.Add(ttl)
}

// records calls visit for each readable record of a stream.
func (s *scanned) records(name string, visit func(record)) error {
	for _, b := range s.blocks {
		data, err := os.ReadFile(blockPath(s.dir, b.Number))
		if err != nil {
			return err
		}
		if err := eachReadable(data, name, b.Number, visit); err != nil {
			return err
		}
	}
	return nil
}

// known are the asks of messages that some source knows to have been stored.
type known struct{ questions, outcomes map[string]bool }

func (k *known) add(sub string) {
	switch key, kind, _, _ := subject.ParseLedger(sub); kind {
	case subject.Question:
		k.questions[key.String()] = true
	case subject.Outcome:
		k.outcomes[key.String()] = true
	}
}

// missing returns which of these asks have no outcome although one was stored,
// and which have neither question nor outcome.
func (k *known) missing(c *contents) (outcomes, asks []string) {
	lost := map[string]bool{}
	for id := range k.outcomes {
		if !c.outcomes[id] {
			outcomes = append(outcomes, id)
			lost[id] = true
		}
	}
	maps.Copy(lost, k.questions)
	for id := range lost {
		if !c.outcomes[id] && !c.questions[id] {
			asks = append(asks, id)
		}
	}
	slices.Sort(outcomes)
	slices.Sort(asks)
	return outcomes, asks
}

// name names the asks of each damage.
func (i *Inspection) name() {
	now := time.Now()
	var copied map[string]map[uint64]string
	for at := range i.damages {
		d := &i.damages[at]
		s := i.Found[d.Stream]
		if s == nil || d.config != nil || d.Stream == subject.AuditStream {
			continue
		}
		c, err := s.contents(d.Stream, now)
		if err != nil {
			continue
		}
		if d.kind == badConfig {
			all := maps.Clone(c.outcomes)
			for id, pending := range c.questions {
				all[id] = all[id] || pending
			}
			maps.DeleteFunc(all, func(_ string, there bool) bool { return !there })
			d.Asks = slices.Sorted(maps.Keys(all))
			continue
		}
		if copied == nil {
			copied = i.copies(now)
		}
		sure := known{map[string]bool{}, map[string]bool{}}
		for id, ended := range c.ended {
			if ended {
				sure.outcomes[id] = true
			}
		}
		for seq, sub := range copied[d.Stream] {
			if seq >= d.First && (d.Last == 0 || seq <= d.Last) {
				sure.add(sub)
				if id := c.rewritten(sub, seq); id != "" && !slices.Contains(d.Votes, id) {
					d.Votes = append(d.Votes, id)
				}
			}
		}
		maybe := known{map[string]bool{}, map[string]bool{}}
		if x, ok := readIndex(s.dir, d.Stream); ok {
			of := &maybe
			if x.current(s) || i.stoppedClean() {
				of = &sure
			}
			for sub, blocks := range x.subjects {
				if d.kind == shorter && d.block == 0 || blocks[0] <= d.block && d.block <= blocks[1] {
					of.add(sub)
				}
			}
		}
		slices.Sort(d.Votes)
		d.Outcomes, d.Asks = sure.missing(c)
		_, uncertain := maybe.missing(c)
		d.Uncertain = slices.DeleteFunc(uncertain, func(id string) bool { return slices.Contains(d.Asks, id) })
	}
}

// rewritten returns the ask of a lost message that was a later state of a
// question of which an earlier one is back; else "". Votes and the steps
// of a ladder rewrite a question.
func (c *contents) rewritten(sub string, seq uint64) string {
	k, kind, _, _ := subject.ParseLedger(sub)
	if id := k.String(); kind == subject.Question && c.questions[id] && !c.outcomes[id] && c.newest[id] < seq {
		return id
	}
	return ""
}

// copies returns the subjects of questions and outcomes that the audit has a
// copy of, by stream and sequence. It leaves out those that may have expired.
func (i *Inspection) copies(now time.Time) map[string]map[uint64]string {
	found := map[string]map[uint64]string{}
	s := i.Found[subject.AuditStream]
	if s == nil {
		return found
	}
	keeps := i.retention()
	_ = s.records(subject.AuditStream, func(r record) { // what can be read
		of := strings.Split(r.get(hdrSource), " ")
		if len(of) < 5 || r.removed || now.Sub(r.time) > keeps {
			return
		}
		seq, err := strconv.ParseUint(of[1], 10, 64)
		if err != nil {
			return
		}
		if found[of[0]] == nil {
			found[of[0]] = map[uint64]string{}
		}
		found[of[0]][seq] = of[4]
	})
	return found
}

// retention returns how long an outcome is kept at least, according to the
// ledger's settings; 0: unknown.
func (i *Inspection) retention() time.Duration {
	first := subject.Stream(0)
	config := []byte(i.configs[first])
	if s := i.Found[first]; s != nil {
		if own, ok := readConfig(s.dir, first); ok {
			config = own
		}
	}
	var c struct {
		Metadata map[string]string `json:"metadata"`
	}
	if json.Unmarshal(config, &c) != nil {
		return 0
	}
	d, _ := time.ParseDuration(c.Metadata["askbus.retention"])
	return d
}

func (i *Inspection) stoppedClean() bool {
	_, err := os.Stat(filepath.Join(i.dir, CleanFile))
	return err == nil
}
