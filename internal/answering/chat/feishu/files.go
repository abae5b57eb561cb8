package feishu

import (
	"context"
	"errors"
	"net/http"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of files, in bytes.
const (
	maxFiles = 50 << 20 // of one ask
	maxImage = 10 << 20 // Feishu's, of what is shown as an image
)

// attach uploads a file, and replies with it to a card: as an image, or as a file. Feishu takes a reply with the same uuid
// once within an hour.
func (a *api) attach(ctx context.Context, r responder.Rank, at chat.Message, uuid string, f *chat.Attached) error {
	fields, part, path, kind := map[string]string{"image_type": "message"}, "image", "/open-apis/im/v1/images", "image"
	if !f.IsImage() || len(f.Data) > maxImage {
		fields, part, path, kind = map[string]string{"file_type": "stream", "file_name": f.Filename()}, "file", "/open-apis/im/v1/files", "file"
		if f.MediaType == ask.MediaPDF {
			fields["file_type"] = "pdf"
		}
	}
	body, mediaType, err := f.Upload(fields, part)
	if err != nil {
		return err
	}
	var key struct {
		Image string `json:"image_key"`
		File  string `json:"file_key"`
	}
	if err := a.call(ctx, r, request{method: http.MethodPost, path: path, form: body, kind: mediaType, class: classPost}, &key); err != nil {
		return err
	}
	content := map[string]string{"image_key": key.Image}
	if kind == "file" {
		content = map[string]string{"file_key": key.File}
	}
	if key.Image == "" && key.File == "" {
		return errors.New("feishu names no file that it has stored")
	}
	data, err := encode(content)
	if err != nil {
		return err
	}
	return a.reply(ctx, r, at.Channel, at.ID, kind, string(data), uuid)
}
