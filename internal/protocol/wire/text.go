package wire

import (
	"bytes"
	"fmt"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// CheckText refuses a body that is not UTF-8, or whose JSON escapes name no
// text: NUL, and halves of surrogate pairs. Decoders would silently replace
// them. The error is an [*ask.Error] with [ask.ErrInvalid] that names the offset
// of the first such byte.
func CheckText(data []byte) error {
	if bad := badText(data); bad != nil {
		return &ask.Error{Code: ask.CodeInvalid, Detail: bad.Message, Faults: []ask.Fault{*bad}}
	}
	return nil
}

// badText returns the first fault of a body as text, or nil.
func badText(data []byte) *ask.Fault {
	bad := func(code ask.FaultCode, args ...any) *ask.Fault {
		f := ask.NewFault("", code, args...)
		return &f
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return bad(ask.FaultBadUTF8, at, fmt.Sprintf("0x%02X", data[at]))
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return bad(ask.FaultNUL, at)
	}
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); {
		switch code := escape(data[i:]); {
		case code < 0: // another escape
			i += 2
		case code == 0:
			return bad(ask.FaultNULEscape, i)
		case code >= 0xD800 && code < 0xDC00:
			if low := escape(data[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return bad(ask.FaultHalfSurrogate, i, fmt.Sprintf(`\u%04x`, code))
			}
			i += 12
		case code >= 0xDC00 && code < 0xE000:
			return bad(ask.FaultHalfSurrogate, i, fmt.Sprintf(`\u%04x`, code))
		default:
			i += 6
		}
		next := bytes.IndexByte(data[min(i, len(data)):], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	return nil
}

// escape returns the code of the escape \uXXXX with which data begins; -1 if it
// begins otherwise.
func escape(data []byte) int {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	code, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(code)
}

// CheckCharset refuses a content type that declares another charset than UTF-8.
// The error is an [*ask.Error] with [CodeMediaType].
func CheckCharset(contentType string) error {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil //nolint:nilerr // the door that needs a media type refuses it
	}
	switch charset := params["charset"]; strings.ToLower(charset) {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	default:
		return ask.Refusal(CodeMediaType, ask.FaultWrongCharset, ask.Clip(charset, 40))
	}
}
