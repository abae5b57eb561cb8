package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/charmbracelet/x/ansi"
)

// action is what a key triggers.
type action string

// The actions. Key files use their names.
const (
	actNext     action = "next"      // ask
	actPrev     action = "previous"  // ask
	actFirst    action = "first"     // ask
	actLast     action = "last"      // ask
	actDown     action = "down"      // option, or line
	actUp       action = "up"        // option, or line
	actToggle   action = "toggle"    // an option
	actSend     action = "send"      // or go to the next question
	actForward  action = "forward"   // question
	actBack     action = "back"      // question
	actOther    action = "other"     // free text instead of an option
	actNote     action = "note"      // with the answer, or a vote's reason
	actReply    action = "reply"     // free text to the whole ask
	actDecline  action = "decline"   // the whole ask
	actContext  action = "context"   // what the agent is doing
	actPreview  action = "preview"   // in full
	actCompare  action = "compare"   // two previews
	actFiles    action = "files"     // of the ask
	actFilter   action = "filter"    // the list
	actMine     action = "mine"      // or all
	actCopy     action = "copy"      // the link
	actBrowser  action = "browser"   // opens the link
	actTakeBack action = "take-back" // the answer that is about to be sent
	actSnooze   action = "snooze"    // the ask
	actSnoozed  action = "snoozed"   // lists snoozed asks
	actHand     action = "hand-over" // to somebody else
	actConfirm  action = "confirm"   // a destructive option
	actAlone    action = "break-glass"
	actHelp     action = "help"
	actLeave    action = "leave" // the screen, or the program
	actQuit     action = "quit"
)

// binding is an action with its keys and its help.
type binding struct {
	action action
	keys   []string
	words  string
}

func defaultKeys(say func(string, ...any) string) []binding {
	return []binding{
		{actNext, []string{"j"}, say("next ask")},
		{actPrev, []string{"k"}, say("previous ask")},
		{actFirst, []string{"g"}, say("first ask")},
		{actLast, []string{"G"}, say("last ask")},
		{actDown, []string{"down"}, say("next option")},
		{actUp, []string{"up"}, say("previous option")},
		{actToggle, []string{"space"}, say("choose the option, or not")},
		{actSend, []string{"enter"}, say("send; with several questions the next one")},
		{actForward, []string{"tab", "right"}, say("next question")},
		{actBack, []string{"shift+tab", "left"}, say("previous question")},
		{actOther, []string{"o"}, say("Other, in your words; in the list: open the browser")},
		{actNote, []string{"n"}, say("add a note, or a vote's reason")},
		{actReply, []string{"r"}, say("reply in your own words")},
		{actDecline, []string{"x"}, say("decline, with a reason")},
		{actContext, []string{"c"}, say("what the agent is doing")},
		{actPreview, []string{"p"}, say("read the preview in full")},
		{actCompare, []string{"v"}, say("compare two previews")},
		{actFiles, []string{"f"}, say("look at the files")},
		{actFilter, []string{"/"}, say("filter the list")},
		{actMine, []string{"m"}, say("what you may decide, or all")},
		{actSnooze, []string{"h"}, say("snooze, or take that back")},
		{actSnoozed, []string{"H"}, say("what you snoozed, or what waits")},
		{actHand, []string{"a"}, say("hand over to a person or a group")},
		{actCopy, []string{"y"}, say("copy the link")},
		{actBrowser, []string{"O"}, say("open the browser")},
		{actTakeBack, []string{"z"}, say("take back what is about to be sent, else your vote")},
		{actConfirm, []string{"!"}, say("confirm a destructive option, or a decision alone")},
		{actAlone, []string{"B"}, say("decide alone (break-glass)")},
		{actHelp, []string{"?"}, say("this help; type to filter it")},
		{actLeave, []string{"esc"}, say("back to the list")},
		{actQuit, []string{"q", "ctrl+c"}, say("quit|key")},
	}
}

// keymap maps keys to actions.
type keymap struct {
	bindings []binding
	byKey    map[string]action
}

// newKeymap returns the default keys overridden by those of a key file: an action's name and the
// keys that replace its default ones.
func newKeymap(own map[string][]string, say func(string, ...any) string) (keymap, error) {
	km := keymap{bindings: defaultKeys(say), byKey: map[string]action{}}
	known := map[string]bool{}
	for i := range km.bindings {
		b := &km.bindings[i]
		known[string(b.action)] = true
		if keys, ok := own[string(b.action)]; ok {
			b.keys = keys
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !known[name] {
			return keymap{}, fmt.Errorf("keys: unknown action %q; use one of %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	for _, b := range km.bindings {
		for _, key := range b.keys {
			if other, taken := km.byKey[key]; taken {
				return keymap{}, fmt.Errorf("keys: %q is bound to %s and to %s", key, other, b.action)
			}
			if len(key) == 1 && key[0] >= '0' && key[0] <= '9' {
				return keymap{}, fmt.Errorf("keys: %q chooses an option; bind %s to another key", key, b.action)
			}
			km.byKey[key] = b.action
		}
	}
	return km, nil
}

// key returns an action's first key, for display.
func (km *keymap) key(a action) string {
	for _, b := range km.bindings {
		if b.action == a && len(b.keys) > 0 {
			return b.keys[0]
		}
	}
	return ""
}

// hints returns the keys that work here, for the foot of the screen.
func (m *model) hints() string {
	k := func(a action) string { return m.keys.key(a) }
	f := m.form()
	switch {
	case m.finding:
		return m.say("type to filter · enter keeps it · esc shows all")
	case !m.inCard || f == nil:
		return strings.Join([]string{
			k(actNext) + " " + k(actPrev) + " " + m.say("move"), "enter " + m.say("open"), k(actFilter) + " " + m.say("filter"), k(actMine) + " " + m.say("mine/all"), k(actHelp) + " " + m.say("keys"), k(actQuit) + " " + m.say("quit|key"),
		}, " · ")
	case f.overtaken:
		return "esc " + m.say("leave the field")
	case f.end != nil && m.single():
		return "enter " + m.say("quit|key")
	case f.end != nil:
		return strings.Join([]string{k(actNext) + " " + k(actPrev) + " " + m.say("next and previous ask"), "esc " + m.say("list"), k(actHelp) + " " + m.say("keys")}, " · ")
	case m.busy(f):
		return m.busyHints(f)
	case f.typing != typingNothing:
		s := "enter " + m.commits(f) + " · esc " + m.say("leave the field")
		if e := f.editor(); e != nil && e.many {
			s += " · alt+enter " + m.say("new line")
		}
		return s
	}
	if f.review { // which says that a number changes an answer
		return strings.Join([]string{"enter " + m.commits(f), k(actDecline) + " " + m.say("decline|key"), "esc " + m.say("list"), k(actHelp) + " " + m.say("keys")}, " · ")
	}
	parts := []string{k(actHelp) + " " + m.say("keys")}
	if does := m.commits(f); does != "" {
		parts = append([]string{"enter " + does}, parts...)
	}
	for _, hint := range m.card(f).Keys() {
		if hint.Key == "Enter" || hint.Key == "Ctrl+Enter" || hint.Key == "j k" && m.opts.Once != (ask.Key{}) {
			continue
		}
		parts = append(parts, hint.Key+" "+shortHint(hint.Words))
	}
	return strings.Join(parts, " · ")
}

// busyHints returns the keys that work while an ask's answer is held or being sent.
func (m *model) busyHints(f *form) string {
	k := func(a action) string { return m.keys.key(a) }
	var parts []string
	if m.heldFor(f.rec.Ask.Key()) != nil {
		parts = append(parts, k(actSend)+" "+m.say("send now"), k(actTakeBack)+" "+m.say("take it back"))
	}
	if !m.single() {
		parts = append(parts, k(actNext)+" "+k(actPrev)+" "+m.say("next and previous ask"), "esc "+m.say("list"))
	}
	return strings.Join(append(parts, k(actHelp)+" "+m.say("keys")), " · ")
}

// fitting cuts hints between two of them.
func fitting(hints string, width int) string {
	if ansi.StringWidth(hints) <= width {
		return hints
	}
	cut := ansi.Truncate(hints, width-2, "")
	if at := strings.LastIndex(cut, " · "); at > 0 {
		cut = cut[:at]
	}
	return cut + " …"
}

// shortHint shortens a hint to the text before the first comma.
func shortHint(words string) string {
	words, _, _ = strings.Cut(words, ",")
	words, _, _ = strings.Cut(words, "，")
	return words
}
