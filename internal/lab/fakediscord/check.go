package fakediscord

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// Types of components.
const (
	row       = 1
	button    = 2
	menu      = 3
	input     = 4
	section   = 9
	text      = 10
	separator = 14
	container = 17
	label     = 18
	radios    = 21
	checks    = 22
	tick      = 23
)

// flagComponents marks a message of components.
const (
	flagEphemeral  = 1 << 6
	flagComponents = 1 << 15
)

// Component is a part of a message or a form.
type Component struct {
	Type        int         `json:"type"`
	ID          int         `json:"id,omitempty"`
	CustomID    string      `json:"custom_id,omitempty"`
	Style       int         `json:"style,omitempty"`
	Label       string      `json:"label,omitempty"`
	Description string      `json:"description,omitempty"`
	Content     string      `json:"content,omitempty"`
	URL         string      `json:"url,omitempty"`
	Placeholder string      `json:"placeholder,omitempty"`
	Value       string      `json:"value,omitempty"`
	MinLength   *int        `json:"min_length,omitempty"`
	MaxLength   *int        `json:"max_length,omitempty"`
	MinValues   *int        `json:"min_values,omitempty"`
	MaxValues   *int        `json:"max_values,omitempty"`
	Required    *bool       `json:"required,omitempty"`
	Disabled    bool        `json:"disabled,omitempty"`
	Color       int         `json:"accent_color,omitempty"`
	Options     []Option    `json:"options,omitempty"`
	Components  []Component `json:"components,omitempty"`
	Component   *Component  `json:"component,omitempty"`
	Accessory   *Component  `json:"accessory,omitempty"`
}

// Option is a choice of a component.
type Option struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
}

// each passes a tree of components to f.
func each(all []Component, f func(*Component)) {
	for i := range all {
		c := &all[i]
		f(c)
		each(c.Components, f)
		for _, one := range []*Component{c.Component, c.Accessory} {
			if one != nil {
				f(one)
			}
		}
	}
}

// ids returns the ids of what people can use.
func ids(all []Component) (list []string) {
	each(all, func(c *Component) {
		if c.CustomID != "" && !c.Disabled {
			list = append(list, c.CustomID)
		}
	})
	return list
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// length refuses a text that is too short or too long.
func length(what, s string, least, most int) error {
	if n := units(s); n < least || n > most {
		return fmt.Errorf("%s must be between %d and %d in length, is %d", what, least, most, n)
	}
	return nil
}

// take checks what is sent and makes the message have it.
func (m *Message) take(in *sent) error {
	flags := m.Flags
	if in.Flags != nil {
		flags |= *in.Flags // the flag of components cannot be removed
	}
	content := m.Content
	if in.Content != nil {
		content = *in.Content
	}
	components := m.Components
	if in.Components != nil {
		components = in.Components
	}
	if in.Mentions != nil {
		for kind, named := range map[string][]string{"users": in.Mentions.Users, "roles": in.Mentions.Roles} {
			if len(named) > 0 && slices.Contains(in.Mentions.Parse, kind) {
				return fmt.Errorf("allowed_mentions: parse and %s are mutually exclusive", kind)
			}
			if len(named) > 100 {
				return fmt.Errorf("allowed_mentions: more than 100 %s", kind)
			}
		}
	}
	if flags&flagComponents != 0 {
		if content != "" {
			return errors.New("content cannot be used with the flag IS_COMPONENTS_V2")
		}
		if err := checkParts(components); err != nil {
			return err
		}
	} else if err := checkClassic(content, components, len(m.Files)); err != nil {
		return err
	}
	m.Flags, m.Content, m.Components = flags, content, components
	return nil
}

func checkClassic(content string, components []Component, files int) error {
	if content == "" && len(components)+files == 0 {
		return errors.New("cannot send an empty message")
	}
	if err := length("content", content, 0, 2000); err != nil {
		return err
	}
	if len(components) > 5 {
		return errors.New("more than 5 rows")
	}
	for i := range components {
		if components[i].Type != row {
			return fmt.Errorf("type %d needs the flag IS_COMPONENTS_V2", components[i].Type)
		}
	}
	return checkIDs(components)
}

// checkParts checks a message of components.
func checkParts(components []Component) error {
	n, letters := 0, 0
	each(components, func(c *Component) { n, letters = n+1, letters+units(c.Content) })
	switch {
	case n == 0 || n > 40:
		return fmt.Errorf("%d components, must be between 1 and 40", n)
	case letters > 4000:
		return fmt.Errorf("%d characters of text, must be 4000 or fewer", letters)
	}
	for i := range components {
		c := &components[i]
		switch c.Type {
		case container:
			if len(c.Components) == 0 {
				return errors.New("an empty container")
			}
			for j := range c.Components {
				if !slices.Contains([]int{row, text, section, separator}, c.Components[j].Type) {
					return fmt.Errorf("type %d in a container", c.Components[j].Type)
				}
			}
		case row, text, section, separator:
		default:
			return fmt.Errorf("type %d at the top of a message", c.Type)
		}
	}
	return checkIDs(components)
}

// checkIDs checks each component, and that no id repeats.
func checkIDs(components []Component) (err error) {
	seen := map[string]bool{}
	each(components, func(c *Component) {
		err = errors.Join(err, checkOne(c))
		if c.CustomID != "" && seen[c.CustomID] {
			err = errors.Join(err, fmt.Errorf("custom_id %q repeats", c.CustomID))
		}
		seen[c.CustomID] = true
	})
	return err
}

func checkOne(c *Component) error {
	switch c.Type {
	case row:
		buttons := 0
		for i := range c.Components {
			if c.Components[i].Type == button {
				buttons++
			} else if c.Components[i].Type != menu {
				return fmt.Errorf("type %d in a row", c.Components[i].Type)
			}
		}
		if n := len(c.Components); n == 0 || n > 5 || buttons != n && n > 1 {
			return errors.New("a row must have one to five buttons, or one select menu")
		}
	case button:
		return checkButton(c)
	case menu:
		return checkMenu(c)
	case text:
		return length("content", c.Content, 1, 4000)
	case input:
		if c.Style != 1 && c.Style != 2 {
			return fmt.Errorf("style %d of a text input", c.Style)
		}
		most := 4000
		if c.MaxLength != nil {
			if most = *c.MaxLength; most < 1 || most > 4000 {
				return fmt.Errorf("max_length is %d", most)
			}
		}
		return errors.Join(length("custom_id", c.CustomID, 1, 100), length("value", c.Value, 0, most), length("placeholder", c.Placeholder, 0, 100))
	case label:
		if c.Component == nil || !slices.Contains([]int{input, menu, radios, checks, tick}, c.Component.Type) {
			return errors.New("a label without a component")
		}
		return errors.Join(length("label", c.Label, 1, 45), length("description", c.Description, 0, 100))
	case radios:
		return errors.Join(length("custom_id", c.CustomID, 1, 100), checkOptions(c, 2, 10, 1))
	case checks:
		return errors.Join(length("custom_id", c.CustomID, 1, 100), checkOptions(c, 1, 10, len(c.Options)), checkCounts(c, 10))
	case section, separator, container, tick:
	default:
		return fmt.Errorf("unknown type %d", c.Type)
	}
	return nil
}

func checkButton(c *Component) error {
	if err := length("label", c.Label, 1, 80); err != nil {
		return err
	}
	switch {
	case c.Style == 5:
		u, err := url.Parse(c.URL)
		if err != nil || !slices.Contains([]string{"http", "https", "discord"}, u.Scheme) || c.CustomID != "" {
			return errors.New("a link needs a url, and no custom_id")
		}
		return length("url", c.URL, 1, 512)
	case c.Style < 1 || c.Style > 4 || c.URL != "":
		return fmt.Errorf("style %d of a button", c.Style)
	}
	return length("custom_id", c.CustomID, 1, 100)
}

func checkMenu(c *Component) error {
	most := 1
	if c.MaxValues != nil {
		most = *c.MaxValues
	}
	return errors.Join(length("custom_id", c.CustomID, 1, 100), length("placeholder", c.Placeholder, 0, 150), checkOptions(c, 1, 25, most), checkCounts(c, 25))
}

// checkOptions checks the choices of a component, of which some may be chosen at once.
func checkOptions(c *Component, least, most, chosen int) (err error) {
	if n := len(c.Options); n < least || n > most {
		return fmt.Errorf("%d options, must be between %d and %d", n, least, most)
	}
	values, defaults := map[string]bool{}, 0
	for _, o := range c.Options {
		err = errors.Join(err, length("label", o.Label, 1, 100), length("value", o.Value, 1, 100), length("description", o.Description, 0, 100))
		if values[o.Value] {
			err = errors.Join(err, fmt.Errorf("value %q repeats", o.Value))
		}
		if values[o.Value] = true; o.Default {
			defaults++
		}
	}
	if defaults > chosen {
		err = errors.Join(err, fmt.Errorf("%d defaults, must be %d or fewer", defaults, chosen))
	}
	return err
}

// checkCounts checks how many may be chosen.
func checkCounts(c *Component, most int) error {
	low, high := 1, len(c.Options)
	if c.MinValues != nil {
		low = *c.MinValues
	}
	if c.MaxValues != nil {
		high = *c.MaxValues
	}
	switch required := c.Required == nil || *c.Required; {
	case low < 0 || high < 1 || high > most || low > high || high > len(c.Options):
		return fmt.Errorf("between %d and %d of %d options", low, high, len(c.Options))
	case c.MinValues != nil && low == 0 && required && c.Type == checks:
		return errors.New("min_values must be at least 1 if it is required")
	}
	return nil
}

// Form is a form that is shown to a person.
type Form struct {
	CustomID   string      `json:"custom_id"`
	Title      string      `json:"title"`
	Components []Component `json:"components"`
}

func (f *Form) check() error {
	if n := len(f.Components); n < 1 || n > 5 {
		return fmt.Errorf("%d components, must be between 1 and 5", n)
	}
	for i := range f.Components {
		if t := f.Components[i].Type; t != label && t != text {
			return fmt.Errorf("type %d at the top of a form", t)
		}
	}
	return errors.Join(length("custom_id", f.CustomID, 1, 100), length("title", f.Title, 1, 45), checkIDs(f.Components))
}

// notified returns whom a new message notifies.
func notified(m *Message, a *allowed) (list []string) {
	words := m.Shown()
	if a == nil || slices.Contains(a.Parse, "everyone") {
		for _, all := range []string{"@everyone", "@here"} {
			if strings.Contains(words, all) {
				list = append(list, all)
			}
		}
	}
	if a == nil {
		return list
	}
	for _, id := range a.Users {
		if strings.Contains(words, "<@"+id+">") {
			list = append(list, id)
		}
	}
	for _, id := range a.Roles {
		if strings.Contains(words, "<@&"+id+">") {
			list = append(list, "&"+id)
		}
	}
	return list
}
