package fakeslack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Limits of Block Kit. The limit of a whole message is not documented; we measured about 13,200
// bytes.
const (
	maxBlocks      = 50
	maxViewBlocks  = 100
	maxBlocksBytes = 13_200
)

// checker collects the faults of blocks.
type checker struct {
	faults []string
	where  string
	ids    map[string]bool
}

func checkMessage(blocks []Block) []string { return check(blocks, "message", maxBlocks) }

func check(blocks []Block, surface string, most int) []string {
	c := &checker{ids: map[string]bool{}}
	if len(blocks) > most {
		c.wrong("no more than %d items allowed", most)
	}
	for i, b := range blocks {
		c.where = "/blocks/" + strconv.Itoa(i)
		c.block(b, surface)
	}
	return c.faults
}

func (c *checker) wrong(format string, values ...any) {
	c.faults = append(c.faults, "[ERROR] "+fmt.Sprintf(format, values...)+" [json-pointer:"+c.where+"]")
}

func (c *checker) block(b Block, surface string) {
	if id := c.length(b, "block_id", 255, false); id != "" {
		if c.ids[id] {
			c.wrong("`block_id` %q already exists", id)
		}
		c.ids[id] = true
	}
	switch b["type"] {
	case "section":
		fields := c.list(b, "fields", 0, 10)
		for _, f := range fields {
			c.text(f, "fields", 2000, "", true)
		}
		c.text(b["text"], "text", 3000, "", len(fields) == 0)
		if b["accessory"] != nil {
			c.element(b["accessory"], surface)
		}
	case "header":
		c.text(b["text"], "text", 150, "plain_text", true)
	case "rich_text":
		for _, e := range c.list(b, "elements", 1, 1000) {
			c.rich(e, false)
		}
	case "divider", "image", "video", "table", "file", "call":
	case "context":
		for _, e := range c.list(b, "elements", 1, 10) {
			if one, ok := e.(map[string]any); ok && one["type"] != "image" {
				c.text(e, "elements", 2000, "", true)
			}
		}
	case "actions":
		for _, e := range c.list(b, "elements", 1, 25) {
			c.element(e, surface)
		}
	case "input":
		c.text(b["label"], "label", 2000, "plain_text", true)
		c.text(b["hint"], "hint", 2000, "plain_text", false)
		c.element(b["element"], surface)
	case "markdown":
		if surface != "message" {
			c.wrong("unsupported type: markdown")
		}
		c.length(b, "text", 12_000, true)
	default:
		c.wrong("unsupported type: %v", b["type"])
	}
}

func (c *checker) element(v any, surface string) {
	e, ok := v.(map[string]any)
	if !ok {
		c.wrong("must be an element")
		return
	}
	kind, _ := e["type"].(string)
	c.length(e, "action_id", 255, false)
	c.text(e["placeholder"], "placeholder", 150, "plain_text", false)
	switch kind {
	case "button", "workflow_button":
		c.text(e["text"], "text", 75, "plain_text", true)
		c.length(e, "value", 2000, false)
		c.length(e, "url", 3000, false)
		c.length(e, "accessibility_label", 75, false)
		if style := e["style"]; style != nil && style != "primary" && style != "danger" {
			c.wrong("failed to match all allowed values [json-pointer:/style]")
		}
		c.confirm(e["confirm"])
	case "static_select", "multi_static_select":
		groups := c.list(e, "option_groups", 0, 100)
		for _, g := range groups {
			if group, ok := g.(map[string]any); ok {
				c.text(group["label"], "label", 75, "plain_text", true)
				c.options(group, 100)
			}
		}
		if len(groups) == 0 {
			c.options(e, 100)
		}
		c.confirm(e["confirm"])
	case "checkboxes", "radio_buttons":
		c.options(e, 10)
	case "overflow":
		c.options(e, 5)
	case "plain_text_input":
		if surface == "message" {
			c.wrong("unsupported element: plain_text_input outside of an input block")
		}
		for _, key := range []string{"min_length", "max_length"} {
			if n, ok := e[key].(float64); ok && (n < 0 || n > 3000) {
				c.wrong("`%s` must be between 0 and 3000", key)
			}
		}
		if initial, ok := e["initial_value"].(string); ok && utf8.RuneCountInString(initial) > 3000 {
			c.wrong("`initial_value` must be less than 3001 characters")
		}
	case "number_input", "datepicker", "timepicker", "datetimepicker", "users_select", "conversations_select", "channels_select", "external_select",
		"multi_external_select", "multi_users_select", "email_text_input", "url_text_input", "rich_text_input":
	default:
		c.wrong("unsupported type: %v", e["type"])
	}
}

// rich checks a rich text element: lists contain only sections, and a text is never empty.
func (c *checker) rich(v any, inList bool) {
	e, ok := v.(map[string]any)
	if !ok {
		c.wrong("must be an element")
		return
	}
	kind := e["type"]
	if inList && kind != "rich_text_section" {
		c.wrong("unsupported element in a list: %v", kind)
	}
	inner := c.list(e, "elements", 1, 1000)
	switch kind {
	case "rich_text_list":
		if s := e["style"]; s != "bullet" && s != "ordered" {
			c.wrong("invalid style %v", s)
		}
		for _, one := range inner {
			c.rich(one, true)
		}
	case "rich_text_section", "rich_text_quote", "rich_text_preformatted":
		for _, one := range inner {
			if t, ok := one.(map[string]any); ok && t["type"] == "text" {
				if s, _ := t["text"].(string); s == "" {
					c.wrong("must be more than 0 characters [json-pointer:/text]")
				}
			}
		}
	default:
		c.wrong("unsupported type: %v", kind)
	}
}

func (c *checker) confirm(v any) {
	if dialog, ok := v.(map[string]any); ok {
		c.text(dialog["title"], "title", 100, "plain_text", true)
		c.text(dialog["text"], "text", 300, "", true)
		c.text(dialog["confirm"], "confirm", 30, "plain_text", true)
		c.text(dialog["deny"], "deny", 30, "plain_text", true)
	}
}

func (c *checker) options(e Block, most int) {
	values := map[string]bool{}
	for _, v := range c.list(e, "options", 1, most) {
		o, ok := v.(map[string]any)
		if !ok {
			c.wrong("must be an option")
			continue
		}
		c.text(o["text"], "text", 75, "", true)
		c.text(o["description"], "description", 75, "", false)
		value := c.length(o, "value", 150, true)
		if values[value] {
			c.wrong("duplicate option value %q", value)
		}
		values[value] = true
	}
}

// text checks a text object. An emoji name such as :tada: counts by its characters.
func (c *checker) text(v any, name string, most int, kind string, required bool) {
	if v == nil {
		if required {
			c.wrong("missing required field: %s", name)
		}
		return
	}
	o, ok := v.(map[string]any)
	if !ok {
		c.wrong("`%s` must be a text object", name)
		return
	}
	if kind != "" && o["type"] != kind || o["type"] != "plain_text" && o["type"] != "mrkdwn" {
		c.wrong("`%s` must be of type %s, not %v", name, kind, o["type"])
	}
	c.length(o, "text", most, true)
}

func (c *checker) length(o map[string]any, name string, most int, required bool) string {
	s, ok := o[name].(string)
	switch n := utf8.RuneCountInString(s); {
	case o[name] != nil && !ok:
		c.wrong("`%s` must be a string", name)
	case required && n == 0:
		c.wrong("must be more than 0 characters [json-pointer:/%s]", name)
	case n > most:
		c.wrong("must be less than %d characters [json-pointer:/%s]", most+1, name)
	}
	return s
}

func (c *checker) list(o map[string]any, name string, least, most int) []any {
	list, ok := o[name].([]any)
	switch {
	case o[name] != nil && !ok:
		c.wrong("`%s` must be a list", name)
	case len(list) < least:
		c.wrong("no fewer than %d items allowed [json-pointer:/%s]", least, name)
	case len(list) > most:
		c.wrong("no more than %d items allowed [json-pointer:/%s]", most, name)
	}
	return list
}

// name sets missing ids of blocks and elements, as Slack does: the app receives them.
func name(blocks []Block) {
	set := func(o map[string]any, key string) {
		if id, ok := o[key].(string); !ok || id == "" {
			o[key] = strconv.FormatUint(rand.Uint64()>>32, 36) //nolint:gosec // an id, not a secret
		}
	}
	for _, b := range blocks {
		set(b, "block_id")
		list, ok := b["elements"].([]any)
		if !ok || b["type"] != "actions" {
			list = nil
		}
		for _, v := range append(slices.Clone(list), b["element"], b["accessory"]) {
			if e, ok := v.(map[string]any); ok {
				set(e, "action_id")
			}
		}
	}
}
