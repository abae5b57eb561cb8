package interop_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/chromedp/chromedp"
)

// TestThePackageAsksFromAPageAndAWorker asks with the package for TypeScript as a page of another origin, and a worker of it, load it.
func TestThePackageAsksFromAPageAndAWorker(t *testing.T) {
	t.Parallel()
	o := packages(t)
	var b *bus
	var token string
	mux := http.NewServeMux()
	mux.Handle("/askbus/", http.StripPrefix("/askbus/", http.FileServer(http.Dir(filepath.Join(o.node(), "dist")))))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><pre id="page"></pre><pre id="worker"></pre><script type="module">
			const say = (where) => ({ data }) => { document.getElementById(where).textContent = data }
			new Worker('/ask.js?worker', { type: 'module' }).onmessage = say('worker')
			const { ask } = await import('/ask.js?page')
			say('page')({ data: await ask })
		</script>`)
	})
	mux.HandleFunc("/ask.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprintf(w, `import { Askbus } from '/askbus/index.js'
			const options = { pg: 'PostgreSQL', lite: 'SQLite' }
			const asking = new Askbus({ url: %q, token: %q }).choose('Which database?', { options, id: location.pathname + import.meta.url.split('?')[1] })
			export const ask = asking.then((end) => end.status + ' ' + end.value)
			if (typeof document === 'undefined') postMessage(await ask)`, b.url, token)
	})
	page := httptest.NewServer(mux)
	t.Cleanup(page.Close)
	b = upWith(t, []string{"ASKBUS_CORS_ORIGINS=" + page.URL})
	token = b.token("pages")
	tab := browsertest.Open(t)
	tab.Do(chromedp.Navigate(page.URL))
	for range 2 {
		b.choose(b.next(), "lite")
	}
	tab.Wait(`["page", "worker"].every((id) => document.getElementById(id).textContent === "answered lite")`)
}
