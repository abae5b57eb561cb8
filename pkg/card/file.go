package card

import (
	"strings"

	"github.com/askbus/askbus/internal/process/file"
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
		ID: f.ID, Name: f.Label(), Words: strings.ToUpper(line(kind)) + ", " + file.SizeText(f.Size), Image: f.IsImage(),
		At: "/ask/" + k.String() + "/file/" + f.ID,
	}
}

func newFiles(k ask.Key, of []ask.File) (files []File) {
	for i := range of {
		files = append(files, newFile(k, &of[i]))
	}
	return files
}
