package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	mostBallast = 1 << 30         // maximum free space of a small disk
	fullFor     = 3 * time.Second // how long it stays full
)

// fullDisk is the file system of one server's store. It is full for a while; then space is freed, the server ends by itself
// or opens its store again, as docs/guarantees.md says, and is killed.
type fullDisk struct {
	bus *Processes
	pr  *process // its server
	dir string
}

// Name implements [Victim].
func (d *fullDisk) Name() string { return "disk" }

// Stop implements [Victim]: a disk cannot be stopped.
func (d *fullDisk) Stop(context.Context, time.Duration) (bool, error) { return false, nil }

// Kill implements [Victim].
func (d *fullDisk) Kill(ctx context.Context) error {
	ballast := filepath.Join(d.dir, "ballast")
	err := fill(ballast)
	if err == nil {
		until(ctx, time.Now().Add(fullFor))
	}
	if err := errors.Join(err, os.Remove(ballast)); err != nil {
		return err
	}
	d.pr.ended(fullFor)
	return (&victim{d.bus, d.pr}).Kill(ctx)
}

// fill writes a file until the disk is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("torture: fill the disk: %w", err)
	}
	defer f.Close() //nolint:errcheck // removed later
	chunk := make([]byte, 1<<20)
	for size := 0; size <= mostBallast; {
		n, err := f.Write(chunk)
		size += n
		switch {
		case errors.Is(err, syscall.ENOSPC) && len(chunk) > 1:
			chunk = chunk[:len(chunk)/2]
		case errors.Is(err, syscall.ENOSPC):
			return nil
		case err != nil:
			return fmt.Errorf("torture: fill the disk: %w", err)
		}
	}
	return fmt.Errorf("torture: %s has more than 1 GiB of room; give --small-disk a file system of its own, such as a tmpfs of 200 MiB", filepath.Dir(path))
}
