package daemon

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/askbus/askbus/internal/process/httpserver"
)

// Ops is the handler of the ops address: /healthz (the process runs), /readyz
// (it serves; ready returns why not), /metrics and, with profiles, pprof. A
// profile contains memory, which every user of this machine could read there,
// so it must be switched on, and is served to this machine only. After "ok",
// /readyz has a line for each note: what an operator should change, and keeps
// nobody waiting.
func Ops(ready func() error, metrics http.Handler, profiles bool, notes ...func() []string) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
		for _, of := range notes {
			for _, note := range of() {
				fmt.Fprintln(w, "note:", note)
			}
		}
	})
	if !profiles {
		mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "pprof is switched off: start the process with ASKBUS_PPROF=true", http.StatusNotFound)
		})
		return mux
	}
	for path, serve := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.HandleFunc("/debug/pprof/"+path, fromHere(serve))
	}
	return mux
}

// fromHere serves only requests to a loopback address.
func fromHere(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !overLoopback(r) {
			http.Error(w, "pprof is served on loopback only: connect from this machine, or forward the port", http.StatusForbidden)
			return
		}
		h(w, r)
	}
}

// Guarded refuses requests over loopback for another host name: from web pages
// whose name was pointed at this machine (DNS rebinding). On other addresses,
// probes and scrapers use names that only their network knows. Health checks of
// proxies such as HAProxy name no host, which no browser does.
func Guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if overLoopback(r) && r.Host != "" && !httpserver.LoopbackHost(r.Host) {
			http.Error(w, fmt.Sprintf("this address does not answer for host %.80q: use 127.0.0.1 or localhost", r.Host), http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// overLoopback reports whether a request came to a loopback address.
func overLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && httpserver.LoopbackHost(addr.String())
}
