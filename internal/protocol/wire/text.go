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
	at, why := badText(data)
	if why == "" {
		return nil
	}
	return ask.Refuse(ask.CodeInvalid, "byte %d of the body %s", at, why)
}

func badText(data []byte) (at int, why string) {
	if !utf8.Valid(data) {
		for at < len(data) {
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return at, fmt.Sprintf("(0x%02X) is not UTF-8; encode the text as UTF-8", data[at])
	}
	if at = bytes.IndexByte(data, 0); at >= 0 {
		return at, "is NUL; leave it out, and encode the text as UTF-8"
	}
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); {
		switch code := escape(data[i:]); {
		case code < 0: // another escape
			i += 2
		case code == 0:
			return i, `is the escape \u0000 (NUL); leave it out`
		case code >= 0xD800 && code < 0xDC00:
			if low := escape(data[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return i, fmt.Sprintf(`is the escape \u%04x, the first half of a surrogate pair without the second; send both, or the character itself`, code)
			}
			i += 12
		case code >= 0xDC00 && code < 0xE000:
			return i, fmt.Sprintf(`is the escape \u%04x, the second half of a surrogate pair without the first; send both, or the character itself`, code)
		default:
			i += 6
		}
		next := bytes.IndexByte(data[min(i, len(data)):], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	return 0, ""
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
		return ask.Refuse(CodeMediaType, "the charset %.40q is not supported; send the text as UTF-8", charset)
	}
}
