package email

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/emersion/go-message"
)

// report reports whether a mail is a report of a mail server on one that was sent (RFC 3464).
func report(e *message.Entity) bool {
	kind, params, err := e.Header.ContentType()
	return err == nil && kind == "multipart/report" && strings.EqualFold(params["report-type"], "delivery-status")
}

//nolint:gochecknoglobals // compiled once, never changed
var (
	failedAction = compiled(`(?im)^Action:[ \t]*failed[ \t]*\r?$`)
	diagnostic   = compiled(`(?im)^Diagnostic-Code:[ \t]*([^\r\n]*)`)
)

// returned handles a report to the address of replies of a post. If the mail could not be delivered, the receipt of the
// ask does not name its recipient any more; without any recipient it says that the ask was not presented.
func (s *App) returned(ctx context.Context, post string, madeFor func(string) bool, e *message.Entity) error {
	failed, why := false, "undeliverable"
	for parts, n := e.MultipartReader(), 0; parts != nil && n < maxParts; n++ {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) {
			break
		}
		if kind, _, _ := part.Header.ContentType(); kind == "message/delivery-status" {
			text := read(part.Body)
			failed = failed || failedAction().MatchString(text)
			if m := diagnostic().FindStringSubmatch(text); m != nil {
				why = m[1]
			}
		}
	}
	if !failed {
		return nil // delayed, or relayed
	}
	rec, err := s.Bus.Posted(ctx, post)
	if err != nil {
		if errors.Is(err, ask.ErrNotFound) || errors.Is(err, ask.ErrAskedAgain) {
			return nil
		}
		return err
	}
	places := chat.Posted(s.Type, &rec)
	to := ""
	left := slices.DeleteFunc(slices.Clone(places), func(at ask.Place) bool {
		address, ok := s.addressOf(at.Ref)
		if ok = ok && madeFor(address); ok {
			to = address
		}
		return ok
	})
	if to == "" {
		return nil // it was reported before, or we did not send it
	}
	s.Log.WarnContext(ctx, "a mail came back", slog.String("ask_id", rec.Ask.ID), slog.String("error", literal(why, 300)))
	s.bounced(ctx, rec.Ask.Tenant, to, why)
	receipt := ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted, Key: post, Places: left}
	if len(left) == 0 {
		receipt.State = ask.ReceiptFailed
	}
	if err := s.Bus.Receipt(ctx, rec.Ask.Key(), receipt); err != nil && !errors.Is(err, ask.ErrNotFound) && !errors.Is(err, ask.ErrInvalid) {
		return err
	}
	return nil
}
