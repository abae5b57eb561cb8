package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

const (
	typeBatch   = "application/cloudevents-batch+json"
	typeProblem = "dev.askbus.problem.v1" // type of an event whose data is a problem

	maxBatch = 100 // events
)

// batch handles several CloudEvents and responds with one for each, in order. It does not wait for
// answers. An invalid event does not affect the others.
func (api *API) batch(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	if wait, err := waitOf(r, 0); err != nil || wait > 0 {
		return ask.Refusal(ask.CodeInvalid, ask.FaultBatchWaits)
	}
	if r.Header.Get("Idempotency-Key") != "" {
		return ask.Refusal(ask.CodeInvalid, ask.FaultBatchKey)
	}
	body, err := api.access.Body(w, r)
	if err != nil {
		return err
	}
	var events []json.RawMessage
	if err := json.Unmarshal(body, &events); err != nil {
		return ask.Refusal(ask.CodeInvalid, ask.FaultNotEvents, err)
	}
	if len(events) > maxBatch {
		return ask.Refusal(ask.CodeTooLarge, ask.FaultLongBatch, len(events), maxBatch)
	}
	replies := make([]json.RawMessage, 0, len(events))
	for i, raw := range events {
		reply, err := api.one(r, c, raw, fmt.Sprintf("/%d", i))
		if err != nil {
			return err
		}
		replies = append(replies, reply)
	}
	out, err := json.Marshal(replies)
	if err != nil {
		return err
	}
	access.Send(w, http.StatusOK, typeBatch, out)
	return nil
}

// one handles one event of a batch. The error means that the client is gone; a refusal is an event.
func (api *API) one(r *http.Request, c *access.Caller, raw []byte, at string) ([]byte, error) {
	var said replied
	ev, mode, err := cloudevent.FromMsg(&nats.Msg{Header: nats.Header{"Content-Type": {"application/cloudevents+json"}}, Data: raw})
	in := &incoming{Event: ev, mode: mode}
	if err == nil && len(bytes.TrimSpace(ev.Data())) == 0 {
		err = ask.Refusal(ask.CodeInvalid, ask.FaultNoData, at)
	}
	if err == nil {
		err = api.event(&said, r, c, in)
	}
	switch {
	case err == nil:
		return said.body.Bytes(), nil
	case r.Context().Err() != nil:
		return nil, err
	}
	msg, err := cloudevent.Event{
		Source: cloudevent.BrokerSource, Type: typeProblem, Key: in.key, Time: api.opts.Now(), Data: wire.EncodeProblem(access.Problem(err)),
	}.Msg(cloudevent.Structured)
	if err != nil {
		return nil, err
	}
	return msg.Data, nil
}

func isBatch(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == typeBatch
}

// replied records a response.
type replied struct {
	header http.Header
	body   bytes.Buffer
}

func (w *replied) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *replied) Write(b []byte) (int, error) { return w.body.Write(b) }

func (*replied) WriteHeader(int) {}
