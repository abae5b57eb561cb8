package web

import (
	"encoding/json"
	"net/http"
)

// worker serves the service worker, at the root so that it serves every page.
// Browsers look for another version themselves.
func (a *assets) worker(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(a.files["sw.js"])
}

// manifest says how the inbox looks as an app. It is read without cookies.
func (a *assets) manifest(w http.ResponseWriter, r *http.Request) {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose,omitempty"`
	}
	w.Header().Set("Content-Type", "application/manifest+json")
	w.Header().Set("Cache-Control", "no-cache")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the browser is gone
		"id": "/", "start_url": "/", "scope": "/", "display": "standalone", "name": "askbus", "short_name": "askbus",
		"description": languageOf(r).Say("What your agents ask you"), "lang": languageOf(r).Tag, "background_color": "#f5f6f8", "theme_color": "#3c4ee0",
		"icons": []icon{
			{a.path("icon.svg"), "any", "image/svg+xml", ""},
			{a.path("icon-192.png"), "192x192", "image/png", ""},
			{a.path("icon-512.png"), "512x512", "image/png", "any maskable"},
		},
	})
}
