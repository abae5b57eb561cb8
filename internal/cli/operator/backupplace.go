package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/process/s3"
)

// backupName is the name of a backup in a place that holds several; nothing else there is read or removed.
const backupName = "askbus-20060102T150405Z.backup"

var isBackup = regexp.MustCompile(`^askbus-\d{8}T\d{6}Z\.backup$`)

// place holds backups: a directory, or a prefix of a bucket.
type place interface {
	// put stores a checked backup, which is not there before it is there completely.
	put(ctx context.Context, name string, f *os.File) error
	// list returns the names of what is there.
	list(ctx context.Context) ([]string, error)
	get(ctx context.Context, name string, w io.Writer) error
	remove(ctx context.Context, name string) error
}

// bucketURL begins the name of an object.
const bucketURL = "s3://"

// placeOf splits the name of a backup into its place and its name there; without a name it is a directory, or ends in a
// slash.
func placeOf(path string) (p place, name string, err error) {
	if key, ok := strings.CutPrefix(path, bucketURL); ok {
		name, key, _ := strings.Cut(key, "/")
		bucket, err := s3.Open(s3.Environment(os.Getenv), name)
		if err != nil {
			return nil, "", cli.Usage("%s: %w", path, err)
		}
		cut := strings.LastIndex(key, "/") + 1
		return inBucket{bucket, key[:cut]}, key[cut:], nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return inFolder(path), "", nil
	}
	if strings.HasSuffix(path, "/") {
		return nil, "", cli.Usage("%s is not a directory", path)
	}
	return inFolder(filepath.Dir(path)), filepath.Base(path), nil
}

// warnClear warns if what goes to or comes from an object store can be read on the way.
func warnClear(a *cli.App, path string) {
	at, err := url.Parse(s3.Environment(os.Getenv).Endpoint)
	if strings.HasPrefix(path, bucketURL) && err == nil && at.Scheme == "http" && !httpserver.LoopbackHost(at.Host) {
		a.Note("askbus: warning: the connection to %s has no TLS: anyone on the network can read every question and answer", at.Host)
	}
}

// backups returns the names of the backups of a place, the newest first.
func backups(ctx context.Context, p place) ([]string, error) {
	names, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isBackup.MatchString(name) })
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) })
	return names, nil
}

// newest returns the name of the newest backup of a place.
func newest(ctx context.Context, p place, path string) (string, error) {
	names, err := backups(ctx, p)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("there is no backup in %s: make one with \"askbus ledger backup %s\"", path, cli.Quote(path))
	}
	return names[0], nil
}

// retain removes all backups of a place but the newest, and returns how many. The one that was just made is the newest, else
// nothing is removed: names of the future would push out the backups of today, one after the other.
func retain(ctx context.Context, p place, keep int, made string) (int, error) {
	names, err := backups(ctx, p)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(names, made) {
		return 0, fmt.Errorf("%s is not in the list of what is stored there; nothing was removed", made)
	}
	if names[0] > made {
		return 0, fmt.Errorf("%s is named later than now: a clock was wrong; nothing was removed, move it away", names[0])
	}
	removed := 0
	for _, name := range names[min(keep, len(names)):] {
		if err := p.remove(ctx, name); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

type inFolder string

// temporary begins the name of a backup that is being made.
const temporary = ".askbus-backup-"

// free returns an error if a name is taken.
func (d inFolder) free(name string) error {
	path := filepath.Join(string(d), name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(cli.Usage("%s already exists; give another name", path), err)
	}
	return nil
}

func (d inFolder) put(_ context.Context, name string, f *os.File) error {
	path := filepath.Join(string(d), name)
	if err := errors.Join(d.free(name), f.Sync()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return file.SyncDir(string(d))
}

// abandoned is after how long a temporary file belongs to no backup that still runs.
const abandoned = 24 * time.Hour

// list also removes what backups left behind that were killed.
func (d inFolder) list(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(d))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), temporary) && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(string(d), e.Name())) // another one may have been quicker
		}
	}
	return names, err
}

func (d inFolder) get(_ context.Context, name string, w io.Writer) error {
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read
	_, err = io.Copy(w, f)
	return err
}

func (d inFolder) remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(string(d), name))
}

type inBucket struct {
	bucket *s3.Bucket
	prefix string
}

func (b inBucket) put(ctx context.Context, name string, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b.bucket.Put(ctx, b.prefix+name, f)
}

func (b inBucket) list(ctx context.Context) ([]string, error) {
	objects, err := b.bucket.List(ctx, b.prefix)
	var names []string
	for _, o := range objects {
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	return names, err
}

func (b inBucket) get(ctx context.Context, name string, w io.Writer) error {
	return b.bucket.Get(ctx, b.prefix+name, w)
}

func (b inBucket) remove(ctx context.Context, name string) error {
	return b.bucket.Remove(ctx, b.prefix+name)
}
