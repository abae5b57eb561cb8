package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// direct reads the last message on a subject from any replica, which may lag:
// for reads that a compare-and-set checks anyway. It costs about half of
// [Ledger.first], because the message is not wrapped in JSON and Base64.
func (l *Ledger) direct(ctx context.Context, stream, subject string) (message, error) {
	reply, err := l.request(ctx, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream + "." + subject})
	if err != nil {
		return message{}, err
	}
	switch status := reply.Header.Get("Status"); status {
	case "":
	case statusNone:
		return message{}, errNone
	default:
		return message{}, fmt.Errorf("ledger: read %s: status %s: %s", subject, status, reply.Header.Get("Description"))
	}
	return directMessage(reply)
}

// directMessage parses a reply to a direct get: the stored message, with its
// position in additional headers.
func directMessage(reply *nats.Msg) (message, error) {
	seq, err := strconv.ParseUint(reply.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return message{}, fmt.Errorf("ledger: read directly: sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, reply.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return message{}, fmt.Errorf("ledger: read directly: time: %w", err)
	}
	return message{Msg: &nats.Msg{Subject: reply.Header.Get("Nats-Subject"), Header: reply.Header, Data: reply.Data}, Seq: seq, Time: at}, nil
}
