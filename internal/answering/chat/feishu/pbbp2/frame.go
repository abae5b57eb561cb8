// Package pbbp2 encodes the frames of Feishu's long connection, which its SDKs call pbbp2: one protocol
// buffer in each binary WebSocket message.
package pbbp2

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Methods of a [Frame].
const (
	Control = 0 // ping and pong
	Data    = 1 // an event, and the answer to it
)

// Keys of headers.
const (
	HeaderType      = "type" // ping, pong, event or card
	HeaderMessageID = "message_id"
	HeaderSum       = "sum" // fragments of the payload
	HeaderSeq       = "seq" // number of this one, from 0
	HeaderBizRT     = "biz_rt"
)

// Header is a header of a frame.
type Header struct{ Key, Value string }

// Frame is one message in either direction. An answer repeats the ids and headers of what it answers.
type Frame struct {
	SeqID, LogID    uint64
	Service         int32
	Method          int32
	Headers         []Header
	PayloadEncoding string
	PayloadType     string
	Payload         []byte
	LogIDNew        string
}

// Numbers of the fields.
const (
	fieldSeqID = iota + 1
	fieldLogID
	fieldService
	fieldMethod
	fieldHeaders
	fieldEncoding
	fieldType
	fieldPayload
	fieldLogIDNew
)

// Header returns the value of a header, or "".
func (f *Frame) Header(key string) string {
	for _, h := range f.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

// Number returns a header as a number; one that is none is 0.
func (f *Frame) Number(key string) int {
	n, _ := strconv.Atoi(f.Header(key))
	return n
}

// Marshal encodes the frame. Receivers require the first four fields even where they are 0.
func (f *Frame) Marshal() []byte {
	var b []byte
	number := func(n protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
	}
	text := func(n protowire.Number, s string) {
		if s != "" {
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
		}
	}
	number(fieldSeqID, f.SeqID)
	number(fieldLogID, f.LogID)
	number(fieldService, uint64(f.Service)) //nolint:gosec // as protocol buffers encode an int32
	number(fieldMethod, uint64(f.Method))   //nolint:gosec // as above
	for _, h := range f.Headers {
		var one []byte
		one = protowire.AppendString(protowire.AppendTag(one, 1, protowire.BytesType), h.Key)
		one = protowire.AppendString(protowire.AppendTag(one, 2, protowire.BytesType), h.Value)
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldHeaders, protowire.BytesType), one)
	}
	text(fieldEncoding, f.PayloadEncoding)
	text(fieldType, f.PayloadType)
	text(fieldPayload, string(f.Payload))
	text(fieldLogIDNew, f.LogIDNew)
	return b
}

// Unmarshal decodes a frame, and ignores fields that it does not know.
func Unmarshal(b []byte) (*Frame, error) {
	var f Frame
	err := each(b, func(n protowire.Number, v uint64, data []byte) error {
		switch int(n) {
		case fieldSeqID:
			f.SeqID = v
		case fieldLogID:
			f.LogID = v
		case fieldService:
			f.Service = int32(v) //nolint:gosec // an int32 on the wire
		case fieldMethod:
			f.Method = int32(v) //nolint:gosec // as above
		case fieldHeaders:
			f.Headers = append(f.Headers, Header{})
			into := &f.Headers[len(f.Headers)-1]
			return each(data, func(n protowire.Number, _ uint64, data []byte) error {
				switch n { //nolint:exhaustive // the constants are bounds
				case 1:
					into.Key = string(data)
				case 2:
					into.Value = string(data)
				}
				return nil
			})
		case fieldEncoding:
			f.PayloadEncoding = string(data)
		case fieldType:
			f.PayloadType = string(data)
		case fieldPayload:
			f.Payload = data
		case fieldLogIDNew:
			f.LogIDNew = string(data)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("frame of the long connection: %w", err)
	}
	return &f, nil
}

// each passes the fields of a message to f: a number, or bytes.
func each(b []byte, f func(n protowire.Number, v uint64, data []byte) error) error {
	for len(b) > 0 {
		n, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errors.New("malformed field")
		}
		b = b[size:]
		var v uint64
		var data []byte
		size = protowire.ConsumeFieldValue(n, typ, b)
		switch typ { //nolint:exhaustive // fields of other types are passed over
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, _ = protowire.ConsumeBytes(b)
		}
		if size < 0 {
			return errors.New("malformed field")
		}
		b = b[size:]
		if err := f(n, v, data); err != nil {
			return err
		}
	}
	return nil
}
