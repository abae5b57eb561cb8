package natsd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/server/rights"
)

// minStore is the smallest workable budget of a ledger: each of its four
// partitions writes block files of 8 MiB, and frees space only when it rewrites
// a whole file next to the old one.
const minStore = 64 << 20

// lowDisk is the free space below which a server is not ready: a failed write
// stops its stream until the store is opened again.
const lowDisk = 32 << 20

// CheckBudget refuses a budget that is too small.
func CheckBudget(bytes int64) error {
	if bytes < minStore {
		return fmt.Errorf("%s is too little; use at least %s: each partition writes files of 8 MiB, and frees space only when it rewrites a whole file next to the old one", file.SizeText(bytes), file.SizeText(minStore))
	}
	return nil
}

// checkReserved refuses a node of a cluster whose budget is less than what its bounded streams may use: nats-server keeps
// that much for them, and would then take neither their copies nor those of others, but only if it has to make one. A
// single server is only warned: what it has must be readable.
func checkReserved(dir string, budget int64, alone bool, log *slog.Logger) error {
	store := os.DirFS(filepath.Join(dir, rights.StoreDir)) // whose name is no pattern
	configs, err := fs.Glob(store, "jetstream/*/streams/*/meta.inf")
	if err != nil {
		return err
	}
	var reserved int64
	for _, path := range configs {
		data, err := fs.ReadFile(store, path)
		if err != nil {
			return err
		}
		var cfg struct {
			MaxBytes int64 `json:"max_bytes"`
		}
		if json.Unmarshal(data, &cfg) == nil { // the check of the store reports a damaged one
			reserved += max(0, cfg.MaxBytes)
		}
	}
	if reserved < budget {
		return nil
	}
	then := "a node of a cluster with less takes no copies"
	if alone {
		then = "when they do, asks and answers are refused"
	}
	err = fmt.Errorf("--max-store %s is too little for this store: the audit and the uploaded files may use %s of it, and %s; use more, or make them smaller with \"askbus ledger set\" and its --audit-bytes and --max-store", file.SizeText(budget), file.SizeText(reserved), then)
	if alone {
		log.Warn("the store may become full of what is not asks", slog.Any("error", err))
		return nil
	}
	return err
}

// disk compares the budget of a store with its disk.
type disk struct {
	Budget int64
	Used   int64 // by the store's files
	Free   int64 // on their file system
}

// lacks returns how much of the budget the disk cannot hold.
func (d disk) lacks() int64 {
	if d.Budget == unlimited {
		return 0
	}
	return max(0, d.Budget-d.Used-d.Free)
}

// readDisk measures the disk. It does not lock the store.
func readDisk(dir string, budget int64) (disk, error) {
	d := disk{Budget: budget}
	free, err := freeDisk(dir)
	if err != nil {
		return d, err
	}
	d.Free = free
	err = filepath.WalkDir(filepath.Join(dir, rights.StoreDir), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			d.Used += info.Size()
		}
		return gone(err)
	})
	return d, err
}

// gone ignores that a file was removed while its directory was read.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func freeDisk(dir string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil //nolint:gosec,unconvert // sizes of a disk; their types differ by system
}

// NearlyFull returns the free space of the disk on which a server's directory has its store, and whether it is so little
// that the server is not ready. The error is [fs.ErrNotExist] if no store is there.
func NearlyFull(dir string) (free int64, full bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, rights.StoreDir)); err != nil {
		return 0, false, err
	}
	free, err = freeDisk(dir)
	return free, free < lowDisk, err
}

// warnOfDisk warns, at start and while the server runs, if the budget does not
// fit. It does not refuse: a server whose disk filled up must start to be read,
// and to end overdue asks.
func warnOfDisk(log *slog.Logger, dir string, budget int64) {
	d, err := readDisk(dir, budget)
	switch {
	case err != nil:
		log.Warn("cannot measure the store's disk", slog.Any("error", err))
	case d.lacks() > 0:
		log.Warn("the store's budget does not fit on its disk: writes will fail before new asks are refused; make room, or lower --max-store",
			slog.String("budget", file.SizeText(d.Budget)), slog.String("used", file.SizeText(d.Used)), slog.String("free", file.SizeText(d.Free)), slog.String("lacks", file.SizeText(d.lacks())))
	}
}

// minFree is the free space below which a server with this budget is not ready.
func minFree(budget int64) int64 { return min(lowDisk, budget/10) }

// healthyDisk returns an error if the disk is nearly full, for whatever reason.
func healthyDisk(dir string, budget int64) error {
	free, err := freeDisk(dir)
	if err != nil {
		return err
	}
	if low := minFree(budget); free < low {
		return fmt.Errorf("the disk of %s has %s left, less than %s: make room now, before a write fails", dir, file.SizeText(free), file.SizeText(low))
	}
	return nil
}
