package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// read decodes the ask of --file, from native JSON or from a dialect.
func (f *askFlags) read(data []byte) (ask.Ask, error) {
	if f.dialect == "" || f.dialect == "native" {
		q, err := wire.DecodeAsk(data)
		if err != nil {
			err = fmt.Errorf("%s: %w", f.source(), err)
		}
		return q, err
	}
	d, known := dialect.Lookup(f.dialect)
	if !known {
		return ask.Ask{}, cli.Usage("unknown --dialect %q; use one of %s", f.dialect, strings.Join(dialect.Names(), ", "))
	}
	q, files, warnings, err := d.AskFiles(data)
	if err != nil {
		return ask.Ask{}, fmt.Errorf("%s: %w", f.source(), err)
	}
	for _, held := range files {
		f.attachments = append(f.attachments, attachment{held.File, held.Data})
	}
	f.foreign, f.warnings = &d, append(warnings, dialect.ClipTimes(&q, time.Now())...)
	q.Tenant, q.Session = "", "" // --tenant and --session set them
	return q, nil
}

// source names the file in messages.
func (f *askFlags) source() string {
	if f.file == "-" {
		return "standard input"
	}
	return f.file
}
