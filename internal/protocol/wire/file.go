package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// HeaderPart is the number of a part of a file, from 0: in a request to upload,
// whose body is that part; and in one to read, whose reply is.
const HeaderPart = "Askbus-Part"

// MaxFilePart is the size of all parts of a file but the last one.
const MaxFilePart = 128 << 10

// FileReply is the reply about a complete file.
type FileReply struct {
	ask.File
	Expires time.Time `json:"expires"` // unless an ask refers to it
}

// DecodeUpload reads the request that completes an upload, strictly, for the file
// with this id.
func DecodeUpload(data []byte, id string) (ask.File, error) {
	return decode("upload", data, func(f *ask.File) (faults []ask.Fault) {
		add := func(at string, code ask.FaultCode, args ...any) {
			faults = append(faults, ask.NewFault(at, code, args...))
		}
		if f.ID = cmp.Or(f.ID, id); f.ID != id {
			add("/id", ask.FaultDisagrees, clip(f.ID), "subject", id)
		}
		if f.Name != ask.FileName(f.Name) {
			add("/name", ask.FaultBadFileName, clip(ask.CleanLine(f.Name)), ask.MaxFileName)
		}
		if f.MediaType != "" && !slices.Contains(ask.MediaTypes(), f.MediaType) {
			add("/media_type", ask.FaultNotOneOf, clip(f.MediaType), ask.MediaTypes())
		}
		if f.Size < 1 || f.Size > ask.MaxFileBytes {
			add("/size", ask.FaultOutOfRange, f.Size, 1, ask.MaxFileBytes)
		}
		return faults
	})
}

// DecodeFile reads a [FileReply].
func DecodeFile(data []byte) (FileReply, error) {
	var f FileReply
	if err := json.Unmarshal(data, &f); err != nil {
		return FileReply{}, fmt.Errorf("read file: %w", err)
	}
	return f, nil
}
