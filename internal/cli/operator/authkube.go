package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/kube"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
)

// keysSecret is the suffix of the name of the Secret with a deployment's keys.
const keysSecret = "-keys"

// rolesToKubernetes stores the keys of a deployment in a Secret, and each role's credential in
// another. Two concurrent runs end with the same keys. If the deployment has servers, it notes that they have the ledger,
// unless leave has a claim of those that had it.
func rolesToKubernetes(ctx context.Context, a *cli.App, prefix string, types []string, responders map[string]ledger.Group, leaf leafOf, expires time.Duration, servers string, leave []string) error {
	c, err := kube.NewSecrets(kube.Dir, os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	if err != nil {
		return err
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "askbus", "app.kubernetes.io/instance": prefix}
	held, err := c.Read(ctx, prefix+keysSecret)
	if errors.Is(err, kube.ErrNone) {
		if held, err = newKeys(a); err != nil {
			return err
		}
		if err = c.Create(ctx, prefix+keysSecret, labels, held); errors.Is(err, kube.ErrExists) {
			held, err = c.Read(ctx, prefix+keysSecret)
		}
	}
	if err != nil {
		return err
	}
	note := newLedgerNote(c, prefix+keysSecret, held, servers, leave)
	if err := note.clear(ctx); err != nil {
		return err
	}
	delete(held, rights.LedgerNote) // only the note itself is written there
	if err := writeFiles(filepath.Join(a.Dir, authFolder), held); err != nil {
		return err
	}
	if _, err := natsd.Init(a.Dir); err != nil { // signs the rights of this version
		return err
	}
	files, err := rolesOf(a, types, responders, leaf, "", expires)
	if err != nil {
		return err
	}
	if files["keys"], err = readFiles(filepath.Join(a.Dir, authFolder)); err != nil {
		return err
	}
	for role, data := range files {
		if err := c.Write(ctx, prefix+"-"+role, labels, data); err != nil {
			return err
		}
		a.Note("askbus: wrote Secret %s-%s", prefix, role)
	}
	if servers == "" {
		return nil
	}
	return note.write(ctx, a)
}

// authFolder is the directory of the keys inside --dir.
const authFolder = "auth"

// newKeys makes keys in --dir and returns their files.
func newKeys(a *cli.App) (map[string][]byte, error) {
	if _, err := natsd.Init(a.Dir); err != nil {
		return nil, err
	}
	return readFiles(filepath.Join(a.Dir, authFolder))
}

func readFiles(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}
