package interop_test

import (
	"testing"

	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/google/go-cmp/cmp"
)

// Mattermost's own client works with the fake server of our tests, and is refused what the server refuses.
func TestMattermostClient(t *testing.T) {
	t.Parallel()
	const room, mei = "roomroomroomroomroomroomro", "meimeimeimeimeimeimeimeime"
	f := fakemattermost.Start()
	t.Cleanup(f.Close)
	f.Add(fakemattermost.User{ID: mei, Username: "mei"}, room)
	got := said(t, []string{"MM_URL=" + f.URL(), "MM_TOKEN=" + fakemattermost.Token, "ROOM=" + room, "MEI=" + mei}, "mattermost/client.mjs")
	want := map[string]map[string]any{
		"me":             {"bot": true, "username": "askbus"},
		"post":           {"posted": true, "secret": false},
		"edit":           {"same": true, "text": "done"},
		"read":           {"text": "done"},
		"member":         {"user": mei},
		"members":        {"count": 2.0},
		"direct":         {"type": "D"},
		"edit nothing":   {"status": 404.0, "id": "app.post.get.app_error"},
		"elsewhere":      {"status": 403.0, "id": "api.context.permissions.app_error"},
		"too long":       {"status": 400.0, "id": "model.post.is_valid.app_error"},
		"stranger":       {"status": 404.0, "id": "app.channel.get_member.missing.app_error"},
		"file":           {"called": "shot.png", "files": 1.0},
		"file elsewhere": {"status": 403.0, "id": "api.context.permissions.app_error"},
		"a wrong token":  {"status": 401.0, "id": "api.context.session_expired.app_error"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Mattermost's own WebSocket client signs in at the fake, is greeted, and hears what is posted.
func TestMattermostWebSocket(t *testing.T) {
	t.Parallel()
	const room = "roomroomroomroomroomroomro"
	f := fakemattermost.Start()
	t.Cleanup(f.Close)
	f.Add(fakemattermost.User{ID: "meimeimeimeimeimeimeimeime", Username: "mei"}, room)
	got := said(t, []string{"MM_URL=" + f.URL(), "MM_TOKEN=" + fakemattermost.Token, "ROOM=" + room}, "mattermost/socket.mjs")
	want := map[string]map[string]any{"hello": {"version": true}, "posted": {"kind": "O", "message": "hello", "seq": 1.0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
