package board_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// queued returns a head that was asked this many minutes after noon, with a
// deadline this many minutes after that.
func queued(id, session string, p ask.Priority, asked, ends int) board.Head {
	at := noon.Add(time.Duration(asked) * time.Minute)
	return board.Head{
		Key: ask.Key{Tenant: "acme", Session: session, ID: id}, Life: "l-" + id, Heading: "About " + id, Agent: "Builder", AgentID: "a-" + session,
		Priority: p, AskedAt: at, Deadline: at.Add(time.Duration(ends) * time.Minute),
	}
}

func ids(heads []board.Head) string {
	var s []string
	for _, h := range heads {
		s = append(s, h.Key.ID)
	}
	return strings.Join(s, " ")
}

func TestAQueueIsSortedAndGrouped(t *testing.T) {
	t.Parallel()
	heads := []board.Head{
		queued("old", "s1", ask.PriorityNormal, 0, 600), queued("near", "s2", ask.PriorityNormal, 5, 30), queued("high", "s1", ask.PriorityHigh, 6, 600),
		queued("burning", "s3", ask.PriorityUrgent, 9, 1), queued("urgent", "s2", ask.PriorityUrgent, 1, 600), queued("low", "s3", ask.PriorityLow, 0, 2),
	}
	slices.SortFunc(heads, board.Compare)
	if got := ids(heads); got != "burning urgent high near old low" {
		t.Errorf("the order is %s", got)
	}
	for g, want := range map[board.Grouping]string{
		board.BySession: "burning low urgent near high old", board.ByAgent: "burning low urgent near high old", board.Ungrouped: "burning urgent high near old low",
	} {
		grouped := slices.Clone(heads)
		g.Arrange(grouped)
		if got := ids(grouped); got != want {
			t.Errorf("grouped by %q: %s", g, got)
		}
	}
}

func TestWhatAFilterTakes(t *testing.T) {
	t.Parallel()
	mei := board.Viewer{By: ask.By{Principal: "os:mei", Groups: []string{"platform"}, Proof: "local"}}
	h := queued("a1", "s1", ask.PriorityNormal, 0, 60)
	off := map[ask.Key]time.Time{h.Key: noon.Add(time.Hour)}
	handed := func(to string) board.Head {
		x := h
		x.Handed = &board.Handover{Key: h.Key, Life: h.Life, To: to}
		return x
	}
	theirs, burning := h, queued("b1", "s9", ask.PriorityUrgent, 0, 1)
	theirs.Audience = []string{"os:tom"}
	for _, c := range []struct {
		name string
		f    board.Filter
		h    board.Head
		want bool
	}{
		{"everything", board.Filter{}, h, true},
		{"mine", board.Filter{Viewer: mei, Mine: true}, h, true},
		{"only others may decide it", board.Filter{Viewer: mei, Mine: true}, theirs, false},
		{"the team's, only others may decide it", board.Filter{Viewer: mei, Team: true}, theirs, false},
		{"all, only others may decide it", board.Filter{Viewer: mei}, theirs, true},
		{"handed to me", board.Filter{Viewer: mei, Mine: true}, handed("os:mei"), true},
		{"handed to my group", board.Filter{Viewer: mei, Mine: true}, handed("group:platform"), true},
		{"handed to Tom", board.Filter{Viewer: mei, Mine: true}, handed("os:tom"), false},
		{"handed to Tom, the team's", board.Filter{Viewer: mei, Team: true}, handed("os:tom"), true},
		{"put off", board.Filter{Without: off}, h, false},
		{"only what is put off", board.Filter{Only: off}, h, true},
		{"only what is put off, and this is not", board.Filter{Only: map[ask.Key]time.Time{}}, h, false},
		{"its session", board.Filter{Session: "s1"}, h, true},
		{"another session", board.Filter{Session: "s2"}, h, false},
		{"another tenant", board.Filter{Tenant: "other"}, h, false},
		{"a tenant that may not be seen", board.Filter{Viewer: board.Viewer{Tenants: []string{"other"}}}, h, false},
		{"its agent's name", board.Filter{Agent: "Builder"}, h, true},
		{"its agent's id", board.Filter{Agent: "a-s1"}, h, true},
		{"another agent", board.Filter{Agent: "x"}, h, false},
		{"its priority", board.Filter{Priority: ask.PriorityNormal}, h, true},
		{"another priority", board.Filter{Priority: ask.PriorityHigh}, h, false},
		{"words in any case and order", board.Filter{Search: "BUILDER about"}, h, true},
		{"words with one missing", board.Filter{Search: "about nothing"}, h, false},
		{"an urgent one that ends soon passes a search", board.Filter{Search: "nothing", Pressing: noon.Add(90 * time.Second)}, burning, true},
		{"one that ends later does not", board.Filter{Search: "nothing", Pressing: noon.Add(30 * time.Second)}, burning, false},
		{"nor one that is not urgent", board.Filter{Search: "nothing", Pressing: noon.Add(90 * time.Minute)}, h, false},
	} {
		if got := c.f.Takes(c.h); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestWhatComesNext(t *testing.T) {
	t.Parallel()
	heads := []board.Head{
		queued("new-urgent", "s1", ask.PriorityUrgent, 30, 600), queued("a", "s1", ask.PriorityNormal, 0, 600),
		queued("b", "s1", ask.PriorityNormal, 1, 600), queued("c", "s1", ask.PriorityNormal, 2, 600),
	}
	at := func(id string) ask.Key { return ask.Key{Tenant: "acme", Session: "s1", ID: id} }
	for _, c := range []struct {
		name string
		turn board.Turn
		busy string
		want string
	}{
		{"from the top", board.Turn{}, "", "new-urgent"},
		{"from the top, others are at it", board.Turn{}, "new-urgent a", "b"},
		{"the next one down", board.Turn{After: at("a")}, "", "b"},
		{"the next one down that nobody is at", board.Turn{After: at("a")}, "b", "c"},
		{"at the end nothing above comes back", board.Turn{After: at("c")}, "", ""},
		{"an urgent one came meanwhile", board.Turn{After: at("a"), Since: noon.Add(20 * time.Minute)}, "", "new-urgent"},
		{"an urgent one was passed over before", board.Turn{After: at("a"), Since: noon.Add(40 * time.Minute)}, "", "b"},
		{"at the end only what is new", board.Turn{Since: noon.Add(90 * time.Second)}, "new-urgent", "c"},
		{"at the end nothing is new", board.Turn{Since: noon.Add(time.Hour)}, "", ""},
		{"one that has ended", board.Turn{After: at("gone")}, "", "new-urgent"},
		{"others are at everything", board.Turn{}, "new-urgent a b c", ""},
	} {
		h, ok := c.turn.Next(heads, func(h board.Head) bool { return slices.Contains(strings.Fields(c.busy), h.Key.ID) })
		if got := h.Key.ID; got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t", c.name, got, ok)
		}
	}
}
