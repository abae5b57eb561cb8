package faketelegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of rich messages, as the Bot API documents them.
const (
	maxRich    = 32_768
	maxBlocks  = 500
	maxColumns = 20
)

var errUnknown = errors.New("Not Found: method not found")

// PlainOnly makes the server one from before rich messages.
func (s *Server) PlainOnly() { s.locked(func() { s.plainOnly = true }) }

// richBlock is a block of an InputRichMessage, of the types that askbus uses.
type richBlock struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Language string          `json:"language"`
	Cells    [][]struct {
		Text   json.RawMessage `json:"text"`
		Header bool            `json:"is_header"`
		Align  string          `json:"align"`
		Valign string          `json:"valign"`
	} `json:"cells"`
	Bordered bool `json:"is_bordered"`
	Striped  bool `json:"is_striped"`
	Compact  bool `json:"is_compact"`
}

// setRich sets what a rich message says: a line for each block and row.
func (m *Message) setRich(rich string) error {
	var in struct {
		Blocks []richBlock `json:"blocks"`
		Plain  bool        `json:"skip_entity_detection"`
	}
	if err := strict([]byte(rich), &in); err != nil || len(in.Blocks) == 0 {
		return fmt.Errorf("Bad Request: can't parse rich message: %w", err)
	}
	var lines []string
	var all []Entity
	blocks := len(in.Blocks)
	read := func(text json.RawMessage) (string, error) {
		words, entities, err := readRich(text, 1)
		all = append(all, entities...)
		return words, err
	}
	for i := range in.Blocks {
		b := &in.Blocks[i]
		switch {
		case slices.Contains([]string{"paragraph", "pre"}, b.Type) && b.Cells == nil:
			words, err := read(b.Text)
			if err != nil || words == "" {
				return fmt.Errorf("Bad Request: block %d is empty or wrong: %w", i, err)
			}
			lines = append(lines, words)
		case b.Type == "table" && b.Text == nil && len(b.Cells) > 0:
			blocks += len(b.Cells)
			for _, row := range b.Cells {
				var cells []string
				for _, c := range row {
					words, err := read(c.Text)
					if err != nil || !slices.Contains([]string{"left", "center", "right"}, c.Align) || !slices.Contains([]string{"top", "middle", "bottom"}, c.Valign) {
						return fmt.Errorf("Bad Request: a cell of block %d is wrong: %w", i, err)
					}
					cells = append(cells, words)
				}
				if len(row) > maxColumns {
					return errors.New("Bad Request: too many columns")
				}
				lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
			}
		default:
			return fmt.Errorf("Bad Request: block %d of type %q is not one of this fake", i, b.Type)
		}
	}
	text := strings.Join(lines, "\n")
	if utf8.RuneCountInString(text) > maxRich || blocks > maxBlocks {
		return errors.New("Bad Request: rich message is too long")
	}
	m.Text, m.Entities, m.Rich = text, all, true
	m.blocks, _ = json.Marshal(in.Blocks)
	return nil
}

// readRich reads a RichText: a string, a list of them, or one with a type.
func readRich(raw json.RawMessage, depth int) (words string, all []Entity, err error) {
	var list []json.RawMessage
	switch {
	case depth > 16:
		return "", nil, errors.New("nested too deeply")
	case len(raw) == 0 || json.Unmarshal(raw, &words) == nil:
		return words, nil, nil
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			more, entities, err := readRich(one, depth+1)
			if err != nil {
				return "", nil, err
			}
			words, all = words+more, append(all, entities...)
		}
		return words, all, nil
	}
	var one struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
		URL  string          `json:"url"`
		User json.RawMessage `json:"user"`
	}
	if err := strict(raw, &one); err != nil {
		return "", nil, err
	}
	var user *User
	if one.User != nil {
		unmarshal(string(one.User), &user)
	}
	if !slices.Contains([]string{"bold", "url", "text_mention"}, one.Type) || (one.Type == "url") != (one.URL != "") || (one.Type == "text_mention") != (user != nil) {
		return "", nil, fmt.Errorf("a text of type %q is wrong", one.Type)
	}
	words, all, err = readRich(one.Text, depth+1)
	return words, append(all, Entity{Type: one.Type, URL: one.URL, User: user}), err
}

func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// editRich makes a message a rich one. The caller holds mu.
func (s *Server) editRich(at *Message, rich string, keyboard [][]Button) (any, error) {
	if s.plainOnly {
		return nil, errors.New("Bad Request: message text is empty")
	}
	now := *at
	if err := now.setRich(rich); err != nil {
		return nil, err
	}
	if at.Rich && now.Text == at.Text && same(at.Keyboard, keyboard) {
		return nil, errors.New("Bad Request: message is not modified")
	}
	*at = now
	at.Edited = true
	at.show(keyboard)
	s.touch()
	return s.shown(at), nil
}
