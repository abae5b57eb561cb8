package tui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// draftLife is how long a draft is kept after its last change: an ask has ended by then.
const draftLife = 31 * 24 * time.Hour

// sweepEvery is how often old drafts are removed while a process runs.
const sweepEvery = 24 * time.Hour

// Drafts keep what people have chosen and typed and not sent, in files of a directory that only this user reads: a screen
// ends when its connection drops or its terminal closes. Screens of one process share them. They are safe for concurrent use.
type Drafts struct {
	dir string

	mu    sync.Mutex
	names map[string]bool
	swept time.Time // when old drafts were last removed
}

// OpenDrafts makes the directory if it is missing, and removes the drafts of a month ago.
func OpenDrafts(dir string) (*Drafts, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep drafts: %w", err)
	}
	d := &Drafts{dir: dir}
	if err := d.sweep(); err != nil {
		return nil, fmt.Errorf("keep drafts: %w", err)
	}
	return d, nil
}

// sweep removes the drafts of a month ago, and reads which there are.
func (d *Drafts) sweep() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	d.names, d.swept = map[string]bool{}, time.Now()
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > draftLife {
			_ = os.Remove(filepath.Join(d.dir, e.Name()))
			continue
		}
		d.names[e.Name()] = true
	}
	return nil
}

// draftsOf begins the names of a person's drafts.
func draftsOf(by ask.By) string { return hashed(by.Principal) + "-" }

// draftOf names the draft of a person for an ask, in one of its lives.
func draftOf(by ask.By, k ask.Key, life string) string {
	return draftsOf(by) + hashed(k.String()+"\x00"+life)
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (d *Drafts) has(name string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[name]
}

// keep stores a draft, or removes it if there is nothing to keep.
func (d *Drafts) keep(name string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.swept) > sweepEvery { // a server over SSH runs for months
		_ = d.sweep() // the next one may succeed
	}
	path := filepath.Join(d.dir, name)
	if data == nil {
		delete(d.names, name)
		_ = os.Remove(path) // another screen may have been first
		return nil
	}
	d.names[name] = true
	return file.Replace(path, data, 0o600)
}

// of returns the asks of a person's drafts, in no order.
func (d *Drafts) of(by ask.By) (all []ask.Key) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	own := draftsOf(by)
	for name := range d.names {
		if !strings.HasPrefix(name, own) {
			continue
		}
		var one draft
		data, err := os.ReadFile(filepath.Join(d.dir, name))
		if err == nil && json.Unmarshal(data, &one) == nil {
			all = append(all, one.Of)
		}
	}
	return all
}

// maxOvertaken bounds the asks that are read when a screen opens, because they may have ended.
const maxOvertaken = 20

// overtaken reads asks that may have ended since this person began to answer them on a screen that is gone, for
// [model.loaded] to show what was not sent. Of several that ended, each screen that opens shows one.
func (m *model) overtaken() tea.Cmd {
	var all []tea.Cmd
	for _, k := range m.opts.Drafts.of(m.opts.By) {
		if len(all) < maxOvertaken && !slices.ContainsFunc(m.heads, func(h board.Head) bool { return h.Key == k }) {
			all = append(all, m.load(k))
		}
	}
	return tea.Batch(all...)
}

// draft is what is kept of a form.
type draft struct {
	Of     ask.Key      `json:"of"`
	Life   string       `json:"life"`
	Fields []draftField `json:"fields"`
	Reply  string       `json:"reply,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Alone  string       `json:"alone,omitempty"`
}

type draftField struct {
	Chosen []string `json:"chosen,omitempty"`
	Other  bool     `json:"other,omitempty"`
	Value  string   `json:"value,omitempty"`
	Note   string   `json:"note,omitempty"`
}

// unsent returns what is to be kept of a form; nil: nothing.
func (f *form) unsent() []byte {
	if !f.touched || f.end != nil {
		return nil
	}
	d, empty := draft{Of: f.rec.Ask.Key(), Life: f.rec.Life, Reply: f.reply.String(), Reason: f.reason.String(), Alone: f.alone.String()}, len(f.begun()) == 0
	for i := range f.fields {
		fl := &f.fields[i]
		empty = empty && len(fl.chosen) == 0
		d.Fields = append(d.Fields, draftField{fl.chosen, fl.other, fl.value.String(), fl.note.String()})
	}
	data, err := json.Marshal(d)
	if err != nil || empty {
		return nil
	}
	return data
}

// keepDrafts stores every draft that has changed.
func (m *model) keepDrafts() {
	if m.opts.Drafts == nil {
		return
	}
	for k, f := range m.forms {
		now := f.unsent()
		if bytes.Equal(now, f.kept) {
			continue
		}
		if err := m.opts.Drafts.keep(draftOf(m.opts.By, k, f.rec.Life), now); err == nil {
			f.kept = now
		}
	}
}

// resume fills a form with its draft, if there is one, and reports whether there is.
func (m *model) resume(f *form) bool {
	name := draftOf(m.opts.By, f.rec.Ask.Key(), f.rec.Life)
	if !m.opts.Drafts.has(name) {
		return false
	}
	data, err := os.ReadFile(filepath.Join(m.opts.Drafts.dir, name))
	var d draft
	if err != nil || json.Unmarshal(data, &d) != nil || len(d.Fields) != len(f.fields) {
		return false
	}
	for i, kept := range d.Fields {
		fl := &f.fields[i]
		fl.chosen, fl.other = kept.Chosen, kept.Other
		fl.value.set(kept.Value)
		fl.note.set(kept.Note)
	}
	f.reply.set(d.Reply)
	f.reason.set(d.Reason)
	f.alone.set(d.Alone)
	switch { // these are shown while they are being typed
	case d.Reply != "":
		f.typing = typingReply
	case d.Reason != "":
		f.typing = typingReason
	}
	f.touched, f.kept = true, data
	return true
}
