package email

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/emersion/go-message"
	"github.com/wneessen/go-mail"
)

// A mail with files is large: ten megabytes take a minute on a slow line. Whoever sends it has it for [sendFor].
func TestAMailWithFilesHasMoreTime(t *testing.T) {
	t.Parallel()
	m := mail.NewMsg()
	if got := boundOf(m); got != callFor {
		t.Errorf("a mail without files has %s", got)
	}
	if err := m.AttachReader("log.txt", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if got := boundOf(m); got < 3*callFor || got+2*callFor > sendFor {
		t.Errorf("a mail with files has %s, of %s for all of it", got, sendFor)
	}
}

func TestCodeIsReadFromLeftToRight(t *testing.T) {
	t.Parallel()
	if got := inline("למחוק עם `--force`?"); got != `למחוק עם <code dir="ltr">--force</code>?` {
		t.Errorf("got %s", got)
	}
	if got := string(body(&card.Preview{Kind: card.Prose, Body: "למחוק\n\n```\nrm\n```"}, 100)); !strings.Contains(got, `dir="auto">למחוק</p><pre dir="ltr"`) {
		t.Errorf("got %s", got)
	}
}

func TestOnlyWordsAboveTheQuoteCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2": "2",
		"2\n\nOn Mon, 1 Jan, askbus wrote:\n> Which database?\n> 1. PostgreSQL":                          "2",
		"2\n\nOn Mon, 1 Jan 2026 at 10:00\nask@example.com wrote:\n\n> -- Reply above this line --\n> x": "2",
		"PostgreSQL\n-- \nMei Chen\nExample AG":                                                          "PostgreSQL",
		"PostgreSQL\n\nSent from my phone":                                                               "PostgreSQL",
		"回答\n\n在 2026年1月1日，askbus 写道：\n> 问题":                                                             "回答",
		"yes\n\n-----Original Message-----\nFrom: askbus":                                                "yes",
		"yes\n________________________________\nFrom: askbus\nSent: Monday":                              "yes",
		"yes\n\nFrom: askbus\nSent: Monday\nTo: Mei\n\n1":                                                "yes",
		"yes\n\n-- Reply above this line --\nan agent asks":                                              "yes",
		"From: here it is\nfine":                                                                         "From: here it is\nfine",
		"two things:\nthis and that":                                                                     "two things:\nthis and that",
		"> 1. PostgreSQL\nno, 2":                                                                         "",
		"":                                                                                               "",
	} {
		if got := above(text); got != want {
			t.Errorf("%q has %q above its quote; want %q", text, got, want)
		}
	}
	page := "<html><head><style>p{}</style></head><body><div>PostgreSQL</div><br><div class=\"gmail_quote\">On Monday<blockquote>SQLite</blockquote></div></body></html>"
	if got := above(unmarked(page)); got != "PostgreSQL" {
		t.Errorf("the HTML has %q above its quote", got)
	}
}

// Which field counts: the topmost with the own name, above what the sender wrote.
func TestOnlyTheOwnServerVouches(t *testing.T) {
	t.Parallel()
	const (
		own    = "Received: from out.example.com by mx.example.net; Mon, 1 Jan 2026 10:00:00 +0000\r\n"
		before = "Received: from laptop by out.example.com; Mon, 1 Jan 2026 09:59:59 +0000\r\n"
		pass   = "Authentication-Results: mx.example.net;\r\n\tdkim=pass (2048-bit key; unprotected) header.d=example.com header.i=@example.com header.b=abc=\r\n"
		none   = "Authentication-Results: mx.example.net; dkim=none\r\n"
	)
	for name, one := range map[string]struct {
		header string
		want   bool
	}{
		"above its own Received":      {pass + own + before, true},
		"below its own Received":      {own + pass + before, true},
		"forged below":                {none + own + pass + before, false},
		"forged below, none by us":    {own + before + pass, false},
		"forged directly below ours":  {own + none + pass + before, false},
		"another server's":            {"Authentication-Results: other.example; dkim=pass header.d=example.com\r\n" + own + before, false},
		"ours below another server's": {"Authentication-Results: other.example; dkim=pass header.d=evil.example\r\n" + pass + own, true},
		"failed":                      {"Authentication-Results: mx.example.net; dkim=fail header.d=example.com\r\n", false},
		"of another domain":           {"Authentication-Results: mx.example.net; dkim=pass header.d=evil.example\r\n", false},
		"of a domain below":           {"Authentication-Results: mx.example.net; dkim=pass header.d=sub.example.com\r\n", false},
		"in a comment":                {"Authentication-Results: mx.example.net; spf=pass (a ; dkim=pass header.d=example.com) smtp.mailfrom=x\r\n", false},
		"in a quoted string":          {"Authentication-Results: mx.example.net; spf=fail reason=\"; dkim=pass header.d=example.com\"\r\n", false},
		"twice in one statement":      {"Authentication-Results: mx.example.net; dkim=pass header.d=evil.example header.d=example.com\r\n", false},
		"the second signature":        {"Authentication-Results: mx.example.net 1; dkim=fail header.d=example.com; dkim=pass header.d=example.com\r\n", true},
		"with spaces":                 {"Authentication-Results: MX.example.net ; dkim = pass header.d = EXAMPLE.com\r\n", true},
		"spf alone":                   {"Authentication-Results: mx.example.net; spf=pass smtp.mailfrom=example.com\r\n", false},
		"nothing":                     {own, false},
		"empty":                       {"Authentication-Results: \r\n", false},
		"unended":                     {"Authentication-Results: mx.example.net; dkim=pass (header.d=example.com\r\n", false},
	} {
		e, err := message.Read(strings.NewReader(one.header + "From: mei@example.com\r\n\r\n2\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		s := &App{opts: Options{AuthServ: "mx.example.net", Hops: 1}}
		if got := s.vouched(&e.Header, "example.com"); got != one.want {
			t.Errorf("%s: vouched is %v", name, got)
		}
	}
}

func TestProgramsNeverAnswer(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"Auto-Submitted: auto-replied", "Auto-Submitted: auto-generated; x=y", "Precedence: bulk", "Precedence: list", "List-Id: <x.example.com>",
		"X-Autoreply: yes", "Subject: Automatic reply: Which database?", "Subject: =?utf-8?B?6Ieq5Yqo5Zue5aSN?=", "Subject: Out of Office: away", "From: Mail <MAILER-DAEMON@example.com>",
	} {
		e, err := message.Read(strings.NewReader(header + "\r\n\r\n2\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		if automatic(&e.Header, "mei@example.com") == nil {
			t.Errorf("%q is taken for a person's", header)
		}
	}
	e, err := message.Read(strings.NewReader("Auto-Submitted: no\r\nSubject: Re: Which database?\r\n\r\n2\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if why := automatic(&e.Header, "mei@example.com"); why != nil {
		t.Errorf("a person's reply: %v", why)
	}
	if automatic(&e.Header, "") == nil || automatic(&e.Header, "MAILER-DAEMON@example.com") == nil {
		t.Error("a mail server's is taken for a person's")
	}
}

func TestReferencesAndAddresses(t *testing.T) {
	t.Parallel()
	s := &App{opts: Options{Key: []byte("a key of tests, which has 32 bytes at least"), Reply: "ask@mail.example.com"}}
	if got, ok := s.addressOf(s.ref("mei@example.com")); !ok || got != "mei@example.com" || strings.Contains(s.ref("mei@example.com"), "mei") {
		t.Errorf("%q, %v", got, ok)
	}
	if _, ok := s.addressOf("AAAA" + s.ref("mei@example.com")[4:]); ok {
		t.Error("a changed reference is taken")
	}
	const post = "askbus-0123456789abcdef01234567"
	to := s.replyAddress(post, "mei@example.com")
	local, _, _ := strings.Cut(to, "@")
	got, madeFor, ok := s.parseReplyAddress(strings.ToUpper(to))
	if !ok || got != post || !madeFor("mei@example.com") || madeFor("tom@example.com") || len(local) > 64 {
		t.Errorf("%s: %q, %v", to, got, ok)
	}
	for _, bad := range []string{"ask@mail.example.com", "ask+x@mail.example.com", strings.Replace(to, "mail.", "evil.", 1), ""} {
		if _, _, ok := s.parseReplyAddress(bad); ok {
			t.Errorf("%q is an address of replies", bad)
		}
	}
	if _, ok := s.parseLink(s.seal(forStop, "a\nb\nc\nd\ne\n1\n2")); ok {
		t.Error("a signature for something else is taken")
	}
}

// A mail that clients would cut, or that leaves something out, gives no permission to a reply, whatever makes it long.
func TestAMailShowsAPermissionWholeOrNot(t *testing.T) {
	t.Parallel()
	option := ask.Option{Label: "Yes", Preview: &ask.Preview{Format: ask.PreviewText, Body: strings.Repeat("x ", 1_400)}}
	for name, c := range map[string]struct {
		a    ask.Ask
		want bool
	}{
		"one command":          {ask.Ask{Context: "```sh\nls\n```", Questions: []ask.Question{{Options: []ask.Option{option}}}}, true},
		"a long command":       {ask.Ask{Context: strings.Repeat("x ", 15_001), Questions: []ask.Question{{Options: []ask.Option{option}}}}, false},
		"much that is escaped": {ask.Ask{Context: strings.Repeat("<&", 14_000), Questions: []ask.Question{{Options: []ask.Option{option}}}}, false},
		"thirty previews":      {ask.Ask{Context: strings.Repeat("x ", 10_000), Questions: []ask.Question{{Options: slices.Repeat([]ask.Option{option}, 30)}}}, false},
		"long questions":       {ask.Ask{Questions: slices.Repeat([]ask.Question{{Text: strings.Repeat("x ", 4_000)}}, 12)}, false},
	} {
		c.a.Metadata = map[string]any{ask.MetadataPermission: "x"}
		c.a.Normalize()
		rec := &ask.Record{State: ask.StatePending, Ask: c.a}
		d := &letter{Card: card.New(rec, card.Viewer{Surface: Type}, time.Now()), Lang: lang.Of("")}
		if got := d.whole(); got != c.want {
			t.Errorf("%s: whole is %v", name, got)
		}
	}
}

// A mail whose ask has more than it shows says so; of a permission it shows more.
func TestAMailSaysWhatItCuts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runes   int
		permits bool
		whole   bool
	}{{maxContext, false, true}, {maxContext + 1, false, false}, {maxContext + 1, true, true}, {maxPermit + 1, true, false}} {
		a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Context: strings.Repeat("x", c.runes), Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Go on?"}}}
		if c.permits {
			a.Metadata = map[string]any{ask.MetadataPermission: "x"}
		}
		a.Normalize()
		d := &letter{Card: card.New(&ask.Record{Ask: a, State: ask.StatePending}, card.Viewer{Surface: Type}, time.Now()), Lang: lang.Of("")}
		if got := d.whole(); got != c.whole {
			t.Errorf("%+v: whole is %v", c, got)
		}
	}
}
