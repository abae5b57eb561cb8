package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

const begin, end = "<!-- rooms: drawn by tools/rooms -->\n", "<!-- rooms: end -->\n"

// drawInto replaces what stands between the two marks of a page.
func drawInto(page string, p *plan, h *house) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(data, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended {
		return errors.New(page + " lacks the marks of the drawing")
	}
	text := string(before) + begin + draw(p, h) + end + string(after)
	return os.WriteFile(page, []byte(text), 0o644) //nolint:gosec // G306: documentation is readable by everybody
}

// draw returns the picture of the rooms that ship and the table of all.
func draw(p *plan, h *house) string {
	arrows := map[[2]string]bool{}
	contents := map[string][]string{}
	for _, pkg := range h.packages {
		from := p.room(pkg.path)
		if from == nil {
			continue
		}
		contents[from.Name] = append(contents[from.Name], pkg.path)
		for _, i := range pkg.imports {
			path, ours := strings.CutPrefix(i.path, p.Module+"/")
			if to := p.room(path); ours && to != nil && to != from && !from.Tests {
				arrows[[2]string{from.Name, to.Name}] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart BT\n")
	drawn := 0
	for _, from := range p.Rooms {
		if from.Tests {
			continue
		}
		fmt.Fprintf(&b, "  %s[\"%s\"]\n", from.Name, strings.Join(from.Paths, "<br>"))
		for _, to := range p.Rooms {
			if arrows[[2]string{from.Name, to.Name}] {
				drawn++
				if !implied(p, arrows, from.Name, to.Name) {
					fmt.Fprintf(&b, "  %s --> %s\n", from.Name, to.Name)
				}
			}
		}
	}
	fmt.Fprintf(&b, "```\n\nAn arrow that follows from two others is not drawn: of %d, these show all that matters.\n\n", drawn)
	b.WriteString("| room | holds | packages |\n|---|---|---|\n")
	for _, r := range p.Rooms {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.Join(r.Paths, "`, `"), r.Holds, packagesOf(&r, contents[r.Name]))
	}
	b.WriteString("\n")
	return b.String()
}

// implied reports whether an arrow follows from two others.
func implied(p *plan, arrows map[[2]string]bool, from, to string) bool {
	return slices.ContainsFunc(p.Rooms, func(r room) bool {
		return arrows[[2]string{from, r.Name}] && arrows[[2]string{r.Name, to}]
	})
}

// packagesOf lists the folders directly below a room.
func packagesOf(r *room, paths []string) string {
	var names []string
	for _, path := range paths {
		for _, root := range r.Paths {
			name, isBelow := strings.CutPrefix(path, root+"/")
			if !isBelow {
				continue
			}
			name, _, _ = strings.Cut(name, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// linesBelow prints the lines of Go of each package in and below a folder.
func linesBelow(out io.Writer, h *house, folder string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "package\tcode\ttests\t")
	for _, pkg := range h.packages {
		if pkg.path == folder || strings.HasPrefix(pkg.path, folder+"/") {
			fmt.Fprintf(w, "%s\t%d\t%d\t\n", pkg.path, pkg.code, pkg.tests)
		}
	}
	return w.Flush()
}

// lines prints the lines of Go of each room.
func lines(out io.Writer, p *plan, h *house) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "room\tcode\ttests\t")
	var code, tests int
	for _, r := range p.Rooms {
		var c, t int
		for _, pkg := range h.packages {
			if in := p.room(pkg.path); in != nil && in.Name == r.Name {
				c, t = c+pkg.code, t+pkg.tests
			}
		}
		if !r.Tests {
			code += c
		}
		tests += t
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", r.Name, c, t)
	}
	fmt.Fprintf(w, "what ships\t%d\t%d\t\n", code, tests)
	return w.Flush()
}
