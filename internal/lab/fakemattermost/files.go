package fakemattermost

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
)

// File is one that was uploaded.
type File struct {
	ID, Channel, Name string
	Data              []byte
	Post              string // empty: of no post yet
}

// MaxFile is what the server takes by default, in bytes.
const MaxFile = 100 << 20

// SetMaxFile makes the server take smaller files only.
func (s *Server) SetMaxFile(bytes int) { s.locked(func() { s.maxFile = bytes }) }

// Files returns the files of posts.
func (s *Server) Files() (all []File) {
	s.locked(func() {
		for _, f := range s.files {
			if f.Post != "" {
				all = append(all, f)
			}
		}
	})
	return all
}

// attached gives a post its files: those of its channel that no post has. The caller holds the lock.
func (s *Server) attached(p *Post) (ids []string) {
	for i := range s.files {
		if f := &s.files[i]; f.Post == "" && f.Channel == p.Channel && slices.Contains(p.FileIDs, f.ID) {
			f.Post, ids = p.ID, append(ids, f.ID)
		}
	}
	return ids
}

// upload takes a form with a channel and files, as POST /api/v4/files does.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, body []byte) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form, bad := (*multipart.Form)(nil), err
	if err == nil {
		form, bad = multipart.NewReader(bytes.NewReader(body), params["boundary"]).ReadForm(1 << 30)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.maxFile
	if most == 0 {
		most = MaxFile
	}
	switch {
	case bad != nil || len(form.Value["channel_id"]) != 1 || len(form.File["files"]) == 0:
		fail(w, http.StatusBadRequest, "api.file.upload_file.read_request.app_error", "Unable to upload file(s). Cannot read or parse the request.")
		return
	case !s.members[form.Value["channel_id"][0]][Bot]:
		fail(w, http.StatusForbidden, "api.context.permissions.app_error", "You do not have the appropriate permissions.")
		return
	}
	var infos []map[string]any
	for _, h := range form.File["files"] {
		if h.Size > int64(most) {
			fail(w, http.StatusRequestEntityTooLarge, "api.file.upload_file.too_large_detailed.app_error", "Unable to upload file "+h.Filename+". The file exceeds the maximum size.")
			return
		}
		in, err := h.Open()
		if err != nil {
			fail(w, http.StatusInternalServerError, "app.error", err.Error())
			return
		}
		data, err := io.ReadAll(in)
		if err != nil {
			fail(w, http.StatusInternalServerError, "app.error", err.Error())
			return
		}
		f := File{ID: s.next(), Channel: form.Value["channel_id"][0], Name: h.Filename, Data: data}
		s.files = append(s.files, f)
		infos = append(infos, map[string]any{"id": f.ID, "user_id": Bot, "channel_id": f.Channel, "name": f.Name, "size": len(data), "mime_type": http.DetectContentType(data)})
	}
	write(w, http.StatusCreated, map[string]any{"file_infos": infos, "client_ids": []string{}})
}
