package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the files in one result: hosts count them against the model's context. What does not fit is named.
const (
	resultImage = 1 << 20 // bytes of one image, or one PDF
	resultText  = 64 << 10
	resultAll   = 3 << 20
)

// given is an element of the argument "files": a block of MCP, a path, or the reference to an uploaded file.
type given struct {
	ask.File
	Path     string `json:"path"`
	Type     string `json:"type"`
	Data     []byte `json:"data"` // of an image
	Resource *struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob []byte `json:"blob"`
	} `json:"resource"` // embedded
}

// takeFiles removes the files from the arguments of a call.
func (c *call) takeFiles(arguments []byte) (rest []byte, refs []ask.File, uploads []dialect.Upload, err error) {
	var all map[string]json.RawMessage
	if readable := json.Unmarshal(arguments, &all) == nil; !readable || all["files"] == nil {
		return arguments, nil, nil, nil // the dialect says what is wrong
	}
	var files []given
	var faults []ask.Fault
	if err := json.Unmarshal(all["files"], &files); err != nil {
		faults = append(faults, ask.NewFault("/files", ask.FaultUnreadable, err.Error()))
	}
	if len(files) > ask.MaxFiles {
		faults = append(faults, ask.NewFault("/files", ask.FaultTooMany, len(files), "files", ask.MaxFiles))
		files = nil
	}
	for i := range files {
		f, at := &files[i], "/files/"+strconv.Itoa(i)
		if f.ID != "" {
			refs = append(refs, f.File)
			continue
		}
		name, data, err := c.content(f)
		if err != nil {
			faults = append(faults, ask.NewFault(at, ask.FaultUnreadable, err.Error()))
			continue
		}
		ref, fault := ask.NewFile(name, data)
		if fault != nil {
			fault.Pointer = at
			faults = append(faults, *fault)
			continue
		}
		refs, uploads = append(refs, ref), append(uploads, dialect.Upload{File: ref, Data: data})
	}
	if err := ask.InvalidError("arguments", faults); err != nil {
		return nil, nil, nil, err
	}
	delete(all, "files")
	rest, err = json.Marshal(all)
	return rest, refs, uploads, err
}

// content returns the bytes of a block, or of the file at a path.
func (c *call) content(f *given) (name string, data []byte, err error) {
	switch {
	case f.Path != "" && c.s.opts.ReadFile == nil:
		return "", nil, errors.New("paths are not read here: start the server with --attach-from DIR, or give a block of type image or resource")
	case f.Path != "":
		data, err = c.s.opts.ReadFile(f.Path)
		if name = f.Name; name == "" {
			name = f.Path
		}
		return name, data, err
	case f.Resource != nil && f.Resource.Blob != nil:
		data = f.Resource.Blob
	case f.Resource != nil:
		data = []byte(f.Resource.Text)
	case f.Data != nil:
		data = f.Data
	default:
		return "", nil, errors.New(`give {"path": …}, {"type": "image", "data": …, "mimeType": …}, or {"type": "resource", "resource": {"uri": …, "text" or "blob": …}}`)
	}
	if name = f.Name; name == "" && f.Resource != nil {
		name = f.Resource.URI
	}
	return name, data, nil
}

// ended returns the result of a call whose ask has ended, with the files of the answer as blocks, as far as
// they fit.
func (c *call) ended(ctx context.Context, session client.Session, a *ask.Ask, o *ask.Outcome, n notes) *mcp.CallToolResult {
	var blocks []mcp.Content
	left := int64(resultAll)
	for _, f := range o.AllFiles() {
		said := lang.Of(a.Language()).Say("A file of the answer: %s (%s, id %s)", f.Label(), f.MediaType, f.ID)
		block, err := c.block(ctx, session, f, left)
		if err != nil {
			c.s.opts.Logger.WarnContext(ctx, "cannot read a file of an answer", slog.String("ask_id", a.ID), slog.Any("error", err))
		}
		if block == nil {
			said += "; askbus file " + a.Session + "/" + f.ID
		} else {
			blocks = append(blocks, block)
			left -= f.Size
		}
		n.files = append(n.files, said)
	}
	r := ended(a, o, n)
	r.Content = append(r.Content, blocks...)
	return r
}

// block returns a file as a block, or nil if it does not fit.
func (c *call) block(ctx context.Context, session client.Session, f *ask.File, left int64) (mcp.Content, error) {
	most := int64(resultImage)
	if f.MediaType == ask.MediaText {
		most = resultText
	}
	if f.Size > min(most, left) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	is, data, err := session.File(ctx, f.ID)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read file: %w", err)
	case is.IsImage():
		return &mcp.ImageContent{Data: data, MIMEType: is.MediaType}, nil
	}
	resource := &mcp.ResourceContents{URI: "askbus:file/" + is.ID, MIMEType: is.MediaType}
	if is.MediaType == ask.MediaText {
		resource.Text = string(data)
	} else {
		resource.Blob = data
	}
	return &mcp.EmbeddedResource{Resource: resource}, nil
}
