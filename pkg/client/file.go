package client

import (
	"context"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// Upload uploads a file that asks of this session can refer to, in [ask.Ask.Files]
// or [ask.Option.File]. Of the name, which may be a path, the last part is kept.
// A file that no ask refers to is deleted after ten minutes; one that an ask
// refers to lives as long as the ask. Uploading the same bytes again is harmless.
//
// In addition to the errors of any method (see [Session]):
//   - [ask.ErrInvalid]: the bytes are none of [ask.MediaTypes], or too many;
//   - [ask.ErrQuota]: the tenant or the session has no room for more files.
func (s Session) Upload(ctx context.Context, name string, data []byte) (f ask.File, err error) {
	err = s.aboutFile(ctx, func(at func(string, subject.Verb) string) error {
		f, err = connection.Upload(ctx, s.c.on, at, name, data)
		return err
	})
	return f, err
}

// File reads a file of this session: one that was uploaded for an ask, or with an
// answer. The error is [ask.ErrNotFound] if there is none.
func (s Session) File(ctx context.Context, id string) (f ask.File, data []byte, err error) {
	err = s.aboutFile(ctx, func(at func(string, subject.Verb) string) error {
		f, data, err = connection.File(ctx, s.c.on, at, id)
		return err
	})
	return f, data, err
}

// aboutFile makes one call of several requests.
func (s Session) aboutFile(ctx context.Context, call func(at func(id string, verb subject.Verb) string) error) error {
	if err := s.valid(); err != nil {
		return err
	}
	if err := s.c.turn(ctx); err != nil {
		return err
	}
	err := call(func(id string, verb subject.Verb) string { return subject.Agent(s.at.Key(id), verb) })
	s.c.done(err)
	return err
}
