package feishu

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// form holds the fields that a person sent, by name. What they hold is checked only here and by the bus: it comes from
// the person's client.
type form map[string]json.RawMessage

// fields returns what was filled in. A checker of an option is named as its question's field, with the option's number
// after a "_".
func (f form) fields(a *ask.Ask) chat.Fields {
	all := chat.Fields{}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		var text string
		var list []string
		var yes bool
		switch of, number, option := strings.Cut(name, "_"); {
		case json.Unmarshal(f[name], &text) == nil:
			all[name] = strings.TrimSpace(text)
		case json.Unmarshal(f[name], &list) == nil:
			all[name] = strings.Join(list, ",")
		case json.Unmarshal(f[name], &yes) != nil || !yes:
		case option:
			all[of] += "," + number
		default:
			all[name] = "true"
		}
	}
	for i := range a.Questions {
		if field := chat.Field(chat.FieldAnswer, i); a.Questions[i].Kind == ask.KindDate {
			all[field], _, _ = strings.Cut(all[field], " ") // "2026-11-25 +0800"
		}
	}
	return all
}

// read returns the answers, or in words what is wrong with the first faulty field.
func read(l *lang.Language, a *ask.Ask, f chat.Fields) (answers []ask.Answer, fault string) {
	answers, faults := f.Read(l, a)
	for i := range a.Questions {
		why := cmp.Or(faults[chat.Field(chat.FieldAnswer, i)], faults[chat.Field(chat.FieldOther, i)])
		if why != "" && len(a.Questions) > 1 {
			why = strconv.Itoa(i+1) + ". " + why
		}
		if why != "" {
			return nil, why
		}
	}
	return answers, ""
}
