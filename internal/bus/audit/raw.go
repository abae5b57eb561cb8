package audit

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Raw is a message of the audit's stream, as it is stored.
type Raw struct {
	Seq     uint64
	At      time.Time // when it was stored, by the server's clock
	Subject string
	Header  nats.Header
	Data    []byte
}

// About returns the ask that the record is about; the zero key if it is about none.
func (m *Raw) About() ask.Key {
	if src, ok := SourceOf(m.Header); ok {
		k, _, _, _ := subject.ParseLedger(src.Subject) // else the zero key
		return k
	}
	r, err := Decode(m.Data)
	if err != nil || r.Ask == "" {
		return ask.Key{}
	}
	return ask.Key{Tenant: r.Tenant, Session: r.Session, ID: r.Ask}
}

// TypeRaw is the media type of a reply with messages as they are stored: each one's sequence, time in
// nanoseconds, subject, number of headers, headers, and body; numbers as varints, texts with their length
// before them. It is between programs of one release. As JSON, in base64, a log of the audit that is on the
// servers' machine took 5 % of it.
const TypeRaw = "application/vnd.askbus.audit-raw"

// AppendTo appends the message to a reply. It leaves out what the server adds to a message that it reads.
func (m *Raw) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Seq)
	b = binary.AppendVarint(b, m.At.UnixNano())
	b = appendText(b, m.Subject)
	n := uint64(0)
	for name, values := range m.Header {
		if kept(name) {
			n += uint64(len(values))
		}
	}
	b = binary.AppendUvarint(b, n)
	for name, values := range m.Header {
		if kept(name) {
			for _, v := range values {
				b = appendText(appendText(b, name), v)
			}
		}
	}
	return appendText(b, m.Data)
}

// kept reports whether a header belongs to a record.
func kept(name string) bool { return name == headerSource || !strings.HasPrefix(name, "Nats-") }

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errRaw means that a reply is not of [TypeRaw].
var errRaw = errors.New("read the audit: the broker's reply cannot be read; run the same release of both")

// parseRaw reads the messages of a reply.
func parseRaw(data []byte) (found []Raw, err error) {
	p := rawReader{rest: data}
	for len(p.rest) > 0 && !p.broken {
		m := Raw{Seq: p.number(), At: time.Unix(0, p.signed()).UTC(), Subject: string(p.text())}
		n := p.number()
		if n > uint64(len(p.rest)) {
			return nil, errRaw
		}
		m.Header = make(nats.Header, n)
		for range n {
			name := string(p.text())
			m.Header[name] = append(m.Header[name], string(p.text()))
		}
		m.Data = p.text()
		found = append(found, m)
	}
	if p.broken {
		return nil, errRaw
	}
	return found, nil
}

// rawReader reads what AppendTo appended.
type rawReader struct {
	rest   []byte
	broken bool
}

func (p *rawReader) number() uint64 {
	v, n := binary.Uvarint(p.rest)
	p.skip(n)
	return v
}

func (p *rawReader) signed() int64 {
	v, n := binary.Varint(p.rest)
	p.skip(n)
	return v
}

func (p *rawReader) skip(n int) {
	if n <= 0 {
		p.broken, p.rest = true, nil
		return
	}
	p.rest = p.rest[n:]
}

func (p *rawReader) text() []byte {
	n := p.number()
	if n > uint64(len(p.rest)) {
		p.broken, p.rest = true, nil
		return nil
	}
	text := p.rest[:n:n]
	p.rest = p.rest[n:]
	return text
}
