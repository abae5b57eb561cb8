package natsd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats-server/v2/server"
)

const markFile = "high-water"

// marked is what the file holds: whose store it is and how far each stream had
// got.
type marked struct {
	Account string            `json:"account"` // the public key of the ledger's account
	Streams map[string]uint64 `json:"streams"`
}

// mark remembers outside of the store how far each stream had got: a store that
// comes back shorter has lost something that somebody was told is kept. It is
// written at most markEvery behind the store, and not synced: after a power cut
// it may lag more, which only makes it see less. It never runs ahead.
type mark struct {
	claims *sync.Mutex // nats-server reads an account in Jsz while UpdateAccountClaims writes it
	srv    *server.Server
	opts   Options
	list   *follower
	file   *os.File
	marked
	stop chan struct{}
	done chan struct{}
}

const (
	markEvery = 100 * time.Millisecond
	diskEvery = 10 * time.Minute
)

// readMark reads how far the streams had got; nothing is known of a new store.
func readMark(dir string) (marked, error) {
	path := filepath.Join(dir, markFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return marked{Streams: map[string]uint64{}}, nil
	}
	if err != nil {
		return marked{}, fmt.Errorf("read how far the store had got: %w", err)
	}
	var m marked
	err = json.Unmarshal(data, &m)
	if err == nil && m.Streams == nil { // of an earlier build: the streams only
		err = json.Unmarshal(data, &m.Streams)
	}
	if err != nil {
		return marked{}, fmt.Errorf("%s is damaged (%w); remove it to start without this check", path, err)
	}
	return m, nil
}

// startMark follows the streams until it is closed. In a cluster it remembers
// the block files only: a node may be set back by its peers.
func startMark(srv *server.Server, opts Options, i *inspection, claims *sync.Mutex) (*mark, error) {
	m := &mark{srv: srv, claims: claims, opts: opts, list: newFollower(opts.Dir, i.found), marked: marked{Account: i.account, Streams: maps.Clone(i.seqs)}, stop: make(chan struct{}), done: make(chan struct{})}
	if opts.Cluster != nil {
		go m.follow()
		return m, nil
	}
	var err error
	m.file, err = os.OpenFile(filepath.Join(opts.Dir, markFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("remember how far the store gets: %w", err)
	}
	go m.follow()
	return m, nil
}

func (m *mark) follow() {
	defer close(m.done)
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	disk := time.NewTicker(diskEvery)
	defer disk.Stop()
	for {
		select {
		case now := <-tick.C:
			m.look()
			m.list.look(now)
		case <-disk.C:
			warnOfDisk(m.opts.Logger, m.opts.Dir, m.opts.MaxStore)
		case <-m.stop:
			m.look()
			return
		}
	}
}

// look writes the file when a stream has got further: in one call, always as
// long as it ever was, so that a crash leaves the old or the new text.
func (m *mark) look() {
	if m.file == nil {
		return
	}
	m.claims.Lock()
	info, err := m.srv.Jsz(&server.JSzOptions{Account: m.Account, Streams: true})
	m.claims.Unlock()
	if err != nil || len(info.AccountDetails) == 0 {
		return // JetStream is on its way down
	}
	further := false
	for _, s := range info.AccountDetails[0].Streams {
		if strings.HasPrefix(s.Name, subject.StreamPrefix) && s.State.LastSeq > m.Streams[s.Name] {
			m.Streams[s.Name], further = s.State.LastSeq, true
		}
	}
	if !further {
		return
	}
	if data, err := json.Marshal(m.marked); err == nil {
		_, _ = m.file.WriteAt(append(data, '\n'), 0) // it may lag
	}
}

// close takes a last look and syncs the file.
func (m *mark) close() {
	if m == nil {
		return
	}
	close(m.stop)
	<-m.done
	if m.file != nil {
		_ = m.file.Sync() // it may lag
		_ = m.file.Close()
	}
}

// adoptMark notes that the store is now this account's.
func adoptMark(dir, account string) error {
	m, err := readMark(dir)
	if err != nil {
		return err
	}
	m.Account = account
	return m.write(dir)
}

func (m marked) write(dir string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(dir, markFile), append(data, '\n'))
}
