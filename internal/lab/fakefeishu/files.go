package fakefeishu

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// Limits of uploads, in bytes.
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20
)

// upload is a file that was uploaded.
type upload struct{ kind, name string }

// RefuseFiles makes the app lack the permission im:resource.
func (s *Server) RefuseFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noFiles = true
}

func (s *Server) upload(name string, r *http.Request, body []byte) (any, *refusal) {
	kind, most, typ := "image", maxImage, "image_type"
	if name == "POST files" {
		kind, most, typ = "file", maxFile, "file_type"
	}
	if s.noFiles {
		return nil, refuse(99991672, "Access denied. One of the following scopes is required: [im:resource:upload, im:resource]")
	}
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return nil, refuse(234001, "Invalid request param.")
	}
	form, err := multipart.NewReader(bytes.NewReader(body), params["boundary"]).ReadForm(64 << 20)
	if err != nil {
		return nil, refuse(234001, "Invalid request param.")
	}
	value := func(field string) string { return strings.Join(form.Value[field], "") }
	var data []byte
	named := value("file_name")
	switch {
	case len(form.File[kind]) == 1:
		named = cmp.Or(named, form.File[kind][0].Filename)
		in, err := form.File[kind][0].Open()
		if err != nil {
			return nil, refuse(234001, "Invalid request param.")
		}
		defer in.Close() //nolint:errcheck // read
		if data, err = io.ReadAll(in); err != nil {
			return nil, refuse(234001, "Invalid request param.")
		}
	case len(form.Value[kind]) == 1: // the SDK gives a part no file name
		data = []byte(form.Value[kind][0])
	default:
		return nil, refuse(234001, "Invalid request param.")
	}
	switch {
	case kind == "image" && value(typ) != "message" && value(typ) != "avatar",
		kind == "file" && (value("file_name") == "" || !slices.Contains([]string{"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"}, value(typ))):
		return nil, refuse(234001, "Invalid request param.")
	case len(data) == 0:
		return nil, refuse(234010, "File's size can't be 0.")
	case len(data) > most:
		return nil, refuse(234006, "The file size exceed the max value.")
	}
	if kind == "image" && !strings.HasPrefix(http.DetectContentType(data), "image/") {
		return nil, refuse(234011, "Can't recognize the image format.")
	}
	key := fmt.Sprintf("%s_v3_%04d", map[string]string{"image": "img", "file": "file"}[kind], len(s.files)+1)
	s.files[key] = upload{kind, named}
	return map[string]any{"code": 0, "msg": "success", "data": map[string]any{kind + "_key": key}}, nil
}

// shows gives a message the file of its content.
func (s *Server) shows(m *Message, kind, content string) *refusal {
	var keys map[string]string
	_ = json.Unmarshal([]byte(content), &keys) // what is missing is refused
	f, ok := s.files[keys[kind+"_key"]]
	if !ok || f.kind != kind {
		return refuse(230001, "Your request contains an invalid request parameter, ext=invalid %s_key.", kind)
	}
	m.File = f.name
	return nil
}
