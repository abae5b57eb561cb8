package auditlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// height is the height of tiles: 256 hashes each, as in C2SP tlog-tiles.
const height = 8

// tiles reads and writes the tiles of a directory.
type tiles string

// tilePath returns where a tile lies: tile/<level>/<n>, without the height.
func tilePath(t tlog.Tile) string {
	return strings.Replace(t.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
}

func (d tiles) path(t tlog.Tile) string {
	return filepath.Join(string(d), filepath.FromSlash(tilePath(t)))
}

// Height implements [tlog.TileReader].
func (d tiles) Height() int { return height }

// SaveTiles implements [tlog.TileReader].
func (d tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements [tlog.TileReader]. The first hashes of a full tile are the partial tile that it
// was, which may be gone.
func (d tiles) ReadTiles(all []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(all))
	for i, t := range all {
		full := t
		full.W = 1 << height
		got, err := os.ReadFile(d.path(full))
		if os.IsNotExist(err) && t.W < full.W {
			got, err = d.partial(t)
		}
		if err != nil {
			return nil, err
		}
		if len(got) < t.W*tlog.HashSize {
			return nil, fmt.Errorf("%s has %d bytes, want %d", d.path(t), len(got), t.W*tlog.HashSize)
		}
		data[i] = got[:t.W*tlog.HashSize]
	}
	return data, nil
}

// partial reads a partial tile, or a wider one of the same place.
func (d tiles) partial(t tlog.Tile) ([]byte, error) {
	got, err := os.ReadFile(d.path(t))
	for wider := t; os.IsNotExist(err) && wider.W < 1<<height-1; {
		wider.W++
		if got, err = os.ReadFile(d.path(wider)); err == nil {
			return got, nil
		}
	}
	return got, err
}

// narrower removes the partial tiles of the same place that a new one replaces.
func (d tiles) narrower(t tlog.Tile) error {
	part := t
	part.W = 1
	dir := filepath.Dir(d.path(part))
	if t.W == 1<<height {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(d.path(t)) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
