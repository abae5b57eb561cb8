package ledger

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// attempt is the limit of one try: a request to a dying leader otherwise hangs
// for the whole context.
const attempt = 1500 * time.Millisecond

// Codes of JetStream that mean something to us.
const (
	codeNoMessage       = 10037
	codeWrongSequence   = 10071 // compare-and-set lost
	codeInFlight        = 10164 // lost to somebody whose write is not yet stored (R3)
	codeStreamNotFound  = 10059
	codeMetadataDiffers = 10058
	codeMemoryExceeded  = 10028
	codeAccountExceeded = 10002
	codeStorageExceeded = 10047
	codeInsufficient    = 10023
	codeStoreFailed     = 10077
)

// errRace means that somebody else wrote first: read and decide again.
var errRace = errors.New("lost the race")

// IsRace reports whether a write lost its compare-and-set.
func IsRace(err error) bool { return errors.Is(err, errRace) }

// apiError is what JetStream says of a request.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("jetstream: %s (%d)", e.Description, e.ErrCode)
}

// storageFull reports whether err says that there is no room.
func storageFull(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	switch e.ErrCode {
	case codeAccountExceeded, codeStorageExceeded, codeInsufficient, codeMemoryExceeded, codeStoreFailed:
		return true
	}
	return false
}

// request sends msg and returns the reply, trying again while the leader is
// away. Everything it sends may be sent twice.
func (l *Ledger) request(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	for try := 0; ; try++ {
		one, cancel := context.WithTimeout(ctx, attempt)
		reply, err := l.nc.RequestMsgWithContext(one, msg)
		cancel()
		if err == nil {
			return reply, nil
		}
		if ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) {
			return nil, fmt.Errorf("ledger: %s: %w", msg.Subject, errors.Join(ask.ErrUnavailable, err))
		}
		if err := pause(ctx, try); err != nil {
			return nil, fmt.Errorf("ledger: %s: %w", msg.Subject, errors.Join(ask.ErrUnavailable, err))
		}
	}
}

// errOff is the refusal while nothing can be stored: no server leads, or the
// only one cannot write.
func errOff() error {
	return ask.Refuse(503, ask.CodeUnavailable,
		"the ledger does not store anything just now: its servers choose a leader, or a disk is full; try again with the same ids (the server's log says more)")
}

// pause waits a little longer with every try, with jitter.
func pause(ctx context.Context, try int) error {
	d := time.Duration(10<<min(try, 5)) * time.Millisecond
	t := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // jitter
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// api calls the JetStream API.
func (l *Ledger) api(ctx context.Context, subject string, body, reply any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		msg, err := l.request(ctx, &nats.Msg{Subject: "$JS.API." + subject, Data: data})
		if err != nil {
			return err
		}
		var w struct {
			Error *apiError `json:"error"`
		}
		if err := json.Unmarshal(msg.Data, &w); err != nil {
			return fmt.Errorf("ledger: %s: %w", subject, err)
		}
		if w.Error != nil {
			if w.Error.Code == 503 || w.Error.Code == 500 {
				if pause(ctx, try) == nil {
					continue // no leader just now
				}
			}
			return w.Error
		}
		if reply == nil {
			return nil
		}
		return json.Unmarshal(msg.Data, reply)
	}
}

// publish stores msg and returns its sequence.
func (l *Ledger) publish(ctx context.Context, msg *nats.Msg) (uint64, error) {
	// A server that cannot write does not reply. So there is time for one
	// attempt that fails, or for several to which nobody is there, and whoever
	// asked is told before it loses patience; it tries again.
	patient, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	for try := 0; ; try++ {
		reply, err := l.request(patient, msg)
		if err != nil && ctx.Err() == nil && patient.Err() != nil {
			return 0, fmt.Errorf("ledger: publish %s: %w", msg.Subject, errors.Join(errOff(), err))
		}
		if err != nil {
			return 0, err
		}
		var ack struct {
			Error *apiError `json:"error"`
			Seq   uint64    `json:"seq"`
		}
		if err := json.Unmarshal(reply.Data, &ack); err != nil {
			return 0, fmt.Errorf("ledger: publish %s: %w", msg.Subject, err)
		}
		switch {
		case ack.Error == nil:
			return ack.Seq, nil
		case ack.Error.ErrCode == codeWrongSequence, ack.Error.ErrCode == codeInFlight:
			return 0, fmt.Errorf("ledger: publish %s: %w", msg.Subject, errors.Join(errRace, ack.Error))
		case ack.Error.Code == 503 && !storageFull(ack.Error):
			if pause(patient, try) == nil {
				continue
			}
		}
		return 0, fmt.Errorf("ledger: publish %s: %w", msg.Subject, ack.Error)
	}
}

// message is a stored message.
type message struct {
	*nats.Msg
	Seq  uint64
	Time time.Time
}

// errNone means that no message is there.
var errNone = errors.New("no message")

// first reads the first message at or after seq on a subject, from the leader.
func (l *Ledger) first(ctx context.Context, stream, subject string, seq uint64) (message, error) {
	var r struct {
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Hdrs    string    `json:"hdrs"`
			Data    string    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	var body any = struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj"`
	}{max(seq, 1), subject}
	if l.opts.Sabotage == sabotage.LastWins && seq <= 1 {
		body = map[string]string{"last_by_subj": subject}
	}
	err := l.api(ctx, "STREAM.MSG.GET."+stream, body, &r)
	if e, ok := errors.AsType[*apiError](err); ok && e.ErrCode == codeNoMessage {
		return message{}, errNone
	}
	if err != nil {
		return message{}, fmt.Errorf("ledger: read %s: %w", subject, err)
	}
	m := message{Msg: &nats.Msg{Subject: r.Message.Subject}, Seq: r.Message.Seq, Time: r.Message.Time}
	if m.Data, err = base64.StdEncoding.DecodeString(r.Message.Data); err != nil {
		return message{}, fmt.Errorf("ledger: read %s: %w", subject, err)
	}
	if r.Message.Hdrs != "" {
		raw, err := base64.StdEncoding.DecodeString(r.Message.Hdrs)
		if err != nil {
			return message{}, fmt.Errorf("ledger: read %s: %w", subject, err)
		}
		if m.Header, err = nats.DecodeHeadersMsg(raw); err != nil {
			return message{}, fmt.Errorf("ledger: read %s: %w", subject, err)
		}
	}
	return m, nil
}
