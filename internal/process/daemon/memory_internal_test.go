package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLowestMemoryLimitCounts(t *testing.T) {
	t.Parallel()
	const fs = "sys/fs/cgroup/"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64 // 0: none
	}{
		"version 2":                   {map[string]string{"proc/self/cgroup": "0::/a/b\n", fs + "a/b/memory.max": "max\n", fs + "a/memory.max": "536870912\n"}, 512 << 20},
		"version 2, in a container":   {map[string]string{"proc/self/cgroup": "0::/\n", fs + "memory.max": "1073741824\n"}, 1 << 30},
		"version 2, none":             {map[string]string{"proc/self/cgroup": "0::/a\n", fs + "a/memory.max": "max\n"}, 0},
		"version 1":                   {map[string]string{"proc/self/cgroup": "9:cpu:/x\n4:memory:/a\n0::/a\n", fs + "memory/a/memory.limit_in_bytes": "536870912\n", fs + "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 512 << 20},
		"version 1, in a container":   {map[string]string{"proc/self/cgroup": "4:memory:/docker/1\n", fs + "memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"version 1, none":             {map[string]string{"proc/self/cgroup": "4:memory:/\n", fs + "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"another system than Linux":   {nil, 0},
		"a file that says nothing":    {map[string]string{"proc/self/cgroup": "0::/a\n", fs + "a/memory.max": "\n"}, 0},
		"a list that says nothing":    {map[string]string{"proc/self/cgroup": "nonsense\n"}, 0},
		"a path that leads elsewhere": {map[string]string{"proc/self/cgroup": "0::/../../a\n", fs + "a/memory.max": "1048576\n"}, 1 << 20},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			at := filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, ok := groupMemory(root); ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}
