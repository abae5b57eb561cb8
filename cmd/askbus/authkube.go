package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/askbus/askbus/internal/kubeapi"
	"github.com/askbus/askbus/internal/kubesecret"
	"github.com/askbus/askbus/internal/natsd"
)

// keysSecret is the suffix of the name of the Secret with a deployment's keys.
const keysSecret = "-keys"

// rolesToKubernetes stores the keys of a deployment in a Secret, and each role's credential in
// another. Two concurrent runs end with the same keys.
func (a *app) rolesToKubernetes(ctx context.Context, prefix string, types []string, expires time.Duration) error {
	c, err := kubesecret.New(kubeapi.Dir, os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	if err != nil {
		return err
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "askbus", "app.kubernetes.io/instance": prefix}
	held, err := c.Read(ctx, prefix+keysSecret)
	if errors.Is(err, kubesecret.ErrNone) {
		if held, err = a.newKeys(); err != nil {
			return err
		}
		if err = c.Create(ctx, prefix+keysSecret, labels, held); errors.Is(err, kubesecret.ErrExists) {
			held, err = c.Read(ctx, prefix+keysSecret)
		}
	}
	if err != nil {
		return err
	}
	if err := writeFiles(filepath.Join(a.Dir, authFolder), held); err != nil {
		return err
	}
	if _, err := natsd.Init(a.Dir); err != nil { // signs the rights of this version
		return err
	}
	files, err := a.roleFiles(types, "", expires)
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
		a.say("askbus: wrote Secret %s-%s", prefix, role)
	}
	return nil
}

// authFolder is the directory of the keys inside --dir.
const authFolder = "auth"

// newKeys makes keys in --dir and returns their files.
func (a *app) newKeys() (map[string][]byte, error) {
	if _, err := natsd.Init(a.Dir); err != nil {
		return nil, err
	}
	return readFiles(filepath.Join(a.Dir, authFolder))
}

// readFiles reads the files of a folder.
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
