package web

import (
	"net/http"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/board"
)

// Cookies for the reader's preferences. They hold nothing secret.
const (
	languageCookie = "askbus_language" // a tag of the catalogue; without it Accept-Language counts
	zoneCookie     = "askbus_zone"     // a time zone name, set by scripts
	fieldLanguage  = "language"
)

// languageOf returns the language of a request: the person's choice in this
// browser, else the best match for Accept-Language.
func languageOf(r *http.Request) *lang.Language {
	wishes := []string{r.Header.Get("Accept-Language")}
	if c, err := r.Cookie(languageCookie); err == nil {
		wishes = append([]string{c.Value}, wishes...)
	}
	l, _ := lang.Match(wishes...)
	return l
}

// answeredIn returns the language that the guard has set for a response.
func answeredIn(w http.ResponseWriter) *lang.Language {
	return lang.Of(w.Header().Get("Content-Language"))
}

// zones caches the time zones that browsers named. There are a few hundred
// names; invalid names are not cached.
var zones sync.Map //nolint:gochecknoglobals // a cache of files that do not change

// zoneOf returns the time zone of a browser, or nil if it is not known.
func zoneOf(r *http.Request) *time.Location {
	c, err := r.Cookie(zoneCookie)
	if err != nil || c.Value == "" || len(c.Value) > 64 {
		return nil
	}
	if zone, ok := zones.Load(c.Value); ok {
		known, _ := zone.(*time.Location)
		return known
	}
	zone, err := time.LoadLocation(c.Value)
	if err != nil || zone == time.Local { //nolint:gosmopolitan // "Local" would be the server's
		return nil
	}
	zones.Store(c.Value, zone)
	return zone
}

// reader adds the language and time zone of a request to its viewer.
func reader(me board.Viewer, r *http.Request) board.Viewer {
	me.Language, me.Zone = languageOf(r).Tag, zoneOf(r)
	return me
}

// chooseLanguage stores the language that a person chose in this browser. An
// empty choice removes it.
func (s *Server) chooseLanguage(w http.ResponseWriter, r *http.Request) {
	c := &http.Cookie{Name: languageCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure(r)} //nolint:gosec // Secure where there is TLS
	if l, ok := lang.Match(r.PostFormValue(fieldLanguage)); ok {
		c.Value, c.MaxAge = l.Tag, int(365*24*time.Hour/time.Second)
	}
	http.SetCookie(w, c)
	http.Redirect(w, r, landing(r.PostFormValue("to")), http.StatusSeeOther)
}
