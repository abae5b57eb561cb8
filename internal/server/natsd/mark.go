package natsd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats-server/v2/server"
)

// mark records the last sequence of each stream outside of the store: a store
// that comes back shorter has lost acknowledged messages. The record lags the
// store by markEvery, or markIdle after nothing was stored for a while, and is
// not synced: after a power cut it may lag more, and then detects less. It is
// never ahead.
type mark struct {
	claims *sync.Mutex // nats-server reads an account in Jsz while UpdateAccountClaims writes it
	srv    *server.Server
	log    *logger
	opts   Options
	list   *storecheck.Follower
	file   *os.File
	storecheck.Marked
}

const (
	markEvery = 100 * time.Millisecond
	markIdle  = time.Second // looking cost a third of the processor time of an idle process
	diskEvery = 10 * time.Minute
)

// newMark makes the record of the streams that follow keeps. In a cluster it has
// only the block files: a node may be reset by its peers.
func newMark(srv *server.Server, log *logger, opts Options, i *storecheck.Inspection, claims *sync.Mutex) (*mark, error) {
	m := &mark{srv: srv, log: log, claims: claims, opts: opts, list: storecheck.NewFollower(opts.Dir, i.Found), Marked: storecheck.Marked{Account: i.Account, Streams: maps.Clone(i.Seqs)}}
	if opts.Cluster != nil {
		return m, nil
	}
	var err error
	m.file, err = os.OpenFile(filepath.Join(opts.Dir, storecheck.MarkFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record the last sequences of the store: %w", err)
	}
	return m, nil
}

// follow keeps the record until ctx ends, and then takes a last look.
func (m *mark) follow(ctx context.Context) {
	wait := markEvery
	tick := time.NewTimer(wait)
	defer tick.Stop()
	disk := time.NewTicker(diskEvery)
	defer disk.Stop()
	for {
		select {
		case now := <-tick.C:
			if wait = min(2*wait, markIdle); m.check() {
				wait = markEvery
			}
			m.list.Look(now)
			tick.Reset(wait)
		case <-disk.C:
			warnOfDisk(m.opts.Logger, m.opts.Dir, m.opts.MaxStore)
		case <-ctx.Done():
			m.check()
			return
		}
	}
}

// check reports whether a stream has advanced, and then writes the file: in one
// call, never shorter than before, so that a crash leaves the old or the new
// text. A stream of which a write failed does not advance: the server may count
// the lost message.
func (m *mark) check() (further bool) {
	if m.file == nil {
		return false
	}
	m.claims.Lock()
	info, err := m.srv.Jsz(&server.JSzOptions{Account: m.Account, Streams: true})
	m.claims.Unlock()
	if err != nil || len(info.AccountDetails) == 0 {
		return false // JetStream is shutting down
	}
	for _, s := range info.AccountDetails[0].Streams {
		if strings.HasPrefix(s.Name, subject.StreamPrefix) && s.State.LastSeq > m.Streams[s.Name] && !m.log.failedIn(s.Name) {
			m.Streams[s.Name], further = s.State.LastSeq, true
		}
	}
	if !further {
		return false
	}
	if data, err := json.Marshal(m.Marked); err == nil {
		_, _ = m.file.WriteAt(append(data, '\n'), 0) // it may lag
	}
	return true
}

// close syncs the file.
func (m *mark) close() {
	if m.file != nil {
		_ = m.file.Sync() // it may lag
		_ = m.file.Close()
	}
}
