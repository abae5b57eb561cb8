package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// plan is the content of rooms.yaml.
type plan struct {
	Module string     `yaml:"module"`
	Rooms  []room     `yaml:"rooms"`
	Apart  [][]string `yaml:"apart"`
	Pure   struct {
		Packages []string `yaml:"packages"`
		Not      []string `yaml:"not"`
		But      []string `yaml:"but"`
	} `yaml:"pure"`
	Libraries []library `yaml:"libraries"`
}

type room struct {
	Name    string   `yaml:"name"`
	Paths   []string `yaml:"paths"`
	Holds   string   `yaml:"holds"`
	Imports []string `yaml:"imports"`
	Tests   bool     `yaml:"tests"`
}

type library struct {
	Imports []string `yaml:"imports"`
	Only    []string `yaml:"only"`
	Why     string   `yaml:"why"`
}

func readPlan(path string) (*plan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p plan
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &p, nil
}

// below reports whether path is root or lies below it.
func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func belowAny(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return below(path, root) })
}

// room returns the room of a package, given by its path in the module; nil: none.
func (p *plan) room(path string) *room {
	var found *room
	longest := -1
	for i := range p.Rooms {
		for _, root := range p.Rooms[i].Paths {
			if below(path, root) && len(root) > longest {
				found, longest = &p.Rooms[i], len(root)
			}
		}
	}
	return found
}

// names reports whether a list of rooms and paths names a package.
func (p *plan) names(list []string, path string) bool {
	in := p.room(path)
	return belowAny(path, list) || in != nil && slices.Contains(list, in.Name)
}

// check returns each import that the plan forbids, as "file: what".
func (p *plan) check(h *house) []string {
	var faults []string
	for _, pkg := range h.packages {
		from := p.room(pkg.path)
		if from == nil {
			if below(pkg.path, "internal") || below(pkg.path, "pkg") || below(pkg.path, "cmd") {
				faults = append(faults, pkg.path+": belongs to no room: add it to one of tools/rooms/rooms.yaml")
			}
			continue
		}
		if from.Tests {
			continue
		}
		for _, i := range pkg.imports {
			if why := p.forbids(from, pkg.path, i.path); why != "" {
				faults = append(faults, i.file+": "+why)
			}
		}
	}
	return faults
}

// forbids says why a package may not import another; "": it may.
func (p *plan) forbids(from *room, pkg, imported string) string {
	for _, l := range p.Libraries {
		if belowAny(imported, l.Imports) && !p.names(l.Only, pkg) {
			return fmt.Sprintf("imports %s: %s", imported, l.Why)
		}
	}
	if belowAny(pkg, p.Pure.Packages) && belowAny(imported, p.Pure.Not) && !belowAny(imported, p.Pure.But) {
		return fmt.Sprintf("imports %s: a package that decides does not act", imported)
	}
	path, ours := strings.CutPrefix(imported, p.Module+"/")
	if !ours {
		return ""
	}
	for _, apart := range p.Apart {
		for _, one := range apart {
			if below(pkg, one) && !below(path, one) && belowAny(path, apart) {
				return fmt.Sprintf("imports %s: these stand side by side; what they share lies in another package", path)
			}
		}
	}
	to := p.room(path)
	switch {
	case to == nil:
		return fmt.Sprintf("imports %s, which belongs to no room", path)
	case to == from || p.names(from.Imports, path):
		return ""
	}
	return fmt.Sprintf("imports %s: %s may import only %s", path, from.Name, strings.Join(append([]string{"itself"}, from.Imports...), ", "))
}
