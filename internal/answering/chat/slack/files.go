package slack

import (
	"bytes"
	"cmp"
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// Bounds of the files of a card.
const (
	scopeFiles = "files:write"
	maxFiles   = 50 << 20 // bytes; Slack takes files of 1 GB
)

// attach sends the files of an ask, and the whole question if the card has not all of it, into the thread of its card, while
// people may answer already. After a crash they may be missing: the card leads to them.
func (p presenter) attach(ctx context.Context, post *responder.Post, whole *chat.Attached, m message) {
	none := whole == nil
	for range post.Ask.AllFiles() {
		none = false
		break
	}
	if none || !p.Identity().can(scopeFiles) {
		return
	}
	p.after.Do(ctx, func(ctx context.Context) {
		p.Attach(ctx, &post.Ask, whole, maxFiles, func(ctx context.Context, f *chat.Attached) error { return p.api.attach(ctx, chat.RankOf(post), m, f) })
	})
}

// attach uploads a file, and shares it in the thread of a message.
func (a *api) attach(ctx context.Context, r responder.Rank, m message, f *chat.Attached) error {
	var to *slackapi.GetUploadURLExternalResponse
	err := a.call(ctx, "files.getUploadURLExternal", m.Channel, r, func(ctx context.Context) (err error) {
		to, err = a.client.GetUploadURLExternalContext(ctx, slackapi.GetUploadURLExternalParameters{FileName: f.Filename(), FileSize: len(f.Data)})
		return err
	})
	if err != nil {
		return err
	}
	if err := a.client.UploadToURL(ctx, slackapi.UploadToURLParameters{UploadURL: to.UploadURL, Filename: f.Filename(), Reader: bytes.NewReader(f.Data)}); err != nil {
		return err
	}
	return a.call(ctx, "files.completeUploadExternal", m.Channel, r, func(ctx context.Context) error {
		_, err := a.client.CompleteUploadExternalContext(ctx, slackapi.CompleteUploadExternalParameters{
			Files: []slackapi.FileSummary{{ID: to.FileID, Title: f.Filename()}}, Channel: m.Channel, ThreadTimestamp: cmp.Or(m.Thread, m.ID),
		})
		return err
	})
}
