package fakediscord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
)

type bodyKey struct{}

// sentBody is the body of a call.
type sentBody struct {
	data  []byte
	files []File
}

func withBody(ctx context.Context, body []byte, files []File) context.Context {
	return context.WithValue(ctx, bodyKey{}, sentBody{body, files})
}

// maxBody is the limit of a message with its files.
const maxBody = 10 << 20

// parts reads a body with files.
func parts(body []byte, boundary string) (payload []byte, files []File) {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := r.NextPart()
		if err != nil {
			return payload, files
		}
		data, _ := io.ReadAll(p)
		if p.FormName() == "payload_json" {
			payload = data
		} else if strings.HasPrefix(p.FormName(), "files[") {
			files = append(files, File{p.FileName(), len(data)})
		}
	}
}

func bodyOf(r *http.Request) []byte {
	b, _ := r.Context().Value(bodyKey{}).(sentBody)
	return b.data
}

func filesOf(r *http.Request) []File {
	b, _ := r.Context().Value(bodyKey{}).(sentBody)
	return b.files
}

// body reads a request, and returns the nonce of the message that it is about.
func (s *Server) body(r *http.Request, files *[]File) (data []byte, nonce string) {
	data, _ = io.ReadAll(io.LimitReader(r.Body, maxBody)) // a broken body is invalid
	if _, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && params["boundary"] != "" {
		data, *files = parts(data, params["boundary"])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.find(r.PathValue("channel"), r.PathValue("message")); m != nil {
		return data, m.Nonce
	}
	var in sent
	if json.Unmarshal(data, &in) == nil && in.Nonce != nil {
		nonce = fmt.Sprint(in.Nonce)
	}
	return data, nonce
}
