package tui

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
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
// ends when its connection drops or its terminal closes. An ask that a person answers on several screens at once has a file
// for each, so that they do not overwrite each other's. They are safe for concurrent use.
type Drafts struct {
	dir string

	mu    sync.Mutex
	names map[string][]string // files, by what [draftOf] returns
	swept time.Time           // when old drafts were last removed
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
	d.names, d.swept = map[string][]string{}, time.Now()
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > draftLife {
			_ = os.Remove(filepath.Join(d.dir, e.Name()))
			continue
		}
		of := commonName(e.Name())
		d.names[of] = append(d.names[of], e.Name())
	}
	return nil
}

// draftsOf begins the names of a person's drafts.
func draftsOf(by ask.By) string { return hashed(by.Principal) + "-" }

// draftOf begins the names of a person's drafts for an ask, in one of its lives.
func draftOf(by ask.By, k ask.Key, life string) string {
	return draftsOf(by) + hashed(k.String()+"\x00"+life)
}

// commonName returns what [draftOf] returned for a file: an earlier version named its only file so.
func commonName(file string) string {
	return file[:min(len(file), len(draftOf(ask.By{}, ask.Key{}, "")))]
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (d *Drafts) has(of string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.names[of]) > 0
}

// newest reads the newest of the drafts with a common name; an empty name: there is none.
func (d *Drafts) newest(of string) (name string, data []byte) {
	if d == nil {
		return "", nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var at time.Time
	for _, one := range d.names[of] {
		if info, err := os.Stat(filepath.Join(d.dir, one)); err == nil && info.ModTime().After(at) {
			name, at = one, info.ModTime()
		}
	}
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		return "", nil
	}
	return name, data
}

// keep stores a draft in place of what the same screen stored or resumed, or removes it if there is nothing to keep. If
// another screen has changed that file since, the draft gets a file of its own. It returns the name of the file.
func (d *Drafts) keep(of, name string, before, data []byte) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.swept) > sweepEvery { // a server over SSH runs for months
		_ = d.sweep() // the next one may succeed
	}
	if now, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || !bytes.Equal(now, before) {
		name = of + "-" + rand.Text()
	}
	path := filepath.Join(d.dir, name)
	others := slices.DeleteFunc(d.names[of], func(one string) bool { return one == name })
	if data == nil {
		if d.names[of] = others; len(others) == 0 {
			delete(d.names, of)
		}
		_ = os.Remove(path) // another screen may have been first
		return "", nil
	}
	d.names[of] = append(others, name)
	return name, file.Replace(path, data, 0o600)
}

// forget removes the drafts of every screen for an ask that has its answer.
func (d *Drafts) forget(of string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, of)
	names, _ := fs.Glob(os.DirFS(d.dir), of+"*") // other processes may have made some
	for _, name := range names {
		_ = os.Remove(filepath.Join(d.dir, name))
	}
}

// of returns the asks of a person's drafts, in no order.
func (d *Drafts) of(by ask.By) (all []ask.Key) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	own := draftsOf(by)
	for of, names := range d.names {
		if !strings.HasPrefix(of, own) {
			continue
		}
		var one draft
		data, err := os.ReadFile(filepath.Join(d.dir, names[0]))
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
		name, err := m.opts.Drafts.keep(draftOf(m.opts.By, k, f.rec.Life), f.file, f.kept, now)
		if err == nil {
			f.file, f.kept = name, now
		}
	}
}

// resume fills a form with its draft, if there is one, and reports whether there is.
func (m *model) resume(f *form) bool {
	name, data := m.opts.Drafts.newest(draftOf(m.opts.By, f.rec.Ask.Key(), f.rec.Life))
	var d draft
	if name == "" || json.Unmarshal(data, &d) != nil || len(d.Fields) != len(f.fields) {
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
	f.touched, f.file, f.kept = true, name, data
	return true
}
