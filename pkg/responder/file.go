package responder

import (
	"context"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// Upload uploads a file that an answer to an ask of this session can refer to, in
// [ask.Answer.Files]. A file to which no stored answer refers is deleted after ten
// minutes. The error is [ask.ErrInvalid] if the bytes are none of [ask.MediaTypes]
// or too many, and [ask.ErrQuota] if the tenant has no room for more files.
func (r *Responder) Upload(ctx context.Context, s ask.Session, name string, data []byte) (ask.File, error) {
	if err := s.Key("x").Check(); err != nil {
		return ask.File{}, err
	}
	return connection.Upload(ctx, r.on, r.fileAt(s), name, data)
}

// File reads a file of an ask of this session, or of an answer to one. Whoever
// calls it has to check that the person may see the ask. The error is
// [ask.ErrNotFound] if there is none.
func (r *Responder) File(ctx context.Context, s ask.Session, id string) (ask.File, []byte, error) {
	if err := s.Key("x").Check(); err != nil {
		return ask.File{}, nil, err
	}
	return connection.File(ctx, r.on, r.fileAt(s), id)
}

func (r *Responder) fileAt(s ask.Session) func(id string, verb subject.Verb) string {
	return func(id string, verb subject.Verb) string { return r.at(s.Key(id), verb) }
}
