package card

import (
	"fmt"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// File is an uploaded file of an ask or of an answer.
type File struct {
	ID    string
	Name  string // never empty
	Words string // its kind and size: "PNG, 47 KiB"
	Image bool   // surfaces can show it
	At    string // its path below the inbox's address
}

func newFile(k ask.Key, f *ask.File) File {
	_, kind, _ := strings.Cut(f.MediaType, "/")
	if f.MediaType == ask.MediaText {
		kind = "txt"
	}
	return File{
		ID: f.ID, Name: f.Label(), Words: strings.ToUpper(line(kind)) + ", " + sizeText(f.Size), Image: f.IsImage(),
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

func newFiles(k ask.Key, of []ask.File) (files []File) {
	for i := range of {
		files = append(files, newFile(k, &of[i]))
	}
	return files
}
