package httpserver

import (
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// fileCSP makes a document of a file that somebody uploaded harmless, should a
// browser take it for one: it has an origin of its own, and loads and runs nothing.
const fileCSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// sendWithin bounds the sending of a file: a client that does not read it holds a place among few.
const sendWithin = 2 * time.Minute

// SendFile sends a file that somebody uploaded: with the media type of its bytes,
// which is never that of a document that can run scripts. A browser shows images,
// so that a page can display them, and saves everything else.
func SendFile(w http.ResponseWriter, f *ask.File, data []byte) {
	h := w.Header()
	how := "attachment"
	if f.IsImage() {
		how = "inline"
	}
	contentType := f.MediaType
	if contentType == ask.MediaText {
		contentType += "; charset=utf-8"
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": f.Label()}))
	h.Set("Content-Security-Policy", fileCSP)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(sendWithin)) // some tests' ResponseWriters have none
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(data)
	_ = control.SetWriteDeadline(time.Time{})
}
