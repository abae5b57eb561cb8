package storecheck_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/askbus/askbus/internal/server/storecheck"
)

func TestAFullDiskIsNotAMatterOfPermissions(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{syscall.ENOSPC: "make room", syscall.EDQUOT: "make room", syscall.EROFS: "permissions", syscall.EACCES: "permissions"} {
		if said := storecheck.NotWritable("/data", fmt.Errorf("write /data/version: %w", err)).Error(); !strings.Contains(said, want) || !strings.Contains(said, "--dir") {
			t.Errorf("%v: %s", err, said)
		}
	}
}
