package ask

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/jpeg"
	"image/png"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of files.
const (
	MaxFileBytes  = 5 << 20    // of one file
	MaxFiles      = 8          // of one ask, and of one reply
	MaxFileName   = 120        // code points of a name
	MaxImageSide  = 30_000     // pixels
	MaxImageSize  = 40_000_000 // pixels of an image: what a browser needs to show it does not depend on its bytes
	fileIDDigits  = 2 * sha256.Size
	maxNameEnding = 16
)

// The media types of files. SVG and HTML can run scripts, and are none of them.
const (
	MediaPNG  = "image/png"
	MediaJPEG = "image/jpeg"
	MediaWebP = "image/webp"
	MediaPDF  = "application/pdf"
	MediaText = "text/plain"
)

// MediaTypes returns the media types that a file may have.
func MediaTypes() []string { return []string{MediaPNG, MediaJPEG, MediaWebP, MediaPDF, MediaText} }

// File refers to an uploaded file. Its ID is the SHA-256 of its bytes, in hex: so
// the same bytes are the same file of a session, and whoever reads it can check
// that it is what was referred to.
type File struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"` // without a path, for people to read
	MediaType string `json:"media_type"`     // one of [MediaTypes]; what the bytes are, not what somebody says
	Size      int64  `json:"size"`           // bytes
}

// NewFile describes a file of these bytes. The name may be a path, of which the
// last part is kept. The fault says why the bytes are none that an ask can have.
func NewFile(name string, data []byte) (File, *Fault) {
	f := File{ID: FileID(data), Name: FileName(name), Size: int64(len(data))}
	if len(data) == 0 || len(data) > MaxFileBytes {
		fault := NewFault("/size", FaultOutOfRange, len(data), 1, MaxFileBytes)
		return f, &fault
	}
	var fault *Fault
	f.MediaType, fault = SniffFile(data)
	return f, fault
}

// FileID returns the id of the file of these bytes.
func FileID(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ValidFileID reports whether s has the form of a file's id.
func ValidFileID(s string) bool {
	return len(s) == fileIDDigits && !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// IsImage reports whether the file is an image that surfaces can show.
func (f *File) IsImage() bool { return strings.HasPrefix(f.MediaType, "image/") }

// Label returns the name for people to read, which is never empty.
func (f *File) Label() string {
	if name := FileName(f.Name); name != "" {
		return name
	}
	return f.ID[:min(len(f.ID), 8)] + f.ending()
}

func (f *File) ending() string {
	switch f.MediaType {
	case MediaPNG:
		return ".png"
	case MediaJPEG:
		return ".jpg"
	case MediaWebP:
		return ".webp"
	case MediaPDF:
		return ".pdf"
	case MediaText:
		return ".txt"
	}
	return ""
}

// FileName makes a name that is safe to show and to save as: the last part of a
// path, in one line of at most [MaxFileName] characters, without what is invisible
// or changes the direction of text. What remains of "." and ".." is empty.
func FileName(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	name = strings.TrimLeft(CleanLine(name), ". ")
	if utf8.RuneCountInString(name) <= MaxFileName {
		return name
	}
	ending := ""
	if at := strings.LastIndexByte(name, '.'); at > 0 && len(name)-at <= maxNameEnding {
		ending = name[at:]
	}
	return Clip(name, MaxFileName-utf8.RuneCountInString(ending)) + ending
}

// SniffFile returns the media type of bytes, which they alone decide: what can be
// read as an image or a PDF is never a text, and what is none of [MediaTypes] is
// a fault. It reads the head of an image, and does not decode it.
func SniffFile(data []byte) (mediaType string, fault *Fault) {
	var size image.Config
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		mediaType = MediaPNG
		size, err = png.DecodeConfig(bytes.NewReader(data))
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		mediaType = MediaJPEG
		size, err = jpeg.DecodeConfig(bytes.NewReader(data))
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		mediaType = MediaWebP
		size, err = webpSize(data)
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return MediaPDF, nil
	case isText(data):
		return MediaText, nil
	default:
		f := NewFault("/media_type", FaultBadFile, MediaTypes())
		return "", &f
	}
	if err != nil {
		f := NewFault("/media_type", FaultBadImage, mediaType, err)
		return "", &f
	}
	if w, h := size.Width, size.Height; w < 1 || h < 1 || w > MaxImageSide || h > MaxImageSide || w*h > MaxImageSize {
		f := NewFault("/media_type", FaultLargeImage, strconv.Itoa(w)+"×"+strconv.Itoa(h), MaxImageSide, MaxImageSize)
		return "", &f
	}
	return mediaType, nil
}

// isText reports whether data is UTF-8 text, which may have terminal colours.
func isText(data []byte) bool {
	return utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) || r == 0x7f
	})
}

// webpSize reads the size of a WebP image from its chunks. A frame must fit into the
// canvas: decoders take memory for both.
func webpSize(data []byte) (c image.Config, err error) {
	const head = 8 // of a chunk: name and length
	canvas := false
	for at := 12; len(data)-at >= head; {
		name, length := string(data[at:at+4]), int(binary.LittleEndian.Uint32(data[at+4:]))
		body := data[at+head:]
		at += head + length + length%2
		frame, ok := webpChunk(name, body)
		switch {
		case !ok:
			return c, errWebP
		case frame == (image.Config{}): // another chunk
		case !canvas && c.Width != 0 || canvas && (frame.Width > c.Width || frame.Height > c.Height):
			return c, errWebP
		case !canvas:
			c, canvas = frame, name == "VP8X"
		}
		if at < 0 || !canvas {
			break // a file without a canvas has one frame
		}
	}
	if c.Width == 0 {
		return c, errWebP
	}
	return c, nil
}

// webpChunk reads the size of a frame or a canvas, if the chunk is one.
func webpChunk(name string, body []byte) (c image.Config, ok bool) {
	need := map[string]int{"VP8 ": 10, "VP8L": 5, "VP8X": 10}[name]
	if len(body) < need {
		return c, false
	}
	switch name {
	case "VP8 ":
		ok = body[3] == 0x9d && body[4] == 0x01 && body[5] == 0x2a
		c.Width, c.Height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(body[1:])
		ok = body[0] == 0x2f
		c.Width, c.Height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X":
		ok = true
		c.Width = int(binary.LittleEndian.Uint32(body[4:])&0xffffff) + 1
		c.Height = int(binary.LittleEndian.Uint32(body[6:])>>8&0xffffff) + 1
	default:
		ok = true
	}
	return c, ok
}

var errWebP = Refuse(CodeInvalid, "the head of the WebP file is malformed")

// AllFiles iterates over the files that the ask refers to, each with the JSON
// pointer of its reference: the evidence, then those of options.
func (a *Ask) AllFiles() iter.Seq2[string, *File] {
	return func(yield func(string, *File) bool) {
		for i := range a.Files {
			if !yield("/files/"+strconv.Itoa(i), &a.Files[i]) {
				return
			}
		}
		for i := range a.Questions {
			for j := range a.Questions[i].Options {
				if f := a.Questions[i].Options[j].File; f != nil && !yield("/questions/"+strconv.Itoa(i)+"/options/"+strconv.Itoa(j)+"/file", f) {
					return
				}
			}
		}
	}
}

// AllFiles iterates over the files of answers, likewise.
func (r *Reply) AllFiles() iter.Seq2[string, *File] { return filesOf(r.Answers) }

// AllFiles iterates over the files of the outcome's answers, likewise.
func (o *Outcome) AllFiles() iter.Seq2[string, *File] { return filesOf(o.Answers) }

func filesOf(answers []Answer) iter.Seq2[string, *File] {
	return func(yield func(string, *File) bool) {
		for i := range answers {
			for j := range answers[i].Files {
				if !yield("/answers/"+strconv.Itoa(i)+"/files/"+strconv.Itoa(j), &answers[i].Files[j]) {
					return
				}
			}
		}
	}
}

// files checks references. Whether the files were uploaded is checked by the
// broker.
func (f *faults) files(all iter.Seq2[string, *File], whole string) {
	n := 0
	for at, file := range all {
		if n++; n > MaxFiles {
			continue
		}
		if !ValidFileID(file.ID) {
			f.add(at+"/id", FaultBadFileID, clip(file.ID))
		}
		if file.Name != FileName(file.Name) {
			f.add(at+"/name", FaultBadFileName, clip(CleanLine(file.Name)), MaxFileName)
		}
		if !slices.Contains(MediaTypes(), file.MediaType) {
			f.add(at+"/media_type", FaultNotOneOf, clip(file.MediaType), MediaTypes())
		}
		if file.Size < 1 || file.Size > MaxFileBytes {
			f.add(at+"/size", FaultOutOfRange, file.Size, 1, MaxFileBytes)
		}
	}
	if n > MaxFiles {
		f.add(whole, FaultTooMany, n, "files", MaxFiles)
	}
}
