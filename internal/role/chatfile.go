package role

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/file"
)

// maxChatFile bounds the settings of a connected chat, in bytes.
const maxChatFile = 64 << 10

// chatFile returns the file that says that a chat is connected: its settings, a variable a line. Its secrets and its
// routing file lie beside it, and it names them without a path, so that the directory may be moved.
func (c *chatEntry) chatFile(dir string) string {
	return filepath.Join(dir, "chats", c.served()+".env")
}

// connected returns the settings that "askbus connect" wrote; nil: the chat is not connected.
func (c *chatEntry) connected(dir string) (map[string]string, error) {
	name := c.chatFile(dir)
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // not connected
	}
	if err == nil && len(data) > maxChatFile {
		err = fmt.Errorf("it has more than %d bytes", maxChatFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxChatFile)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variable, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(variable, c.env()) {
			return nil, fmt.Errorf("%s: line %d is not %sNAME=value", name, n, c.env())
		}
		if (strings.HasSuffix(variable, "_FILE") || strings.HasSuffix(variable, "_ROUTES")) && value != "" && !filepath.IsAbs(value) {
			value = filepath.Join(filepath.Dir(name), value)
		}
		all[variable] = value
	}
	return all, nil
}

// fill completes the settings with those of a connected chat, unless the environment has one of its secrets: then it is
// configured there.
func (c *chatEntry) fill(dir string) error {
	if by := c.setBy(); by != "" {
		if c.account != "" {
			return fmt.Errorf("the environment has %s, which is of one account only, so %s does not count: unset it, or run each account as a process of its own", by, c.chatFile(dir))
		}
		if file := c.chatFile(dir); fileStamp(file) != "" {
			c.Overrides = fmt.Sprintf("the environment has %s, so %s does not count: set all there, or unset it", by, file)
		}
		return nil
	}
	all, err := c.connected(dir)
	if err != nil || all == nil {
		return err
	}
	for name := range config.Given(c.Settings) {
		delete(all, name)
	}
	if err := config.Fill(c.Settings, all); err != nil {
		return fmt.Errorf("%s: %w", c.chatFile(dir), err)
	}
	return nil
}

// canConnect makes the folder of the directory's chats, and reports whether files can be written there.
func (c *chatEntry) canConnect(dir string) error {
	chats := filepath.Dir(c.chatFile(dir))
	if err := os.MkdirAll(chats, 0o700); err != nil {
		return fmt.Errorf("cannot keep what connects %s: %w", c.Name, err)
	}
	f, err := os.CreateTemp(chats, ".connect-*")
	if err != nil {
		return fmt.Errorf("cannot keep what connects %s: %w", c.Name, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// connect writes the settings of a connected chat, and files beside them by their names; the settings last, because who
// reads them reads the others. It returns the names of all that it wrote.
func (c *chatEntry) connect(dir, head string, settings map[string]string, beside map[string][]byte) (wrote []string, err error) {
	name := c.chatFile(dir)
	put := func(path string, data []byte) error {
		if err := file.Replace(path, data, 0o600); err != nil {
			return err
		}
		wrote = append(wrote, path)
		return nil
	}
	for _, one := range slices.Sorted(maps.Keys(beside)) {
		if err := put(filepath.Join(filepath.Dir(name), one), beside[one]); err != nil {
			return wrote, err
		}
	}
	var b strings.Builder
	b.WriteString("# " + head + "\n")
	for _, variable := range slices.Sorted(maps.Keys(settings)) {
		if strings.ContainsAny(settings[variable], "\r\n") {
			return wrote, fmt.Errorf("%s has a line break", variable)
		}
		b.WriteString(variable + "=" + settings[variable] + "\n")
	}
	return wrote, put(name, []byte(b.String()))
}
