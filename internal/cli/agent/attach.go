package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

// attachment is a local file that is uploaded before the ask is sent.
type attachment struct {
	ask.File
	data []byte
}

// attachAll adds the files of --attach to the ask's evidence.
func (f *askFlags) attachAll(q *ask.Ask, cmd *cobra.Command) error {
	for _, path := range f.attach {
		data, err := cli.ReadFile(path, cmd.InOrStdin(), ask.MaxFileBytes)
		if err != nil {
			return err
		}
		file, err := f.attachOne(path, data)
		if err != nil {
			return err
		}
		q.Files = append(q.Files, file)
	}
	return nil
}

func (f *askFlags) attachOne(path string, data []byte) (ask.File, error) {
	if path == "-" {
		path = "" // standard input has no name
	}
	file, fault := ask.NewFile(path, data)
	if fault != nil {
		return file, cli.Usage("%s: %s", path, fault.In(""))
	}
	f.attachments = append(f.attachments, attachment{file, data})
	return file, nil
}

// withPaths replaces the files that an ask's JSON names by path with references to
// what is uploaded. Only --attach-from allows paths, and only below its directory:
// the JSON may come from a model.
func (f *askFlags) withPaths(doc []byte) ([]byte, error) {
	if f.attachFrom == "" {
		return doc, nil
	}
	dir, err := os.OpenRoot(f.attachFrom)
	if err != nil {
		return nil, cli.Usage("--attach-from: %w", err)
	}
	defer dir.Close() //nolint:errcheck // read-only
	var ask1 map[string]any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if d.Decode(&ask1) != nil {
		return doc, nil // reading the ask says what is wrong
	}
	replace := func(v any) (any, error) {
		file, _ := v.(map[string]any)
		path, ok := file["path"].(string)
		if !ok {
			return v, nil
		}
		return f.fromDir(dir, path, file["name"])
	}
	files, _ := ask1["files"].([]any)
	for i := range files {
		if files[i], err = replace(files[i]); err != nil {
			return nil, err
		}
	}
	questions, _ := ask1["questions"].([]any)
	for _, q := range questions {
		question, _ := q.(map[string]any)
		options, _ := question["options"].([]any)
		for _, o := range options {
			if option, ok := o.(map[string]any); ok && option["file"] != nil {
				if option["file"], err = replace(option["file"]); err != nil {
					return nil, err
				}
			}
		}
	}
	return json.Marshal(ask1)
}

func (f *askFlags) fromDir(dir *os.Root, path string, name any) (ask.File, error) {
	data, err := readBelow(dir, path)
	if err != nil {
		return ask.File{}, err
	}
	if given, ok := name.(string); ok && given != "" {
		path = given
	}
	return f.attachOne(path, data)
}

// readBelow reads a file below a directory, by its relative or whole path. A file that is too large for an ask is cut,
// so that it is refused.
func readBelow(dir *os.Root, path string) ([]byte, error) {
	path = filepath.FromSlash(path)
	if whole, err := filepath.Abs(dir.Name()); err == nil && filepath.IsAbs(path) {
		if below, err := filepath.Rel(whole, path); err == nil {
			path = below
		}
	}
	if is, err := dir.Stat(path); err == nil && !is.Mode().IsRegular() { // opening a pipe would wait
		return nil, cli.Usage("--attach-from: %s is not a regular file", path)
	}
	at, err := dir.Open(path)
	if err != nil {
		return nil, cli.Usage("--attach-from: %w", err)
	}
	defer at.Close() //nolint:errcheck // read-only
	data, err := io.ReadAll(io.LimitReader(at, ask.MaxFileBytes+1))
	if err != nil {
		return nil, cli.Usage("--attach-from: %w", err)
	}
	return data, nil
}

func (f *askFlags) upload(ctx context.Context, asks client.Session) error {
	for _, a := range f.attachments {
		if _, err := asks.Upload(ctx, a.Name, a.data); err != nil {
			return err
		}
	}
	return nil
}

// FileCmd is "askbus file".
func FileCmd(a *cli.App) *cobra.Command {
	var save string
	cmd := &cobra.Command{
		Use: "file (ID | SESSION/ID)", Short: "Read a file of an ask or of an answer", Args: cobra.ExactArgs(1),
		Long: `Reads a file to which an ask or an answer refers, by the id in the reference. It goes to
standard output, or with --save to a file.

` + cli.ExitCodes,
		Example: "  askbus file 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --save shot.png",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithAsk(cmd.Context(), args[0], func(b *cli.Bus, k ask.Key) error {
				asks, err := b.Session(k.Tenant, k.Session)
				if err != nil {
					return err
				}
				f, data, err := asks.File(cmd.Context(), k.ID)
				switch {
				case err != nil:
					return err
				case save != "":
					return os.WriteFile(save, data, 0o600)
				case f.MediaType != ask.MediaText && cli.IsTerminal(a.Stdout):
					return cli.Usage("%s is %s: give --save FILE, or redirect the output", f.Label(), f.MediaType)
				case cli.IsTerminal(a.Stdout):
					data = []byte(ask.CleanText(string(data)))
				}
				if _, err := a.Stdout.Write(data); err != nil {
					return fmt.Errorf("write the file: %w", err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&save, "save", "", "write it to this file")
	return cmd
}
