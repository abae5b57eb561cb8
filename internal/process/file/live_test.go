package file_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/process/file"
)

func number(data []byte) (int, error) {
	text, _, _ := strings.Cut(string(data), "\n")
	return strconv.Atoi(text)
}

func TestAChangedFileIsReadAgain(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "number")
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		change := func(text string) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, time.Now(), time.Now())); err != nil {
				t.Fatal(err)
			}
		}
		change("1")
		f, err := file.OpenLive(name, number, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		change("") // what is written is not complete yet
		if got := f.Content(); got != 1 || f.Err() != nil {
			t.Errorf("while it is written: %d, %v", got, f.Err())
		}
		for _, c := range []struct {
			text string
			want int
			says string
		}{{"2", 2, "read a changed file again"}, {"two", 2, `error="` + name}, {"3\n...\n", 3, "read a changed file again"}, {"4\n", 3, "a part of the file may be missing"}, {"4\n...\n", 4, "read a changed file again"}} {
			said.Reset()
			was := f.Content()
			change(c.text)
			if got := f.Content(); got != was {
				t.Errorf("%q, which was written just now: %d, want %d", c.text, got, was)
			}
			time.Sleep(time.Second)
			for range 2 {
				if got := f.Content(); got != c.want {
					t.Errorf("%q: %d, want %d", c.text, got, c.want)
				}
				time.Sleep(2 * time.Second)
			}
			if err := f.Err(); (err == nil) != strings.Contains(c.says, "read a changed") {
				t.Errorf("%q: %v", c.text, err)
			}
			if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), c.says) {
				t.Errorf("%q: the log has %q, want %q once", c.text, &said, c.says)
			}
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := f.Content(); got != 4 {
			t.Errorf("after the file was removed: %d", got)
		}
		if err := f.Err(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the file was removed: %v", err)
		}
	})
}

func TestAFileMustBeThereAndValid(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "number")
	if _, err := file.OpenLive(name, number, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(name, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.OpenLive(name, number, nil); err == nil || !strings.Contains(err.Error(), name+": ") {
		t.Errorf("an invalid file: %v", err)
	}
}
