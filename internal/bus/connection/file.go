package connection

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

// partsAtOnce is how many parts of a file are sent or read at a time.
const partsAtOnce = 4

// Upload uploads a file in parts and returns the reference to it. at returns the
// subject of a verb about a file. Repeating it is harmless.
func Upload(ctx context.Context, on *Conn, at func(id string, verb subject.Verb) string, name string, data []byte) (ask.File, error) {
	f, fault := ask.NewFile(name, data)
	if fault != nil {
		return ask.File{}, ask.InvalidError("file", []ask.Fault{*fault})
	}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(partsAtOnce)
	for part := 0; part*wire.MaxFilePart < len(data); part++ {
		body := data[part*wire.MaxFilePart : min(len(data), (part+1)*wire.MaxFilePart)]
		g.Go(func() error {
			_, err := Do(each, on, &nats.Msg{Subject: at(f.ID, subject.VerbUpload), Header: partHeader(part), Data: body}, 0)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return ask.File{}, fmt.Errorf("upload %s: %w", f.Label(), err)
	}
	body, err := wire.Marshal(f)
	if err != nil {
		return ask.File{}, err
	}
	reply, err := Do(ctx, on, &nats.Msg{Subject: at(f.ID, subject.VerbUpload), Data: body}, 0)
	if err != nil {
		return ask.File{}, fmt.Errorf("upload %s: %w", f.Label(), err)
	}
	got, err := wire.DecodeFile(reply.Data)
	return got.File, err
}

func partHeader(part int) nats.Header {
	return nats.Header{wire.HeaderPart: []string{strconv.Itoa(part)}}
}

// FileInfo returns what is known of an uploaded file.
func FileInfo(ctx context.Context, on *Conn, at func(id string, verb subject.Verb) string, id string) (ask.File, error) {
	if !ask.ValidFileID(id) {
		return ask.File{}, ask.InvalidError("file", []ask.Fault{ask.NewFault("/id", ask.FaultBadFileID, ask.Clip(id, 80))})
	}
	reply, err := Do(ctx, on, &nats.Msg{Subject: at(id, subject.VerbFile)}, 0)
	if err != nil {
		return ask.File{}, fmt.Errorf("file %s: %w", id, err)
	}
	f, err := wire.DecodeFile(reply.Data)
	switch {
	case err != nil:
		return ask.File{}, err
	case f.ID != id || f.Size < 1 || f.Size > ask.MaxFileBytes:
		return ask.File{}, fmt.Errorf("file %s: the reply is about another one", id)
	}
	return f.File, nil
}

// File reads a file, and checks that its bytes are the ones that its id names.
func File(ctx context.Context, on *Conn, at func(id string, verb subject.Verb) string, id string) (ask.File, []byte, error) {
	f, err := FileInfo(ctx, on, at, id)
	if err != nil {
		return ask.File{}, nil, err
	}
	parts := make([][]byte, (f.Size+wire.MaxFilePart-1)/wire.MaxFilePart)
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(partsAtOnce)
	for part := range parts {
		g.Go(func() error {
			reply, err := Do(each, on, &nats.Msg{Subject: at(id, subject.VerbFile), Header: partHeader(part)}, 0)
			if err == nil {
				parts[part] = reply.Data
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return ask.File{}, nil, fmt.Errorf("file %s: %w", id, err)
	}
	data := bytes.Join(parts, nil)
	if ask.FileID(data) != id {
		return ask.File{}, nil, fmt.Errorf("file %s: its bytes are not the ones that its id names", id)
	}
	return f, data, nil
}
