package natsd

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
)

const markFile = "high-water"

// mark remembers outside of the store how far each stream had got: a store that
// comes back shorter has lost something that somebody was told is kept. It is
// written behind every question and outcome, but not synced each time: it is
// there after a crash of the process, and after a power cut it may lag, which
// only makes it see less. It never runs ahead of the store.
type mark struct {
	nc   *nats.Conn
	file *os.File

	mu   sync.Mutex
	seqs map[string]uint64
	err  error
}

// markUser may hear what is republished, for as long as this process lives.
type markUser struct{ name, password string }

func newMarkUser() markUser { return markUser{"high-water", rand.Text()} }

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

// startMark listens to what the streams republish.
func startMark(dir, url string, user markUser, seqs map[string]uint64) (*mark, error) {
	file, err := os.OpenFile(filepath.Join(dir, markFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("remember how far the store gets: %w", err)
	}
	m := &mark{file: file, seqs: maps.Clone(seqs)}
	m.nc, err = nats.Connect(url, nats.UserInfo(user.name, user.password), nats.MaxReconnects(-1), nats.Name("high-water"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("remember how far the store gets: %w", err), file.Close())
	}
	sub, err := m.nc.Subscribe(subject.Out+".>", m.stored)
	if err == nil {
		err = errors.Join(sub.SetPendingLimits(-1, 256<<20), m.nc.Flush())
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("remember how far the store gets: %w", err)
	}
	return m, nil
}

func (m *mark) stored(msg *nats.Msg) {
	stream := msg.Header.Get("Nats-Stream")
	seq, err := strconv.ParseUint(msg.Header.Get("Nats-Sequence"), 10, 64)
	if stream == "" || err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq <= m.seqs[stream] {
		return
	}
	m.seqs[stream] = seq
	m.write()
}

// write writes the file in one call, always as long as it ever was, so that a
// crash leaves the old or the new text.
func (m *mark) write() {
	data, err := json.Marshal(m.seqs)
	if err == nil {
		_, err = m.file.WriteAt(append(data, '\n'), 0)
	}
	m.err = err
}

// close syncs the file.
func (m *mark) close() {
	if m == nil {
		return
	}
	if m.nc != nil {
		m.nc.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.file.Sync() // it may lag
	_ = m.file.Close()
}
