package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// read reads the ask of --file, in native JSON or in a dialect.
func (f *askFlags) read(data []byte) (ask.Ask, error) {
	if f.dialect == "" || f.dialect == "native" {
		q, err := wire.DecodeAsk(data)
		if err != nil {
			err = fmt.Errorf("%s: %w", f.file, err)
		}
		return q, err
	}
	d, known := dialect.Lookup(f.dialect)
	if !known {
		return ask.Ask{}, usage("--dialect is %q; use one of %s", f.dialect, strings.Join(dialect.Names(), ", "))
	}
	q, warnings, err := d.Ask(data)
	if err != nil {
		return ask.Ask{}, fmt.Errorf("%s: %w", f.file, err)
	}
	f.foreign, f.warnings = &d, append(warnings, dialect.ClipTimes(&q, time.Now())...)
	q.Tenant, q.Session = "", "" // which --tenant and --session say
	return q, nil
}

// tellIn prints an outcome in the shape in which it was asked, for programs.
func (a *app) tellIn(d *dialect.Dialect, o *ask.Outcome) {
	resp := d.Answer(o.Ask, o)
	if strings.Contains(resp.Header["Content-Type"], "json") {
		a.printJSON(resp.Body)
		return
	}
	fmt.Fprintln(a.out, ask.CleanText(string(resp.Body)))
}
