package torture

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// screen is a live screen: it records what Watch tells it.
func (d *driver) screen(ctx context.Context, name string, r *responder.Responder, ready func()) error {
	shown := map[ask.Key]string{}
	return r.Watch(ctx, func(ev responder.Event) {
		e := Event{Who: name, Key: ev.Record.Ask.Key(), Life: ev.Record.Ask.Title, Code: OK, Truth: d.h.truth(ev.Record.Outcome), Seq: ev.Record.Seq}
		switch ev.Kind {
		case responder.Pending:
			e.Op = OpShown
			shown[e.Key] = e.Life
		case responder.Resolved:
			e.Op = OpEnded
			if e.Life == "" { // gone with its retention: that is all that can be told
				e.Life = shown[e.Key]
			}
			delete(shown, e.Key)
		case responder.Synced:
			ready()
			return
		case responder.Offline:
			return
		}
		if d.mine(e.Life) {
			d.h.add(e)
		}
	})
}

// mine reports whether a question is of this run.
func (d *driver) mine(life string) bool { return strings.Contains(life, " of "+d.shape.run) }

// posting is one replica of a posting surface: it takes work, writes receipts
// as it should, and now and then forgets what it was doing.
func (d *driver) posting(ctx context.Context, nc *nats.Conn, of string, ready func()) {
	for turn := 0; ctx.Err() == nil; turn++ {
		body, err := cloudevent.EncodeNextQuery(cloudevent.Next{Of: of, Max: 10, Wait: 2 * time.Second})
		if err != nil {
			return
		}
		reply, err := call.Do(ctx, nc, &nats.Msg{Subject: subject.Responder(postingType, ask.Key{}, subject.VerbNext), Data: body}, 2*time.Second)
		if err != nil {
			until(ctx, time.Now().Add(100*time.Millisecond))
			continue
		}
		ready()
		items, err := cloudevent.DecodeNextItems(reply.Data)
		if err != nil {
			d.h.add(Event{Who: postingType, Op: OpFault, Life: "unreadable work: " + err.Error()})
			continue
		}
		var all sync.WaitGroup
		for i := range items {
			all.Go(func() { d.work(ctx, nc, of, &items[i], 10*turn+i) })
		}
		all.Wait()
	}
}

func (d *driver) work(ctx context.Context, nc *nats.Conn, of string, it *cloudevent.NextItem, turn int) {
	e := Event{Who: postingType, Code: OK, Seq: it.Seq}
	var k ask.Key
	if of == cloudevent.NextQuestion {
		s, err := cloudevent.DecodeStored(it.Event.Data(), "", "")
		if err != nil {
			return
		}
		k = keyOf(it.Event.Source(), s.Ask.ID)
		e.Op, e.Key, e.Life = OpPosted, k, s.Ask.Title
	} else {
		o, err := cloudevent.DecodeOutcome(it.Event.Data())
		if err != nil {
			return
		}
		k = ask.Key{Tenant: o.Tenant, Session: o.Session, ID: o.AskID}
		e.Op, e.Key, e.Truth = OpRetracted, k, d.h.truth(&o)
		e.Life = e.Truth.Life
	}
	if !d.mine(e.Life) {
		_ = d.settleWork(ctx, nc, subject.VerbDone, it.Token, 0)
		return
	}
	d.h.add(e)
	switch {
	case turn%31 == 30:
		return // as if it had died: another gets it after a minute
	case turn%17 == 16:
		_ = d.settleWork(ctx, nc, subject.VerbLater, it.Token, time.Second)
		return
	case turn%13 == 12:
		_ = d.settleWork(ctx, nc, subject.VerbExtend, it.Token, 0)
	}
	if of == cloudevent.NextQuestion {
		r := d.people[postingType]
		for _, state := range []ask.ReceiptState{ask.ReceiptPosting, ask.ReceiptPosted} {
			err := r.Receipt(ctx, k, ask.Receipt{State: state, Seq: it.Seq, Key: "k", Where: "somewhere"})
			if err != nil && !errors.Is(err, ask.ErrInvalid) && !errors.Is(err, ask.ErrNotFound) {
				return
			}
		}
	}
	_ = d.settleWork(ctx, nc, subject.VerbDone, it.Token, 0)
}

// settleWork says what became of a piece of work; a lost one comes again.
func (d *driver) settleWork(ctx context.Context, nc *nats.Conn, verb subject.Verb, token string, delay time.Duration) error {
	body, err := cloudevent.EncodeSettle(token, delay)
	if err != nil {
		return err
	}
	_, err = call.Do(ctx, nc, &nats.Msg{Subject: subject.Responder(postingType, ask.Key{}, verb), Data: body}, 0)
	return err
}

// keyOf reads the key out of an agent's source and an id.
func keyOf(source, id string) ask.Key {
	parts := strings.Split(strings.TrimPrefix(source, "/askbus/"), "/")
	if len(parts) != 2 {
		return ask.Key{}
	}
	return ask.Key{Tenant: parts[0], Session: parts[1], ID: id}
}
