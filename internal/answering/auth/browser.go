package auth

import "strings"

// The marks of browsers and systems in a User-Agent. Most name others for compatibility, so the first that matches counts.
var (
	browsers = [][2]string{ //nolint:gochecknoglobals // never changed
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"HeadlessChrome/", "Chrome (headless)"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	}
	systems = [][2]string{ //nolint:gochecknoglobals // never changed
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Android", "Android"},
		{"CrOS", "ChromeOS"},
		{"Windows", "Windows"},
		{"Mac OS X", "macOS"},
		{"Linux", "Linux"},
	}
)

// BrowserName returns a User-Agent in words, such as "Chrome on macOS". What is none, or of an unknown browser, such as
// the name of a terminal, is returned as it is.
func BrowserName(userAgent string) string {
	if !strings.HasPrefix(userAgent, "Mozilla/") {
		return userAgent
	}
	browser, system := first(browsers, userAgent), first(systems, userAgent)
	switch {
	case browser == "":
		return userAgent
	case system == "":
		return browser
	}
	return browser + " on " + system
}

func first(marks [][2]string, in string) string {
	for _, m := range marks {
		if strings.Contains(in, m[0]) {
			return m[1]
		}
	}
	return ""
}
