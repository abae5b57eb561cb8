package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// Limits of a rich message: Telegram takes 32,768 characters, 500 blocks (each row of a table is one) and 20 columns.
const (
	maxRich     = 30_000 // UTF-16 units
	richRest    = 12_000 // of these that the context leaves: the longest question has 10,000
	richPreview = 4_000  // of each option's preview
	maxBlocks   = 450
	maxColumns  = 20
)

// richMessage is an InputRichMessage of the Bot API in blocks, in which nothing that an agent writes is markup.
type richMessage struct {
	Blocks []block `json:"blocks"`
	Plain  bool    `json:"skip_entity_detection"`
}

// block is a block of a rich message: a paragraph, pre, or a table.
type block struct {
	Type     string   `json:"type"`
	Text     any      `json:"text,omitempty"` // a string, or several of them and of inline
	Cells    [][]cell `json:"cells,omitempty"`
	Bordered bool     `json:"is_bordered,omitempty"`
	Compact  bool     `json:"is_compact,omitempty"`
}

type cell struct {
	Text   string `json:"text,omitempty"`
	Header bool   `json:"is_header,omitempty"`
	Align  string `json:"align"`
	Valign string `json:"valign"`
}

// inline is a text within a line.
type inline struct {
	Type string       `json:"type"`
	Text string       `json:"text"`
	URL  string       `json:"url,omitempty"`
	User *models.User `json:"user,omitempty"`
}

// richer returns an ask as a rich message, if that shows more of it: it does not fit into another one, or has a
// table. One with several questions shows them one by one, and carries the answers so far, which a rich one cannot.
func (d *drawing) richer() (t text, ok bool) {
	if len(d.Questions) != 1 {
		return t, false
	}
	plain, t := d.text(chat.Draft{}), d.at(chat.Draft{})(true)
	if !plain.cut && !strings.Contains(t.String(), tableRule) {
		return t, false
	}
	return t, len(t.blocks()) <= maxBlocks
}

// tableRule is in the rule below the head of a table, as [card.Tables] draws it.
const tableRule = "─┼─"

// blocks returns a text as blocks: a paragraph for each line, and those of code and tables.
func (t *text) blocks() (all []block) {
	units := utf16.Encode([]rune(t.String()))
	var paragraph []any
	end := func() {
		if len(paragraph) > 0 {
			all = append(all, block{Type: "paragraph", Text: paragraph})
		}
		paragraph = nil
	}
	prose := func(from, to int) {
		for i, line := range strings.Split(string(utf16.Decode(units[from:to])), "\n") {
			if i > 0 {
				end()
			}
			if line != "" {
				paragraph = append(paragraph, line)
			}
		}
	}
	at := 0
	for _, e := range t.entities {
		prose(at, e.Offset)
		at = e.Offset + e.Length
		words := string(utf16.Decode(units[e.Offset:at]))
		if e.Type == models.MessageEntityTypePre {
			end()
			if cells := cellsOf(words); cells != nil {
				all = append(all, block{Type: "table", Cells: cells, Bordered: true, Compact: true})
			} else {
				all = append(all, block{Type: "pre", Text: words})
			}
			continue
		}
		one := inline{Type: string(e.Type), Text: words, URL: e.URL, User: e.User}
		if e.Type == models.MessageEntityTypeTextLink {
			one.Type = "url"
		}
		paragraph = append(paragraph, one)
	}
	prose(at, len(units))
	end()
	return all
}

// cellsOf reads a table as [card.Tables] draws it; nil: it is none, or too wide.
func cellsOf(drawn string) (rows [][]cell) {
	lines := strings.Split(drawn, "\n")
	if len(lines) < 2 || !strings.Contains(lines[1], tableRule) || strings.Trim(lines[1], "─┼") != "" {
		return nil
	}
	columns := strings.Count(lines[1], tableRule) + 1
	if columns > maxColumns {
		return nil
	}
	for n, line := range append(lines[:1:1], lines[2:]...) {
		row, parts := make([]cell, columns), strings.SplitN(line, "│", columns)
		for i := range row {
			row[i] = cell{Header: n == 0, Align: "left", Valign: "top"}
			if i < len(parts) {
				row[i].Text = strings.TrimSpace(parts[i])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// sendRich posts a rich message. Ok is false if the server takes none, or not this one, which is then sent as another.
func (a *api) sendRich(ctx context.Context, at place, r responder.Rank, t text) (id int, ok bool, err error) {
	if a.plainOnly.Load() {
		return 0, false, nil
	}
	p := map[string]any{"chat_id": at.Chat, "rich_message": richMessage{t.blocks(), true}, "disable_notification": t.quiet}
	if at.Topic != 0 {
		p["message_thread_id"] = at.Topic
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err = a.call(ctx, at, r, func(ctx context.Context) error { return a.post(ctx, "sendRichMessage", p, &sent) })
	if errors.Is(err, bot.ErrorNotFound) { // a server of one's own, from before there were any
		a.plainOnly.Store(true)
	}
	if errors.Is(err, bot.ErrorNotFound) || errors.Is(err, bot.ErrorBadRequest) {
		return 0, false, nil
	}
	return sent.ID, err == nil, err
}

// editRich is edit for a rich message. If the server does not take it, the message becomes another one.
func (a *api) editRich(ctx context.Context, at place, r responder.Rank, t text, k *keyboard) error {
	p := map[string]any{"chat_id": at.Chat, "message_id": at.ID, "rich_message": richMessage{t.blocks(), true}}
	if k != nil {
		p["reply_markup"] = k
	}
	err := changed(a.call(ctx, at, r, func(ctx context.Context) error { return a.post(ctx, "editMessageText", p, nil) }))
	if errors.Is(err, bot.ErrorBadRequest) && !gone(err) && (!t.whole || t.n <= maxText) {
		t.fit()
		return a.edit(ctx, at, r, t, k)
	}
	return err
}

// fit cuts a text to what a message takes that is not rich.
func (t *text) fit() {
	short := chat.ClipUnits(t.String(), maxText)
	n := chat.Units(short)
	kept := t.entities[:0:0]
	for _, e := range t.entities {
		if e.Offset+e.Length <= n {
			kept = append(kept, e)
		}
	}
	t.b.Reset()
	t.b.WriteString(short)
	t.n, t.entities = n, kept
}

// maxReply bounds the body of a reply, in bytes: 50 updates with a message of 4,096 characters each.
const maxReply = 8 << 20

// post makes a call that the library does not have. Its errors are the library's.
func (a *api) post(ctx context.Context, method string, params, into any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	res, err := (&chat.Request{Method: http.MethodPost, URL: a.base + method, Header: map[string]string{"Content-Type": "application/json"}, Body: body, Most: maxReply}).Do(ctx, a.http)
	if err != nil {
		return err
	}
	var got struct {
		OK          bool            `json:"ok"`
		Description string          `json:"description"`
		Result      json.RawMessage `json:"result"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	err = json.Unmarshal(res.Data, &got)
	switch res.Status {
	case http.StatusNotFound: // also without JSON
		return fmt.Errorf("%w, %s", bot.ErrorNotFound, got.Description)
	case http.StatusBadRequest:
		return fmt.Errorf("%w, %s", bot.ErrorBadRequest, got.Description)
	case http.StatusForbidden:
		return fmt.Errorf("%w, %s", bot.ErrorForbidden, got.Description)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w, %s", bot.ErrorUnauthorized, got.Description)
	case http.StatusConflict:
		return fmt.Errorf("%w, %s", bot.ErrorConflict, got.Description)
	case http.StatusTooManyRequests:
		return &bot.TooManyRequestsError{Message: got.Description, RetryAfter: got.Parameters.RetryAfter}
	}
	switch {
	case err != nil || !got.OK:
		return fmt.Errorf("%s: status %d: %s", method, res.Status, got.Description)
	case into == nil:
		return nil
	}
	return json.Unmarshal(got.Result, into)
}
