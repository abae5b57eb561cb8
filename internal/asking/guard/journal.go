package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of what is kept.
const (
	keep      = 24 * time.Hour // after the last change
	maxKept   = 1000           // calls in one directory
	maxResult = 1 << 20        // bytes of a call's arguments or result
)

// journal keeps calls that were answered "pending", in a directory that all guards of one server in a session share. A call belongs
// to the process that holds the lock of its file; the system releases the lock of a process that has died.
type journal struct {
	dir string
}

// kept is a call in the journal.
type kept struct {
	ID     string          `json:"id"` // of the ask
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params"`
	Stays  bool            `json:"without_client"` // see [Rule.WithoutClient]
	dir    string
	lock   *os.File
}

// ended is how a kept call ended: the server's result, or that it was not carried out.
type ended struct {
	Result json.RawMessage `json:"result"`
}

// The files of a call.
const (
	callFile    = "call.json"
	startedFile = "started" // its creation is the right to carry the call out
	endedFile   = "ended.json"
)

// errFull reports that too many calls are kept.
var errFull = fmt.Errorf("%d calls are kept, and no more; read their results with %s, or wait until they are a day old", maxKept, ResultTool)

// begin keeps a call and takes its lock.
func (j *journal) begin(k *kept) error {
	if len(k.Params) > maxResult {
		return fmt.Errorf("the call has %d bytes; a call that waits for a person has at most %d", len(k.Params), maxResult)
	}
	n, err := j.sweep()
	switch {
	case err != nil:
		return fmt.Errorf("keep the call: %w", err)
	case n >= maxKept:
		return errFull
	}
	k.dir = filepath.Join(j.dir, k.ID)
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fmt.Errorf("keep the call: %w", err)
	}
	data, err := json.Marshal(k)
	if err == nil {
		err = os.WriteFile(filepath.Join(k.dir, callFile), data, 0o600)
	}
	if err == nil && !k.take() {
		err = errors.New("its file is locked")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the call: %w", err), os.RemoveAll(k.dir))
	}
	return nil
}

// sweep removes calls that have not changed for a day and belong to nobody, and counts the others.
func (j *journal) sweep() (n int, err error) {
	all, err := os.ReadDir(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range all {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > keep {
			if k, err := j.find(e.Name()); err != nil || k.take() {
				k.release()
				if os.RemoveAll(filepath.Join(j.dir, e.Name())) == nil {
					continue
				}
			}
		}
		n++
	}
	return n, err
}

// find returns a kept call, without its lock.
func (j *journal) find(id string) (*kept, error) {
	k := &kept{dir: filepath.Join(j.dir, id)}
	if !ask.ValidToken(id) {
		return k, fs.ErrNotExist
	}
	data, err := os.ReadFile(filepath.Join(k.dir, callFile))
	if err == nil {
		err = json.Unmarshal(data, k)
	}
	return k, err
}

// left returns the calls that are to be carried out without the client that made them and whose guard has died, with
// their locks.
func (j *journal) left() (all []*kept) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		k, err := j.find(e.Name())
		if err != nil || !k.Stays || k.started() || k.ended() != nil || !k.take() {
			continue
		}
		if k.started() || k.ended() != nil { // meanwhile
			k.release()
			continue
		}
		all = append(all, k)
	}
	return all
}

// take takes the lock. It is false if a process has it.
func (k *kept) take() bool {
	f, err := os.Open(filepath.Join(k.dir, callFile))
	if err != nil {
		return false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return false
	}
	k.lock = f
	return true
}

func (k *kept) release() {
	if k.lock != nil {
		_ = k.lock.Close()
		k.lock = nil
	}
}

// start takes the right to carry the call out, once and for all. It is on the disk when start returns.
func (k *kept) start() error {
	f, err := os.OpenFile(filepath.Join(k.dir, startedFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), file.SyncDir(k.dir))
}

func (k *kept) started() bool {
	_, err := os.Stat(filepath.Join(k.dir, startedFile))
	return err == nil
}

// finish keeps the result, and releases the lock.
func (k *kept) finish(result json.RawMessage) error {
	defer k.release()
	if len(result) > maxResult {
		result = said("the call was carried out; its result has %d bytes, which is more than is kept (%d)", len(result), maxResult)
	}
	data, err := json.Marshal(ended{result})
	if err != nil {
		return err
	}
	return file.Replace(filepath.Join(k.dir, endedFile), data, 0o600)
}

// ended returns the kept result, or nil.
func (k *kept) ended() json.RawMessage {
	var e ended
	data, err := os.ReadFile(filepath.Join(k.dir, endedFile))
	if err != nil || json.Unmarshal(data, &e) != nil {
		return nil
	}
	return e.Result
}

// forget removes a call whose client has its answer.
func (k *kept) forget() error {
	defer k.release()
	return os.RemoveAll(k.dir)
}
