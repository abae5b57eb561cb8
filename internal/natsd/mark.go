package natsd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats-server/v2/server"
)

const markFile = "high-water"

// mark remembers outside of the store how far each stream had got: a store that
// comes back shorter has lost something that somebody was told is kept. It is
// written at most markEvery behind the store, and not synced: after a power cut
// it may lag more, which only makes it see less. It never runs ahead.
type mark struct {
	srv  *server.Server
	file *os.File
	seqs map[string]uint64
	stop chan struct{}
	done chan struct{}
}

const markEvery = 100 * time.Millisecond

// readMark reads how far the streams had got; nothing is known of a new store.
func readMark(dir string) (map[string]uint64, error) {
	path := filepath.Join(dir, markFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return map[string]uint64{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the store had got: %w", err)
	}
	seqs := map[string]uint64{}
	if err := json.Unmarshal(data, &seqs); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it to start without this check", path, err)
	}
	return seqs, nil
}

// checkMark compares what the block files hold with how far they had got.
func checkMark(dir string) (map[string]uint64, error) {
	seqs, err := readMark(dir)
	if err != nil {
		return nil, err
	}
	found, err := scanStore(dir)
	if err != nil {
		return nil, err
	}
	for name, had := range seqs {
		s, there := found[name]
		switch {
		case !there:
			return nil, corrupt(dir, fmt.Sprintf("stream %s is missing; it had got to %d", name, had))
		case s.last < had && s.torn != "":
			return nil, corrupt(dir, fmt.Sprintf("%s; stream %s had got to %d, and only %d can be read", s.torn, name, had, s.last))
		case s.last < had:
			return nil, corrupt(dir, fmt.Sprintf("stream %s had got to %d, and ends at %d", name, had, s.last))
		}
	}
	return seqs, nil
}

// startMark follows the streams until it is closed.
func startMark(srv *server.Server, dir string, seqs map[string]uint64) (*mark, error) {
	file, err := os.OpenFile(filepath.Join(dir, markFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("remember how far the store gets: %w", err)
	}
	m := &mark{srv: srv, file: file, seqs: maps.Clone(seqs), stop: make(chan struct{}), done: make(chan struct{})}
	go m.follow()
	return m, nil
}

func (m *mark) follow() {
	defer close(m.done)
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.look()
		case <-m.stop:
			m.look()
			return
		}
	}
}

// look writes the file when a stream has got further: in one call, always as
// long as it ever was, so that a crash leaves the old or the new text.
func (m *mark) look() {
	info, err := m.srv.Jsz(&server.JSzOptions{Account: m.srv.GlobalAccount().GetName(), Streams: true})
	if err != nil || len(info.AccountDetails) == 0 {
		return // JetStream is on its way down
	}
	further := false
	for _, s := range info.AccountDetails[0].Streams {
		if strings.HasPrefix(s.Name, subject.StreamPrefix) && s.State.LastSeq > m.seqs[s.Name] {
			m.seqs[s.Name], further = s.State.LastSeq, true
		}
	}
	if !further {
		return
	}
	if data, err := json.Marshal(m.seqs); err == nil {
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
	_ = m.file.Sync() // it may lag
	_ = m.file.Close()
}
