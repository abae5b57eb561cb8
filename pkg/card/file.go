package card

import (
	"fmt"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// File is an uploaded file of an ask or of an answer.
type File struct {
	ID     string
	Name   string // never empty
	Words  string // its kind and size: "PNG, 47 KiB"
	Image  bool   // surfaces can show it
	IsText bool
	At     string // its path below the inbox's address
}

func newFile(k ask.Key, f *ask.File) File {
	_, kind, _ := strings.Cut(f.MediaType, "/")
	if f.MediaType == ask.MediaText {
		kind = "txt"
	}
	return File{
		ID: f.ID, Name: f.Label(), Words: strings.ToUpper(line(kind)) + ", " + sizeText(f.Size), Image: f.IsImage(), IsText: f.MediaType == ask.MediaText,
		At: "/ask/" + k.String() + "/file/" + f.ID,
	}
}

// sizeText is short, because it stands beside a name; a file has a few MiB at most.
func sizeText(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%d B", bytes)
}

// AllFiles returns the files of an ask in the order of display: the evidence, those of options, those of
// votes, and those of answers. A file that is used twice is there once.
func (c *Card) AllFiles() []File {
	var all []File
	add := func(files ...File) {
		for _, f := range files {
			if !slices.ContainsFunc(all, func(had File) bool { return had.ID == f.ID }) {
				all = append(all, f)
			}
		}
	}
	add(c.Files...)
	for i := range c.Questions {
		for j := range c.Questions[i].Options {
			if f := c.Questions[i].Options[j].File; f != nil {
				add(*f)
			}
		}
	}
	if c.Approval != nil {
		for i := range c.Approval.Votes {
			add(c.Approval.Votes[i].Files...)
		}
	}
	if c.End != nil {
		for _, l := range c.End.Lines {
			add(l.Files...)
		}
	}
	return all
}

// Text returns the file in one line: "shot.png (PNG, 47 KiB)".
func (f *File) Text(tag string) string { return f.Name + lang.Of(tag).Say(" (%s)", f.Words) }

func newFiles(k ask.Key, of []ask.File) (files []File) {
	for i := range of {
		files = append(files, newFile(k, &of[i]))
	}
	return files
}
