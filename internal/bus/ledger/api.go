package ledger

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/nats-io/nats.go"
)

// attempt limits one try: a request to a dying leader would otherwise hang
// until the context ends.
const attempt = 1500 * time.Millisecond

// JetStream error codes that are handled specially.
const (
	codeNoMessage       = 10037
	codeWrongSequence   = 10071 // compare-and-set lost
	codeInFlight        = 10164 // lost to a write that is not yet stored (R3)
	codeStreamNotFound  = 10059
	codeMetadataDiffers = 10058
	codeMemoryExceeded  = 10028
	codeAccountExceeded = 10002
	codeStorageExceeded = 10047
	codeInsufficient    = 10023
	codeNoPeers         = 10005 // fewer servers than copies
	codeNoCluster       = 10074 // several replicas on a single server
	codeStoreFailed     = 10077
	codeMostStreams     = 10027 // limits in the account's JWT
	codeBytesRequired   = 10113
	codeNoTier          = 10120
)

// errRace means that another write was first: read and decide again.
var errRace = errors.New("lost the race")

// IsRace reports whether a write lost its compare-and-set.
func IsRace(err error) bool { return errors.Is(err, errRace) }

// apiError is an error reply of JetStream.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("jetstream: %s (%d)", e.Description, e.ErrCode)
}

// storageFull reports whether err means that there is no room.
func storageFull(err error) bool {
	return meanings[codeOf(err)] == noRoom
}

// IsFull reports whether err means that there is no room or that a disk failed.
func IsFull(err error) bool {
	return errors.Is(err, ask.ErrUnavailable) && storageFull(err) || errors.Is(err, errWrite)
}

// errWrite means that a server received a write but did not acknowledge it, as
// when its disk is full.
var errWrite = errors.New("the write was not acknowledged")

// request sends msg and returns the reply, retrying while there is no leader.
// Its messages may be sent twice.
func (l *Ledger) request(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	var none error // nobody took an earlier try, which the end of ctx in a later one does not hide
	for try := 0; ; try++ {
		reply, err := l.send(ctx, msg)
		if err == nil {
			return reply, nil
		}
		if l.clock != nil {
			l.clock.suspectAll() // another server may lead
		}
		if ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) {
			return nil, fmt.Errorf("ledger: %s: %w", msg.Subject, errors.Join(ask.ErrUnavailable, err, none))
		}
		if over := backOff(ctx, try); over != nil {
			return nil, fmt.Errorf("ledger: %s: %w", msg.Subject, errors.Join(ask.ErrUnavailable, err, over))
		}
		if errors.Is(err, nats.ErrNoResponders) {
			none = err
		}
	}
}

// send makes one attempt. A caller that waits no longer than that saves a timer.
func (l *Ledger) send(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= attempt {
		return l.nc.RequestMsgWithContext(ctx, msg)
	}
	one, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return l.nc.RequestMsgWithContext(one, msg)
}

// errOff is the refusal of a write that got no acknowledgement. It says what was
// seen, and no cause: from here, a busy server, a full disk and a cut look the
// same.
func errOff(err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return ask.Refuse(ask.CodeUnavailable, "no server stores the ledger's messages now; try again with the same ids (their logs and /readyz say why)")
	}
	return ask.Refuse(ask.CodeUnavailable,
		"the server did not acknowledge a write to the ledger within %s; try again with the same ids (its log and /readyz say whether it cannot write, or is only busy)", attempt)
}

// backOff waits before the next try.
func backOff(ctx context.Context, try int) error {
	return backoff.Wait(ctx, 10*time.Millisecond, try)
}

// api calls the JetStream API. It retries long enough for a new leader to be
// elected in most cases, then reports that there is no leader.
func (l *Ledger) api(ctx context.Context, subject string, body, reply any) error {
	patient, cancel := context.WithTimeout(ctx, 2*attempt)
	defer cancel()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		msg, err := l.request(patient, &nats.Msg{Subject: "$JS.API." + subject, Data: data})
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
			if meanings[w.Error.ErrCode] == temporary && w.Error.Code >= 500 && backOff(patient, try) == nil {
				continue // no leader at the moment
			}
			return w.Error
		}
		if reply == nil {
			return nil
		}
		return json.Unmarshal(msg.Data, reply)
	}
}

// streamInfo is what JetStream says of a stream, as far as the ledger uses it.
type streamInfo struct {
	Error  *apiError `json:"error"`
	Time   time.Time `json:"ts"`
	Config struct {
		MaxBytes int64 `json:"max_bytes"`
		Copies   int64 `json:"num_replicas"`
	} `json:"config"`
	State struct {
		Messages int64  `json:"messages"`
		Bytes    int64  `json:"bytes"`
		Last     uint64 `json:"last_seq"`
	} `json:"state"`
	Cluster struct {
		Leader   string `json:"leader"`
		Replicas []struct {
			Name    string        `json:"name"`
			Current bool          `json:"current"`
			Offline bool          `json:"offline"`
			Active  time.Duration `json:"active"` // since the last contact
		} `json:"replicas"`
	} `json:"cluster"`
	Sources []struct {
		Lag int64 `json:"lag"`
	} `json:"sources"`
}

// info asks a stream's leader about the stream.
func (l *Ledger) info(ctx context.Context, stream string) (i streamInfo, err error) {
	if err = l.api(ctx, "STREAM.INFO."+stream, nil, &i); err != nil {
		err = fmt.Errorf("ledger: %w", err)
	}
	return i, err
}

// publish stores msg and returns its sequence.
func (l *Ledger) publish(ctx context.Context, msg *nats.Msg) (uint64, error) {
	return l.publishWith(ctx, nil, msg)
}

// publishWith stores guard and msg in one step, or neither of them. Without a
// guard it is [Ledger.publish].
func (l *Ledger) publishWith(ctx context.Context, guard, msg *nats.Msg) (uint64, error) {
	// A server that cannot write does not reply. The limit leaves time for one
	// failing attempt, or for several without a responder, so that the caller
	// gets a reply before its own timeout and tries again.
	patient, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	for try := 0; ; try++ {
		if guard != nil {
			if err := l.begin(guard, msg); err != nil {
				return 0, err
			}
		}
		reply, err := l.request(patient, msg)
		if err != nil && ctx.Err() == nil && patient.Err() != nil {
			return 0, fmt.Errorf("ledger: publish %s: %w", msg.Subject, errors.Join(errOff(err), errWrite, err))
		}
		if err != nil {
			return 0, err
		}
		seq, err := acknowledged(reply)
		if err == nil {
			return seq, nil
		}
		meaning := meanings[codeOf(err)]
		if meaning == lost {
			err = errors.Join(errRace, err)
		}
		if meaning != temporary || backOff(patient, try) != nil {
			return 0, fmt.Errorf("ledger: publish %s: %w", msg.Subject, err)
		}
	}
}

// acknowledged reads the reply to a write: the sequence of what was stored.
func acknowledged(reply *nats.Msg) (uint64, error) {
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	if err := jsonv1.Unmarshal(reply.Data, &ack); err != nil {
		return 0, err
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Seq, nil
}

// message is a stored message.
type message struct {
	*nats.Msg
	Seq  uint64
	Time time.Time
}

// errNone means that there is no such message.
var errNone = errors.New("no message")

// first reads the first message at or after seq on a subject, from the leader.
func (l *Ledger) first(ctx context.Context, stream, subject string, seq uint64) (message, error) {
	var body any = struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj"`
	}{max(seq, 1), subject}
	if request, ok := l.breakRead(subject, seq); ok {
		body = request
	}
	return l.get(ctx, stream, subject, body)
}

// last reads the last message on a subject, from the leader.
func (l *Ledger) last(ctx context.Context, stream, subject string) (message, error) {
	return l.get(ctx, stream, subject, map[string]string{"last_by_subj": subject})
}

// question reads the question of an ask from the leader: the LAST message on
// its subject, because a crash during a rewrite can leave two.
func (l *Ledger) question(ctx context.Context, k ask.Key) (message, error) {
	p, stream := l.place(k)
	return l.last(ctx, stream, subject.LedgerQuestion(p, k))
}

// outcome reads the outcome of an ask from the leader. The FIRST message on its
// subject counts, because the server's timer may write another one late.
func (l *Ledger) outcome(ctx context.Context, k ask.Key) (message, error) {
	p, stream := l.place(k)
	of := subject.LedgerOutcome(p, k)
	for next := uint64(1); ; {
		m, err := l.first(ctx, stream, of, next)
		if err != nil || !l.expired(m) {
			return m, err
		}
		// It no longer counts, but a compare-and-set would still see it.
		l.opts.Logger.WarnContext(ctx, "removing an expired outcome that its server kept", slog.String("ask_id", k.ID))
		if _, err := l.purge(ctx, stream, of, m.Seq); err != nil {
			return message{}, err
		}
		next = m.Seq + 1
	}
}

// tardy is how late a server may remove an expired message.
const tardy = 2 * time.Second

// expired reports whether a message expired some time ago. A server that was
// down may lead again before it has removed the message.
func (l *Ledger) expired(m message) bool {
	lives, err := time.ParseDuration(m.Header.Get(hdrTTL))
	return err == nil && l.ClockError() == nil && m.Time.Add(lives+tardy).Before(l.Now())
}

// purge removes the messages of a subject up to a sequence.
func (l *Ledger) purge(ctx context.Context, stream, of string, seq uint64) (n int, err error) {
	body := struct {
		Filter string `json:"filter"`
		Seq    uint64 `json:"seq"` // exclusive
	}{of, seq + 1}
	var r struct {
		Purged int `json:"purged"`
	}
	err = l.api(ctx, "STREAM.PURGE."+stream, body, &r)
	return r.Purged, err
}

// get reads one message from the leader.
func (l *Ledger) get(ctx context.Context, stream, subject string, body any) (message, error) {
	var r struct {
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Hdrs    string    `json:"hdrs"`
			Data    string    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
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
