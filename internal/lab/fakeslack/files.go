package fakeslack

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxFile is what Slack takes, in bytes.
const maxFile = 1 << 30

// File is one that was uploaded.
type File struct {
	ID, Name string
	Length   int
	Data     []byte
	At       Place // the message in whose thread it was shared; empty: not shared
	order    int
}

// Files returns the files that were shared, in their order.
func (s *Server) Files() (all []File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.uploads {
		if f.At != (Place{}) {
			all = append(all, *f)
		}
	}
	slices.SortFunc(all, func(x, y File) int { return x.order - y.order })
	return all
}

func (s *Server) filesUploadURL(a args) (reply, error) {
	length, err := strconv.Atoi(a.text("length"))
	switch {
	case a.text("filename") == "":
		return nil, fail("invalid_arguments", "[ERROR] missing required field: filename")
	case err != nil || length <= 0:
		return nil, fail("invalid_arguments", "[ERROR] must provide a positive length")
	case length > maxFile:
		return nil, fail("file_upload_size_restricted")
	}
	f := &File{ID: s.id("F"), Name: a.text("filename"), Length: length, order: len(s.uploads)}
	s.uploads[f.ID] = f
	return reply{"upload_url": "http://" + s.addr + "/upload/" + f.ID, "file_id": f.ID}, nil
}

// serveUpload takes the bytes of a file, as they are or as a form.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") { // clients name the part as they like
		parts, err := r.MultipartReader()
		if err != nil {
			http.Error(w, "no form", http.StatusBadRequest)
			return
		}
		part, err := parts.NextPart()
		if err != nil {
			http.Error(w, "no file", http.StatusBadRequest)
			return
		}
		body = part
	}
	data, err := io.ReadAll(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.uploads[r.PathValue("id")]
	if err != nil || f == nil || len(data) != f.Length {
		http.Error(w, "upload failed", http.StatusBadRequest)
		return
	}
	f.Data = data
	_, _ = io.WriteString(w, "OK - "+strconv.Itoa(len(data)))
}

func (s *Server) filesComplete(a args) (reply, error) {
	var files []struct {
		ID string `json:"id"`
	}
	if !a.object("files", &files) || len(files) == 0 {
		return nil, fail("invalid_arguments", "[ERROR] must provide files")
	}
	c, err := s.writable(a.text("channel_id"))
	if err != nil {
		return nil, err
	}
	at := Place{c.ID, a.text("thread_ts")}
	if m := s.messages[at]; at.TS != "" && (m == nil || m.Thread != "" && m.Thread != m.TS) {
		return nil, fail("invalid_thread_ts")
	}
	var shared []map[string]any
	for _, one := range files {
		f := s.uploads[one.ID]
		if f == nil || f.Data == nil {
			return nil, fail("file_not_found")
		}
		f.At = at
		shared = append(shared, map[string]any{"id": f.ID, "title": f.Name, "name": f.Name})
	}
	return reply{"files": shared}, nil
}
