package broker

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strconv"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// part returns the number of the part that a request names; ok is false without
// one.
func (r *request) part() (n int, ok bool, err error) {
	if !ask.ValidFileID(r.ID) {
		return 0, false, ask.InvalidError("file", []ask.Fault{ask.NewFault("/id", ask.FaultBadFileID, ask.Clip(r.ID, 80))})
	}
	v := r.header.Get(wire.HeaderPart)
	if v == "" {
		return 0, false, nil
	}
	if n, err = strconv.Atoi(v); err != nil || n < 0 || n >= ask.MaxFileBytes/wire.MaxFilePart {
		return 0, true, ask.Refuse(ask.CodeInvalid, "header %s is %.40q; give the number of a part, from 0 to %d", wire.HeaderPart, v, ask.MaxFileBytes/wire.MaxFilePart-1)
	}
	return n, true, nil
}

// upload stores a part of a file, or completes it.
func (b *Broker) upload(ctx context.Context, r *request) error {
	n, isPart, err := r.part()
	if err != nil {
		return err
	}
	at := r.Key().InSession()
	if isPart {
		if len(r.body) == 0 || len(r.body) > wire.MaxFilePart {
			return ask.Refusal(ask.CodeTooLarge, ask.FaultTooManyBytes, "the_file", len(r.body), wire.MaxFilePart)
		}
		settle, err := b.quotas.Upload(r.Key(), len(r.body))
		if err != nil {
			return err
		}
		err = b.led.PutFilePart(ctx, at, r.ID, n, r.body)
		if settle(); err != nil {
			return err
		}
		return b.replyJSON(r, struct{}{})
	}
	f, err := wire.DecodeUpload(r.body, r.ID)
	if err != nil {
		return err
	}
	stored, err := b.led.PutFile(ctx, at, f, func(data []byte) error { return checkFile(&f, data) })
	if err != nil {
		return err
	}
	b.audit.add(&audit.Record{
		Action: audit.FileUploaded, Tenant: r.Tenant, Session: r.Session, Surface: r.Type,
		Actor:  &audit.Actor{Role: roleOf(r), Credential: r.User},
		Object: &audit.Object{Kind: "file", ID: stored.ID, Note: stored.MediaType + ", " + strconv.FormatInt(stored.Size, 10) + " bytes"},
	})
	return b.replyFile(r, stored)
}

func (b *Broker) replyFile(r *request, f ledger.StoredFile) error {
	return b.replyJSON(r, wire.FileReply{File: f.File, Expires: f.Expires})
}

// checkFile checks that bytes are what an upload says, and sets its media type:
// what the bytes are.
func checkFile(f *ask.File, data []byte) error {
	is, fault := ask.NewFile(f.Name, data)
	var faults []ask.Fault
	switch {
	case is.Size != f.Size:
		faults = []ask.Fault{ask.NewFault("/size", ask.FaultOtherFile, strconv.FormatInt(f.Size, 10), strconv.FormatInt(is.Size, 10))}
	case is.ID != f.ID:
		faults = []ask.Fault{ask.NewFault("/id", ask.FaultOtherFile, f.ID, is.ID)}
	case fault != nil:
		faults = []ask.Fault{*fault}
	case f.MediaType != "" && f.MediaType != is.MediaType:
		faults = []ask.Fault{ask.NewFault("/media_type", ask.FaultOtherMediaType, f.MediaType, is.MediaType)}
	}
	*f = is
	return ask.InvalidError("upload", faults)
}

// file replies with what a file is, or with one of its parts. Those who may read the
// session's asks may read its files.
func (b *Broker) file(ctx context.Context, r *request) error {
	n, isPart, err := r.part()
	if err != nil {
		return err
	}
	at := r.Key().InSession()
	if !isPart {
		f, err := b.led.File(ctx, at, r.ID)
		if err != nil {
			return err
		}
		return b.replyFile(r, f)
	}
	data, err := b.led.FilePart(ctx, at, r.ID, n)
	if err != nil {
		return err
	}
	return b.send(r, &nats.Msg{Header: nats.Header{"Content-Type": []string{"application/octet-stream"}}, Data: data})
}

// checkFiles refuses references to files that were not uploaded in the session, or
// are something else. Files that expire soon are prolonged, so that they are
// there when [Broker.keepFiles] is called.
func (b *Broker) checkFiles(ctx context.Context, k ask.Key, what string, all iter.Seq2[string, *ask.File]) error {
	var faults []ask.Fault
	for at, f := range all {
		if !ask.ValidFileID(f.ID) {
			continue // told by the ask's own check
		}
		is, err := b.led.EnsureFile(ctx, k.InSession(), f.ID)
		switch {
		case errors.Is(err, ask.ErrNotFound):
			faults = append(faults, ask.NewFault(at+"/id", ask.FaultNoFile, f.ID))
		case err != nil:
			return err
		case is.MediaType != f.MediaType:
			faults = append(faults, ask.NewFault(at+"/media_type", ask.FaultOtherFile, f.MediaType, is.MediaType))
		case is.Size != f.Size:
			faults = append(faults, ask.NewFault(at+"/size", ask.FaultOtherFile, strconv.FormatInt(f.Size, 10), strconv.FormatInt(is.Size, 10)))
		}
	}
	return ask.InvalidError(what, faults)
}

// keepFiles makes the files of an ask live as long as the ask does. It is called
// when the reference is stored, so that nothing keeps the files of a refused ask;
// if this broker dies before it, the sender's repeated request does it.
func (b *Broker) keepFiles(ctx context.Context, k ask.Key, deadline time.Time, all iter.Seq2[string, *ask.File]) error {
	for _, f := range all {
		err := b.led.KeepFileAsked(ctx, k.InSession(), f.ID, deadline)
		if errors.Is(err, ask.ErrNotFound) { // asked again after it was deleted
			b.opts.Logger.WarnContext(ctx, "a file of an ask is deleted", slog.String("ask_id", k.ID), slog.String("file", f.ID))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
