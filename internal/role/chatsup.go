package role

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
)

// Times of the connected chats.
const (
	lookForChats = time.Second     // how often the directory is looked at, and each chat asked whether it is ready
	chatPatience = 5 * time.Second // how long one may be not ready before that is said
	chatAgain    = time.Minute     // after which one that stopped, or could not start, is started again
)

// connectedChats adds the part that runs the chats of the directory, from when "askbus connect" wrote their settings. One
// that cannot run is named, and stops nothing else. Base is the inbox's address, where platforms that call do so.
func (r *Process) connectedChats(base string) {
	at := map[string]*switched{}
	for _, entry := range chats() {
		if c := entry(); c.HTTPAddr != nil {
			at[c.Type] = &switched{}
			r.mount("/"+c.Type+"/", c.passing(r.a.Dir, at[c.Type]))
		}
	}
	r.parts = append(r.parts, daemon.Part{Name: "connected chats", Run: func(ctx context.Context) error {
		running := map[string]*connectedChat{}
		for on := true; on; on = backoff.Sleep(ctx, lookForChats) == nil {
			all, there := accounts(r.a.Dir), map[string]bool{}
			for _, c := range all {
				there[c.served()] = true
			}
			for typ, one := range running {
				if !there[typ] {
					one.stop()
					delete(running, typ)
				}
			}
			for _, c := range all {
				changed := fileStamp(c.chatFile(r.a.Dir))
				one := running[c.served()]
				switch {
				case one == nil && changed == "":
				case one == nil || one.stamp != changed || one.over():
					said := ""
					if one != nil {
						one.stop()
						delete(running, c.served())
						said = one.said
					}
					if changed != "" {
						running[c.served()] = r.startChat(ctx, c, changed, base, at[c.served()], said)
					}
				default:
					one.look()
				}
			}
		}
		var all sync.WaitGroup
		for _, one := range running {
			all.Go(one.stop)
		}
		all.Wait()
		return nil
	}})
}

// fileStamp returns what changes when a file does; "": there is none.
func fileStamp(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return info.ModTime().Format(time.RFC3339Nano)
}

// switched is a handler that is there only while a chat runs.
type switched struct{ to atomic.Pointer[http.Handler] }

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if to := s.to.Load(); to != nil {
		(*to).ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// connectedChat is a chat of the directory that this process runs, or could not start.
type connectedChat struct {
	c     *chatEntry
	note  func(format string, args ...any)
	stamp string    // of its settings
	begun time.Time // when it was started

	run    *chatRun // nil: it could not start
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	since  time.Time     // when it was not ready any more; zero: it is ready
	said   string        // what was said of it last
}

// startChat starts a chat. Whatever is wrong with it is said, and its settings may be mended.
func (r *Process) startChat(ctx context.Context, c *chatEntry, stamp, base string, at *switched, said string) *connectedChat {
	now := time.Now()
	one := &connectedChat{c: c, note: r.a.Note, stamp: stamp, begun: now, since: now, done: make(chan struct{}), cancel: func() {}, said: said}
	err := config.Load(c.Settings)
	if err == nil {
		err = c.fill(r.a.Dir)
	}
	if err == nil {
		one.run, err = r.chat(c, "", chatInbox(r.a, c.Inbox, base))
	}
	if err == nil && c.account != "" && one.run.handler != nil {
		one.run.close()
		one.run, err = nil, fmt.Errorf("%s has to reach it at an address of its own: run \"%s\"", c.Name, r.a.Hint(c.command()))
	}
	if err != nil {
		close(one.done)
		fix := "; fix it, or run \"" + r.a.Hint("connect "+c.command()) + "\" again"
		if c.Overrides != "" {
			fix = "" // it is said already
		}
		one.say("cannot run: " + err.Error() + fix)
		return one
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one.cancel = cancel
	if at != nil && one.run.handler != nil {
		at.to.Store(&one.run.handler)
	}
	go func() {
		defer close(one.done)
		var all sync.WaitGroup
		for _, p := range one.run.parts {
			all.Go(func() {
				if err := p.Run(running); err != nil && running.Err() == nil {
					one.run.failed.Store(&err)
				}
				if running.Err() == nil {
					cancel() // one part alone is of no use
				}
			})
		}
		all.Wait()
		if at != nil {
			at.to.CompareAndSwap(&one.run.handler, nil)
		}
		one.run.drain()
		one.run.close()
	}()
	return one
}

func (o *connectedChat) stop() {
	o.cancel()
	<-o.done
}

// over reports whether it has ended, and may be started again.
func (o *connectedChat) over() bool {
	select {
	case <-o.done:
		return time.Since(o.begun) >= chatAgain
	default:
		return false
	}
}

// look says whether the chat works, if that has changed.
func (o *connectedChat) look() {
	if o.run == nil {
		return
	}
	err := o.run.app.Ready()
	if failed := o.run.failed.Load(); failed != nil {
		err = *failed
	}
	switch {
	case err == nil:
		o.since = time.Time{}
		o.say("is connected" + strings.TrimSuffix("; "+o.c.Overrides, "; "))
	case o.since.IsZero():
		o.since = time.Now()
	case time.Since(o.since) >= chatPatience:
		o.say("does not work: " + err.Error())
	}
}

func (o *connectedChat) say(words string) {
	if o.said != words {
		o.said = words
		name := o.c.Name
		if o.c.account != "" {
			name += " (" + o.c.account + ")"
		}
		o.note("askbus: %s %s", name, words)
	}
}
