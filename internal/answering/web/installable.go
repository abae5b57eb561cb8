package web

import (
	"encoding/json"
	"net/http"
)

// worker serves the service worker. It is at the root so that its scope is
// every page. Browsers check for new versions themselves.
func (a *assets) worker(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(a.files["sw.js"])
}

// manifest serves the web app manifest. Browsers request it without cookies.
func (a *assets) manifest(w http.ResponseWriter, r *http.Request) {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose,omitempty"`
	}
	w.Header().Set("Content-Type", "application/manifest+json")
	w.Header().Set("Cache-Control", "no-cache")
	_ = json.NewEncoder(w).Encode(map[string]any{ // an error means that the browser disconnected
		"id": "/", "start_url": "/", "scope": "/", "display": "standalone", "name": "askbus", "short_name": "askbus",
		"description": languageOf(r).Say("What your agents ask you"), "lang": languageOf(r).Tag, "background_color": "#f5f6f8", "theme_color": "#3c4ee0",
		"icons": []icon{
			{a.path("icon.svg"), "any", "image/svg+xml", ""},
			{a.path("icon-192.png"), "192x192", "image/png", ""},
			{a.path("icon-512.png"), "512x512", "image/png", "any maskable"},
		},
	})
}
