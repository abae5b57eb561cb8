package fakefeishu

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxElements is the limit of a card's objects with a tag.
const maxElements = 200

// common are the fields that every element may have, and fields those of each: JSON 2.0 refuses others.
var (
	common = []string{"tag", "element_id", "margin"} //nolint:gochecknoglobals // never changed
	fields = map[string][]string{                    //nolint:gochecknoglobals // never changed
		"plain_text":          {"content", "text_size", "text_color", "text_align"},
		"div":                 {"text", "width", "icon"},
		"markdown":            {"content", "text_size", "text_align", "icon"},
		"hr":                  {},
		"button":              {"text", "type", "size", "width", "behaviors", "icon", "hover_tips", "disabled", "disabled_tips", "confirm", "name", "form_action_type", "required"},
		"form":                {"name", "elements", "direction", "horizontal_spacing", "vertical_spacing", "horizontal_align", "vertical_align", "padding"},
		"input":               {"name", "required", "placeholder", "default_value", "disabled", "width", "max_length", "input_type", "rows", "auto_resize", "max_rows", "label", "label_position", "value", "behaviors", "confirm"},
		"select_static":       {"name", "required", "placeholder", "options", "initial_option", "initial_index", "type", "width", "disabled", "behaviors", "confirm"},
		"multi_select_static": {"name", "required", "placeholder", "options", "selected_values", "type", "width", "disabled", "behaviors", "confirm"},
		"checker":             {"name", "checked", "text", "overall_checkable", "button_area", "checked_style", "padding", "disabled", "disabled_tips", "hover_tips", "behaviors", "confirm"},
		"date_picker":         {"name", "required", "placeholder", "initial_date", "width", "disabled", "behaviors", "confirm"},
	}
	types = []string{"default", "primary", "danger", "text", "primary_text", "danger_text", "primary_filled", "danger_filled", "laser"} //nolint:gochecknoglobals // never changed
)

// parse returns a card, or what Feishu would say against it.
func parse(content string) (map[string]any, *refusal) {
	var card map[string]any
	if err := json.Unmarshal([]byte(content), &card); err != nil {
		return nil, refuse(230099, "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err, please check whether the card json is correct")
	}
	c := checker{names: map[string]bool{}}
	c.card(card)
	if len(c.faults) > 0 {
		return nil, refuse(230099, "Failed to create card content, ext=ErrCode: 200621; ErrMsg: %s", strings.Join(c.faults, "; "))
	}
	return card, nil
}

// checker checks one card.
type checker struct {
	faults []string
	names  map[string]bool
	count  int
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) only(v map[string]any, at string, names ...string) {
	for name := range v {
		if !slices.Contains(names, name) {
			c.fault("%s: unknown property %s", at, name)
		}
	}
}

func (c *checker) card(v map[string]any) {
	c.only(v, "card", "schema", "config", "card_link", "header", "body")
	if v["schema"] != "2.0" {
		c.fault("schema is not 2.0")
	}
	config, _ := v["config"].(map[string]any)
	c.only(config, "config", "streaming_mode", "summary", "locales", "enable_forward", "update_multi", "width_mode", "use_custom_translation", "enable_forward_interaction", "style")
	if config["update_multi"] != true {
		c.fault("config: update_multi must be true for a card that is updated")
	}
	header, _ := v["header"].(map[string]any)
	c.only(header, "header", "title", "subtitle", "text_tag_list", "i18n_text_tag_list", "template", "icon", "padding")
	if header != nil {
		c.text(header["title"], "header.title", 0)
	}
	body, _ := v["body"].(map[string]any)
	c.only(body, "body", "elements", "direction", "padding", "horizontal_spacing", "horizontal_align", "vertical_spacing", "vertical_align")
	c.elements(body["elements"], false)
	if c.count > maxElements {
		c.fault("the card has %d elements, over the limit of %d", c.count, maxElements)
	}
}

func (c *checker) elements(v any, inForm bool) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.fault("elements are missing")
	}
	for _, one := range list {
		el, _ := one.(map[string]any)
		c.element(el, inForm)
	}
}

func (c *checker) element(el map[string]any, inForm bool) {
	tag := fmt.Sprint(el["tag"])
	known, ok := fields[tag]
	if !ok || tag == "plain_text" {
		c.fault("not support tag: %s", tag)
		return
	}
	c.count++
	c.only(el, tag, append(slices.Clone(common), known...)...)
	if inForm && slices.Contains(known, "name") {
		name, _ := el["name"].(string)
		if name == "" || c.names[name] {
			c.fault("%s: name %q is empty or not unique in the form", tag, name)
		}
		c.names[name] = true
	}
	switch tag {
	case "form":
		if inForm {
			c.fault("a form is in another one")
		}
		if el["name"] == "" || el["name"] == nil {
			c.fault("form: name is empty")
		}
		c.elements(el["elements"], true)
		list, _ := el["elements"].([]any)
		if !slices.ContainsFunc(list, func(one any) bool { b, _ := one.(map[string]any); return b["form_action_type"] == "submit" }) {
			c.fault("form: no button submits it")
		}
	case "button":
		c.button(el, inForm)
	case "markdown":
		if s, _ := el["content"].(string); strings.TrimSpace(s) == "" || strings.Contains(s, "<at id=all>") || strings.Contains(s, "<at id=oc_") {
			c.fault("markdown: content is empty, or mentions everybody or a chat")
		}
	case "div":
		c.text(el["text"], "div.text", 0)
	case "input":
		if n, _ := el["max_length"].(float64); n < 1 || n > 1000 || !inForm {
			c.fault("input: max_length must be 1 to 1000, and the input in a form")
		}
		c.text(el["placeholder"], "input.placeholder", 100)
	case "checker":
		c.text(el["text"], "checker.text", 0)
	case "select_static", "multi_select_static":
		list, _ := el["options"].([]any)
		if len(list) == 0 {
			c.fault("%s: options are missing", tag)
		}
		for _, one := range list {
			o, _ := one.(map[string]any)
			c.only(o, tag+".options", "text", "value", "icon")
			c.text(o["text"], tag+".options.text", 0)
			if v, _ := o["value"].(string); v == "" {
				c.fault("%s: an option has no value", tag)
			}
		}
	}
}

func (c *checker) button(el map[string]any, inForm bool) {
	c.text(el["text"], "button.text", 100)
	if typ, _ := el["type"].(string); !slices.Contains(types, typ) {
		c.fault("button: type %q", typ)
	}
	if el["form_action_type"] != nil {
		if !inForm || el["form_action_type"] != "submit" && el["form_action_type"] != "reset" || el["behaviors"] != nil {
			c.fault("button: form_action_type is for a button in a form, without behaviors")
		}
		return
	}
	list, _ := el["behaviors"].([]any)
	if len(list) == 0 || inForm {
		c.fault("button: it does nothing, or does not submit its form")
	}
	for _, one := range list {
		do, _ := one.(map[string]any)
		switch do["type"] {
		case "callback":
			c.only(do, "button.behaviors", "type", "value")
		case "open_url":
			if s, _ := do["default_url"].(string); !strings.HasPrefix(s, "http") {
				c.fault("button: open_url needs a default_url")
			}
		default:
			c.fault("button: behavior %v", do["type"])
		}
	}
}

// text checks a plain text with at most so many characters; 0: any number.
func (c *checker) text(v any, at string, most int) {
	t, _ := v.(map[string]any)
	c.count++
	s, _ := t["content"].(string)
	if t["tag"] != "plain_text" || strings.TrimSpace(s) == "" {
		c.fault("%s: it is no plain_text with content", at)
	}
	if most > 0 && len([]rune(s)) > most {
		c.fault("%s: longer than %d characters", at, most)
	}
	c.only(t, at, "tag", "content", "text_size", "text_color", "text_align", "i18n_content")
}
