package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/answering/chat/email"
	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/answering/chat/mattermost"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/answering/chat/teams"
	"github.com/askbus/askbus/internal/answering/chat/telegram"
	"github.com/askbus/askbus/internal/lab/fakediscord"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/lab/fakemail"
	"github.com/askbus/askbus/internal/lab/fakemattermost"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/lab/faketeams"
	"github.com/askbus/askbus/internal/lab/faketelegram"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/emersion/go-smtp"
)

// chatCard is a message of an ask, as the people of a chat see it.
type chatCard struct {
	text  string
	live  bool // something on it still acts
	press func(ctx context.Context, option string) error
}

// chatApp is what the app of every chat has.
type chatApp interface {
	Serve(ctx context.Context, opts responder.ServeOptions) error
}

// platform is a fake of a chat's platform in which all asks go to one place, where one person answers.
type platform struct {
	gate   *gate // before its API; nil: it is not HTTP
	new    func(r *responder.Responder, o chat.Options) (chatApp, error)
	called func(front string) // says where it delivers
	cards  func() []chatCard
	down   func(bool) // makes it unreachable
	failed func() int // calls that arrived while it was
	over   func() int // calls that exceeded its limits
	close  func()
}

// behind makes the gate of a platform with an HTTP API.
func (p *platform) behind(address string, limit func(*http.Request) bool) (at string, err error) {
	p.gate, err = newGate(address, limit)
	if err != nil {
		return "", err
	}
	p.down, p.failed = p.gate.down.Store, func() int { return int(p.gate.failed.Load()) }
	p.over = func() int { return int(p.gate.refused.Load()) }
	return p.gate.url, nil
}

// platformOf makes the fake of a chat's platform, by the chat's type. An unlimited one has no limits.
type platformOf struct {
	typ string
	new func(w fakeslack.Wall, unlimited bool) (*platform, error)
}

func platforms() []platformOf {
	return []platformOf{
		{slack.Type, slackPlatform},
		{telegram.Type, telegramPlatform},
		{discord.Type, discordPlatform},
		{feishu.Type, feishuPlatform},
		{teams.Type, teamsPlatform},
		{mattermost.Type, mattermostPlatform},
		{email.Type, emailPlatform},
	}
}

func slackPlatform(w fakeslack.Wall, unlimited bool) (*platform, error) {
	fake, err := fakeslack.Start(fakeslack.Options{Clock: w, NoLimits: unlimited, AckWithin: chatPatience})
	if err != nil {
		return nil, err
	}
	fake.AddUser(fakeslack.User{ID: "U0MEI", Name: "Mei"})
	fake.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0MEI", fakeslack.BotUser}})
	p := &platform{close: fake.Close, called: func(front string) {
		fake.DeliverTo(front+slack.PathEvents, front+slack.PathInteractions, front+slack.PathCommands)
	}}
	at, err := p.behind(fake.URL(), nil)
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Channel = "C0ASKS"
		app, err := slack.New(r, slack.Options{BotToken: fake.Settings().BotToken, SigningSecret: fake.Settings().SigningSecret, APIURL: at, Replicas: 4, Options: o, NoLimits: unlimited})
		if err == nil {
			_, err = app.Connect(context.Background()) // a fake in this process
		}
		return app, err
	}
	p.cards = func() (all []chatCard) {
		for _, m := range fake.Messages("C0ASKS") {
			all = append(all, chatCard{m.Shown(), m.Live(), func(_ context.Context, option string) error {
				if d := fake.Click("U0MEI", m.Place, option); !d.Acked { //nolint:contextcheck // a click has no context
					return errors.New("the click was not acknowledged: " + d.Lost)
				}
				return nil
			}})
		}
		return all
	}
	return p, err
}

func telegramPlatform(w fakeslack.Wall, unlimited bool) (*platform, error) {
	const mei = 103
	fake := faketelegram.Start()
	fake.AddUser(faketelegram.User{ID: mei, First: "Mei"})
	p := &platform{close: fake.Close}
	var limit func(*http.Request) bool
	if !unlimited { // the fake has no limits: those that are said of Telegram are 30 a second for a bot, and one a second in a chat
		limit = atMost(w, window{30, 1}, window{70, 60})
	}
	at, err := p.behind(fake.URL(), func(r *http.Request) bool {
		writes := strings.HasSuffix(r.URL.Path, "/sendMessage") || strings.Contains(r.URL.Path, "/editMessage")
		return limit != nil && writes && limit(r)
	})
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Channel = fmt.Sprint(mei)
		return telegram.New(r, telegram.Options{Token: faketelegram.Token, APIURL: at, Options: o})
	}
	p.cards = func() (all []chatCard) {
		for _, m := range fake.Messages() {
			all = append(all, chatCard{m.Text, m.Open(), func(ctx context.Context, option string) error {
				if _, ok := fake.Click(ctx, mei, m, option); !ok {
					return errors.New("the press was not acknowledged")
				}
				return nil
			}})
		}
		return all
	}
	return p, err
}

func discordPlatform(w fakeslack.Wall, _ bool) (*platform, error) {
	const room, mei = "100000000000000001", "300000000000000003"
	fake := fakediscord.Start(fakediscord.Options{AckWithin: chatPatience})
	fake.SetClock(w.Now)
	fake.AddUser(fakediscord.User{ID: mei, Name: "mei"})
	fake.AddChannel(room)
	p := &platform{close: fake.Close}
	at, err := p.behind(fake.URL(), nil)
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Channel = room
		return discord.New(r, discord.Options{Token: fakediscord.Token, APIURL: at, Options: o})
	}
	p.cards = func() (all []chatCard) {
		for _, m := range fake.Messages() {
			all = append(all, chatCard{m.Shown(), m.Open(), func(ctx context.Context, option string) error {
				_, err := fake.Click(ctx, mei, m, option)
				return err
			}})
		}
		return all
	}
	return p, err
}

func feishuPlatform(w fakeslack.Wall, _ bool) (*platform, error) {
	fake := fakefeishu.Start()
	fake.SetNow(w.Now)
	fake.AddUser(fakefeishu.User{Union: "on_mei", Open: "ou_mei", Name: "Mei"}, "oc_room")
	p := &platform{close: fake.Close}
	at, err := p.behind(fake.URL(), nil)
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Channel, o.Routes.Default.Language = "oc_room", "en"
		return feishu.New(r, feishu.Options{AppID: fakefeishu.AppID, AppSecret: fakefeishu.AppSecret, Domain: at, Options: o})
	}
	p.cards = func() (all []chatCard) {
		for _, m := range fake.Messages() {
			all = append(all, chatCard{m.Shown(), m.Open(), func(ctx context.Context, option string) error {
				return fake.Click(ctx, m, fakefeishu.Click{User: "on_mei", Label: option}).Err
			}})
		}
		return all
	}
	return p, err
}

func teamsPlatform(w fakeslack.Wall, unlimited bool) (*platform, error) {
	room := "19:" + rand.Text() + "@thread.v2" // where an earlier one may be written to is in shared state
	mei := faketeams.Person{Object: "00000000-0000-4000-8000-000000000003", Name: "Mei"}
	fake := faketeams.Start()
	fake.SetNow(w.Now)
	if !unlimited {
		fake.Limit(w.Now)
	}
	fake.Add(mei, room)
	p := &platform{close: fake.Close, called: func(front string) { fake.Bot(front + teams.PathMessages) }}
	at, err := p.behind(fake.URL(), nil)
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Channel = room
		return teams.New(r, teams.Options{AppID: faketeams.App, Directory: faketeams.Tenant, Secret: faketeams.Secret, ServiceURL: at, LoginURL: at, KeysURL: fake.Metadata(), Options: o})
	}
	p.over = fake.Throttled
	p.cards = func() (all []chatCard) {
		for _, m := range fake.Messages() {
			if m.Card == nil {
				continue // words to a person
			}
			all = append(all, chatCard{m.Shown(), m.Open(), func(ctx context.Context, option string) error {
				_, _, err := fake.Press(ctx, mei, &m, option, nil)
				return err
			}})
		}
		return all
	}
	return p, err
}

func mattermostPlatform(w fakeslack.Wall, unlimited bool) (*platform, error) {
	const room, mei = "roomroomroomroomroomroomro", "meimeimeimeimeimeimeimeime"
	fake := fakemattermost.Start()
	fake.Add(fakemattermost.User{ID: mei, Username: "mei", First: "Mei"}, room)
	front := ""
	p := &platform{close: fake.Close, called: func(at string) { front = at }}
	var limit func(*http.Request) bool
	if !unlimited { // as a server that limits its clients does unless it is told otherwise
		limit = atMost(w, window{110, 1}, window{700, 60})
	}
	at, err := p.behind(fake.URL(), limit)
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Channel = room
		app, err := mattermost.New(r, mattermost.Options{URL: at, Token: fakemattermost.Token, Callback: front, Options: o})
		if err == nil {
			_, err = app.Connect(context.Background()) // a fake in this process
		}
		return app, err
	}
	p.cards = func() (all []chatCard) {
		for _, m := range fake.Posts() {
			if m.Channel != room {
				continue // words to a person
			}
			all = append(all, chatCard{m.Shown(), len(m.Actions()) > 0, func(ctx context.Context, option string) error {
				_, err := fake.Press(ctx, mei, &m, option)
				return err
			}})
		}
		return all
	}
	return p, err
}

// optionField finds the field of an option's button on the page of a mail.
var optionField = regexp.MustCompile(`type="radio" name="([^"]+)" value="(=[^"]+)"[^>]*><b>([^<]+)</b>`)

func emailPlatform(fakeslack.Wall, bool) (*platform, error) {
	fake, err := fakemail.Start()
	if err != nil {
		return nil, err
	}
	front, away, failed := "", atomic.Bool{}, atomic.Int64{}
	fake.Intercept(func(_ *fakemail.Mail, done bool) error {
		if !done && away.Load() {
			failed.Add(1)
			return &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "away"} // other errors are for good
		}
		return nil
	})
	p := &platform{
		close: fake.Close, called: func(at string) { front = at }, down: away.Store,
		failed: func() int { return int(failed.Load()) }, over: func() int { return 0 },
	}
	p.new = func(r *responder.Responder, o chat.Options) (chatApp, error) {
		o.Routes.Default.Person = "mei@example.com"
		return email.New(r, email.Options{SMTP: fake.URL(), From: "askbus <ask@example.com>", URL: front, Key: []byte("a key for links that only this bench has"), Options: o})
	}
	p.cards = func() (all []chatCard) {
		ended, link := map[string]bool{}, regexp.MustCompile(regexp.QuoteMeta(front)+`/email/ask/\S+`)
		mails := fake.Mails()
		for _, m := range mails {
			ended[m.Header.Get("In-Reply-To")] = true
		}
		for _, m := range mails {
			if m.Header.Get("In-Reply-To") != "" {
				continue
			}
			page := link.FindString(m.Text)
			all = append(all, chatCard{m.Text, !ended[m.Header.Get("Message-Id")], func(ctx context.Context, option string) error {
				return answerOnPage(ctx, page, option)
			}})
		}
		return all
	}
	return p, nil
}

// answerOnPage answers on the page of a mail. With an empty option it fails if the page can still answer.
func answerOnPage(ctx context.Context, page, option string) error {
	body, err := fetch(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	for _, f := range optionField.FindAllStringSubmatch(body, -1) {
		switch option {
		case "":
			return errors.New("the page still has a button")
		case f[3]:
			_, err := fetch(ctx, http.MethodPost, page, url.Values{f[1]: {f[2]}, "do": {"answer"}})
			return err
		}
	}
	return nil // decided meanwhile
}

func fetch(ctx context.Context, method, address string, form url.Values) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close() //nolint:errcheck // read
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusConflict {
		err = fmt.Errorf("%s %s: %s", method, address, res.Status)
	}
	return string(body), err
}
