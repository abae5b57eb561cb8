package mattermost_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/testkit/chattest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// said returns what was written where, without Markdown's escapes.
func (w *world) said() (all []string) {
	for _, p := range w.fake.Posts() {
		if p.User == fakemattermost.Bot {
			all = append(all, p.Channel+" "+p.Message)
		}
	}
	return all
}

// hears runs replicas that hear what is written to the bot.
func (w *world) hears(replicas int) (stops []func()) {
	w.T.Helper()
	for range replicas {
		o := w.options()
		o.Inbox = chattest.LinkInbox
		app, err := mattermost.New(w.Responder(mattermost.Type), o)
		if err != nil {
			w.T.Fatal(err)
		}
		stops = append(stops, w.Run(func(ctx context.Context) error {
			err := app.Keep(ctx)
			app.Drain()
			return err
		}))
	}
	natstest.Eventually(w.T, "the replicas hear", func() bool { return w.fake.Listeners() == replicas })
	return stops
}

// Who writes "link" to the bot gets one code, whichever replica makes it, which links them under the id that the server
// proves. Who may not answer gets none, nor does what a program writes in their name, what is written elsewhere, or a reply;
// the same event again makes no other.
func TestAMemberAsksToBeLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stops := w.hears(2)
	w.fake.Write(guest, "link")
	w.fake.WritePost(fakemattermost.Post{User: mei, Channel: room, Message: "link"})
	w.fake.WritePost(fakemattermost.Post{User: ann, Message: "link", Type: "system_generic"})
	webhook := fakemattermost.Post{User: ann, Message: "link"}
	webhook.Props.Webhook = "true"
	w.fake.WritePost(webhook)
	w.fake.WritePost(fakemattermost.Post{User: ann, Message: "link", Root: w.fake.Write(ann, "hello").ID})
	post := w.fake.Write(tom, " /Link ")
	code := w.LinkCodes(w.said)[0]
	u, err := url.Parse(w.fake.URL())
	if err != nil {
		t.Fatal(err)
	}
	w.Linked(code, "mattermost:"+u.Host+"/"+tom)
	w.fake.Again(post)
	w.fake.Drop()
	natstest.Eventually(t, "the replicas connect again", func() bool { return w.fake.Listeners() == 2 })
	for _, stop := range stops {
		stop()
	}
	for _, p := range w.fake.Posts() {
		if chattest.LinkCode(p.Message) != "" && (chattest.LinkCode(p.Message) != code || p.Channel != post.Channel) {
			t.Errorf("in %s: %s", p.Channel, p.Message)
		}
	}
}

// "Link" alone in private is about the account also while a question has an option of this name, which its button chooses.
func TestAnOptionIsCalledLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(nil)
	w.hears(1)
	w.Ask(chattest.OptionLink("a1"))
	p := w.opened("What to do")
	w.fake.Write(mei, "link")
	w.LinkCodes(w.said)
	if rec := w.Get("a1"); rec.State != ask.StatePending {
		t.Errorf("it is %s", rec.State)
	}
	w.click(mei, p, "Link")
	w.AnsweredLink("a1")
}
