package mattermost

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
)

// maxFiles bounds the files of one ask, in bytes. A server takes files of 100 MiB by default, and may be set to less: it
// refuses what is too large for it, and the card leads to the file.
const maxFiles = 50 << 20

// attach uploads a file, and posts it in the thread of a card.
func (a *api) attach(ctx context.Context, r responder.Rank, at chat.Message, f *chat.Attached) error {
	body, kind, err := f.Upload(map[string]string{"channel_id": at.Channel}, "files")
	if err != nil {
		return err
	}
	var made struct {
		Files []struct {
			ID string `json:"id"`
		} `json:"file_infos"`
	}
	err = a.turn(ctx, r, func(ctx context.Context) error { return a.request(ctx, http.MethodPost, "files", kind, body, &made) })
	if err == nil && len(made.Files) == 0 {
		err = errors.New("the server names no file that it has stored")
	}
	if err != nil {
		return err
	}
	_, err = a.send(ctx, r, &post{Channel: at.Channel, Root: cmp.Or(at.Thread, at.ID), Files: []string{made.Files[0].ID}})
	return err
}
