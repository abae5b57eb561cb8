package web_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/chromedp/chromedp"
)

// state is one look of the inbox and the steps to it from an open, empty inbox.
// The accessibility tests and the screenshots use all states.
type state struct {
	name  string
	reach func(b tab)
}

func states() []state {
	one := func(a ask.Ask) func(tab) {
		return func(b tab) {
			b.live()
			b.in.bus.ask(a, 3*time.Minute)
			b.wait(`!!document.querySelector('article')`)
		}
	}
	return []state{
		{"empty", func(b tab) { b.live() }},
		{"team", func(b tab) {
			b.live()
			teamAtWork(b)
			b.do(chromedp.Navigate(b.in.URL + "/?group=session"))
			b.live()
			b.wait(`document.querySelectorAll('#list .there').length === 1`)
		}},
		{"putoff", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.keys("h")
			b.wait(`document.querySelector('[data-menu=h]').open`)
		}},
		{"handover", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.keys("a")
			b.wait(`document.querySelector('[data-menu=a]').open`)
		}},
		{"filters", func(b tab) {
			b.live()
			teamAtWork(b)
			b.do(chromedp.Navigate(b.in.URL + "/?agent=reviewer&show=team&q=storage"))
			b.live()
			b.wait(`!!document.querySelector('article')`)
		}},
		{"last", func(b tab) {
			b.live()
			teamAtWork(b)
			b.do(chromedp.Navigate(b.in.URL + "/?since=9999999999999"))
			b.live()
			b.sees("That was the last one")
		}},
		{"snoozed", func(b tab) {
			b.live()
			teamAtWork(b)
			_ = b.in.bus.Snooze(context.Background(), board.Viewer{By: mei}, at("b1"), time.Now().Add(time.Hour))
			b.do(chromedp.Navigate(b.in.URL + "/?show=snoozed"))
			b.live()
			b.wait(`!!document.querySelector('article')`)
		}},
		{"history", func(b tab) {
			pastAsks(b.t, b.in.bus, 60)
			b.do(chromedp.Navigate(b.in.URL + "/history"))
			b.wait(`document.querySelectorAll('.past').length === 50`)
		}},
		{"conversation", func(b tab) {
			pastAsks(b.t, b.in.bus, 12)
			_, _ = b.in.bus.end(b.in.bus.ask(func() ask.Ask { a := four(); a.Session = "payments-0"; return a }(), time.Minute), ask.Outcome{
				Status: ask.StatusAnswered, By: &ask.By{Principal: "os:mei", Name: "Mei", Responder: "web"},
				Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}, Notes: "Keep 14 days of backups."}, {QuestionID: "n", Number: new(3.0)}, {QuestionID: "pub", Boolean: new(true)}},
			})
			b.do(chromedp.Navigate(b.in.URL + "/history/default/payments-0"))
			b.wait(`document.querySelectorAll('.exchange').length === 5`)
		}},
		{"waiting", func(b tab) {
			pastAsks(b.t, b.in.bus, 60)
			teamAtWork(b)
			b.do(chromedp.Navigate(b.in.URL + "/history"))
			b.do(chromedp.Navigate(b.in.URL + "/waiting?period=week"))
			b.wait(`!!document.querySelector('.costs table')`)
		}},
		{"bulk", func(b tab) {
			teamAtWork(b)
			b.do(chromedp.Navigate(b.in.URL + "/bulk"))
			b.click(".several li:nth-child(2) label")
			b.wait(`document.querySelectorAll('.several :checked').length === 1`)
		}},
		{"inbox", func(b tab) {
			b.live()
			k := b.in.bus.ask(full(), 4*time.Minute)
			b.in.bus.shownOn(k, ask.Receipt{Type: "slack", State: ask.ReceiptPosted, Places: []ask.Place{{Where: "https://example.com/archives/1"}}})
			b.wait(`!!document.querySelector('article')`)
			b.in.bus.ask(urgentAsk(), 2*time.Minute)
			b.in.bus.ask(question("other", text("msg", "What should the release note say?")), time.Minute)
			b.wait(`document.querySelectorAll('#list li').length === 3`)
		}},
		{"previews", func(b tab) {
			one(question("previews", previews()))(b)
			b.keys("2")
		}},
		{"drawings", func(b tab) {
			one(question("drawings", drawings()))(b)
			b.keys("2")
		}},
		{"compare", func(b tab) {
			one(question("previews", previews()))(b)
			b.click(".compare summary")
		}},
		{"diff", func(b tab) {
			one(question("diff", diffs()))(b)
			b.keys("1")
		}},
		{"evidence", one(evidence())},
		{"destructive", func(b tab) {
			one(question("drop", drop()))(b)
			b.keys("2\r")
			b.wait(`!!document.querySelector('.confirm')`)
		}},
		{"sending", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.js(`document.documentElement.dataset.undo = '600000'`)
			b.keys("1\r")
			b.wait(`!!document.querySelector('.sending')`)
		}},
		{"moved", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.keys("h")
			b.wait(`document.activeElement.value === '15m'`)
			b.keys("2")
			b.wait(`!!document.querySelector('.moved')`)
		}},
		{"four", one(four())},
		{"thirty", one(question("thirty", thirty()))},
		{"multiple", one(question("multi", several()))},
		{"chinese", func(b tab) {
			one(chinese())(b)
			for id, q := range map[string]ask.Question{
				"deploy": {ID: "go", Kind: ask.KindBoolean, Text: "现在把 2.4 版本部署到生产环境吗？本月的错误预算快用完了。"},
				"note":   {ID: "msg", Kind: ask.KindText, Text: "发布说明里应该写什么？"},
			} {
				a := question(id, q)
				a.Agent.Name = "发布助手"
				if id == "deploy" {
					a.Priority, a.Deadline = ask.PriorityUrgent, time.Now().Add(5*time.Minute)
				}
				b.in.bus.ask(a, time.Minute)
			}
			b.wait(`document.querySelectorAll('#list li').length === 3`)
		}},
		{"rtl", one(rtl())},
		{"long", one(long())},
		{"unknown", one(question("unknown", ask.Question{ID: "r", Kind: "rating", Text: "How good is it, from one to five stars?"}))},
		{"readonly", func(b tab) {
			a := question("theirs", database())
			a.Audience = []string{"group:security", "os:ana"}
			b.in.bus.ask(a, 3*time.Minute)
			b.do(chromedp.Navigate(b.in.URL + "/?show=all"))
			b.live()
			b.wait(`!!document.querySelector('article')`)
		}},
		{"refused", func(b tab) {
			one(four())(b)
			b.keys("1")
			b.js(`document.querySelector('input[name="number:n"]').value = '12'; document.querySelector('#q4').focus(); 'ok'`)
			b.click(".send")
			b.wait(`!!document.querySelector('.fault-words')`)
		}},
		{"elsewhere", func(b tab) {
			one(question("db", database()))(b)
			b.keys("o")
			b.keys("DuckDB, perhaps")
			answeredOnSlack(b, "db")
			b.wait(`!!document.querySelector('[data-verdict]')`)
		}},
		{"folded", func(b tab) {
			one(question("db", database()))(b)
			b.keys("1\r")
			b.wait(`!!document.querySelector('.done')`)
		}},
		{"outcome", func(b tab) {
			one(four())(b)
			three, yes := 3.0, true
			_, _ = b.in.bus.end(ask.Key{Tenant: "default", Session: "s1", ID: "four"}, ask.Outcome{
				Status: ask.StatusAnswered, By: &ask.By{Principal: "slack:T01/U02", Name: "Ana", Responder: "slack"},
				Answers: []ask.Answer{
					{QuestionID: "db", Selected: []string{"pg"}, Notes: "Keep 14 days of backups."},
					{QuestionID: "n", Number: &three},
					{QuestionID: "when", Skipped: true},
					{QuestionID: "pub", Boolean: &yes},
				},
			})
			b.wait(`!!document.querySelector('[data-verdict]')`)
		}},
		{"context", func(b tab) {
			one(full())(b)
			b.keys("c")
		}},
		{"signin", func(b tab) {
			b.live()
			b.click("[data-logout] button")
			b.sees("askbus login")
		}},
		{"nosuch", func(b tab) { b.do(chromedp.Navigate(b.in.URL + "/ask/default/s1/nosuch")) }},
		{"expired", func(b tab) {
			one(question("db", database()))(b)
			_, _ = b.in.bus.end(ask.Key{Tenant: "default", Session: "s1", ID: "db"}, ask.Outcome{Status: ask.StatusExpired})
			b.wait(`!!document.querySelector('[data-verdict]')`)
		}},
		{"offline", func(b tab) {
			one(question("db", database()))(b)
			b.in.bus.offline(true)
			b.wait(`document.querySelector('#problem').innerText !== ''`)
		}},
		{"help", func(b tab) {
			one(question("db", database()))(b)
			b.keys("?")
			b.wait(`document.querySelector('#help').open`)
		}},
	}
}

// teamAtWork sets up a queue in which Tom has one ask open and one is handed to
// Mei.
func teamAtWork(b tab) {
	team(b.in.bus)
	_ = b.in.bus.Look(board.Viewer{By: tom}, at("b3"), true)
	_ = b.in.bus.HandOver(context.Background(), board.Viewer{By: tom}, at("a2"), "os:mei", "you know the ledger")
	_ = b.in.bus.HandOver(context.Background(), board.Viewer{By: tom}, at("a0"), "os:mei", "you know the ledger")
}

func answeredOnSlack(b tab, id string) {
	_, err := b.in.bus.end(ask.Key{Tenant: "default", Session: "s1", ID: id}, ask.Outcome{
		Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}},
		By: &ask.By{Principal: "slack:T01/U02", Name: "Ana", Responder: "slack"},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func text(id, words string) ask.Question {
	return ask.Question{ID: id, Kind: ask.KindText, Text: words}
}

func full() ask.Ask {
	a := question("full", database())
	a.Questions[0].Options = append(a.Questions[0].Options, ask.Option{ID: "stop", Label: "Neither, stop here", Cancels: true})
	a.Agent = ask.Agent{ID: "a-7", Name: "builder", Parent: "planner/a-1"}
	a.Session = "payments-api"
	a.Title = "Ledger storage"
	a.Context = "I am wiring the **ledger** service. It needs a store that survives a crash:\n\n```go\ndb, err := sql.Open(\"pgx\", url)\n```\n"
	a.Deadline = time.Now().Add(40*time.Minute + 30*time.Second)
	a.Audience = []string{"group:platform"}
	return a
}

func urgentAsk() ask.Ask {
	a := question("deploy", ask.Question{ID: "go", Kind: ask.KindBoolean, Text: "Deploy version 2.4 to production now? The error budget of this month is nearly used up."})
	a.Priority, a.Agent.Name, a.Session = ask.PriorityUrgent, "release-bot", "nightly"
	a.Deadline = time.Now().Add(5 * time.Minute)
	return a
}

// evidence is an urgent ask with a diff in its context.
func evidence() ask.Ask {
	a := urgentAsk()
	a.Context = "The migration is ready; this is what it changes:\n\n```diff\n--- a/ledger.sql\n+++ b/ledger.sql\n@@ -1,3 +1,3 @@\n CREATE TABLE entry (\n-  amount int,\n+  amount numeric(20, 4) NOT NULL CHECK (amount <> 0) -- " + strings.Repeat("a long line that scrolls ", 6) + "\n );\n```\n\n| table | rows |\n|---|--:|\n| entry | 1200000 |\n"
	return a
}

// diffs is a question whose options are diffs.
func diffs() ask.Question {
	body := "--- a/retry.go\n+++ b/retry.go\n@@ -10,4 +10,4 @@ func retry() {\n \tfor range 3 {\n-\t\ttime.Sleep(time.Second)\n+\t\ttime.Sleep(backoff(attempt, jitter)) // " + strings.Repeat("with a long reason ", 8) + "\n \t}\n"
	return ask.Question{ID: "fix", Text: "Which fix?", Options: []ask.Option{{ID: "a", Label: "Back off", Preview: &ask.Preview{Format: ask.PreviewText, Body: body}}, {ID: "b", Label: "Leave it"}}}
}

func previews() ask.Question {
	q := database()
	q.Options[0].Preview = &ask.Preview{Format: ask.PreviewText, Body: "+--------+     +----------+\n| ledger |---->| Postgres |\n+--------+     +----------+\n  p99 4 ms"}
	q.Options[1].Preview = &ask.Preview{Format: ask.PreviewText, Body: "+--------+    +------+    +----+\n| ledger |--->| file |--->| S3 |\n+--------+    +------+    +----+\n  p99 0.3 ms"}
	q.Options[2].Preview = &ask.Preview{Format: ask.PreviewMarkdown, Body: "Nothing new to run:\n\n```go\n// Put keeps the last value of a key.\nkv, err := js.KeyValue(ctx, \"ledger\")\nif err != nil {\n\treturn fmt.Errorf(\"open: %w\", err)\n}\n_, err = kv.Put(ctx, \"balance\", []byte(\"42\"))\n```\n\n- one bucket\n- limited queries"}
	return q
}

func four() ask.Ask {
	low, high := 1.0, 9.0
	a := question("four", database(),
		ask.Question{ID: "n", Kind: ask.KindNumber, Header: "Replicas", Text: "How many replicas?", Limits: ask.Limits{Min: &low, Max: &high, Integer: true}, Default: &ask.Answer{Number: &low}},
		ask.Question{ID: "when", Kind: ask.KindDate, Header: "Date", Text: "When may it go live?", Limits: ask.Limits{MinDate: "2026-11-20"}, Optional: true},
		ask.Question{ID: "pub", Kind: ask.KindBoolean, Text: "May the ledger be reached from outside the cluster?", Default: &ask.Answer{Boolean: new(bool)}},
	)
	a.Questions[0].Default = &ask.Answer{Selected: []string{"pg"}}
	a.Title = "Set up the ledger"
	a.AtDeadline, a.Deadline = ask.AtDeadlineDefault, time.Now().Add(2*time.Hour+time.Minute)
	return a
}

func thirty() ask.Question {
	q := ask.Question{ID: "region", Header: "Region", Text: "Which region should the new cluster run in?"}
	for i := range 30 {
		q.Options = append(q.Options, ask.Option{ID: fmt.Sprintf("r%d", i), Label: fmt.Sprintf("region-%c%d", 'a'+rune(i/6), i%6+1), Description: fmt.Sprintf("%d ms from the office", 8+i*7)})
	}
	return q
}

func several() ask.Question {
	return ask.Question{ID: "checks", Header: "Checks", Text: "Which checks must pass before a merge?", Multiple: true, MinItems: 1, MaxItems: 3, Options: []ask.Option{
		{ID: "unit", Label: "Unit tests", Recommended: true}, {ID: "race", Label: "Race detector"}, {ID: "fuzz", Label: "Fuzzing for a minute"}, {ID: "lint", Label: "Lint"},
	}}
}

func chinese() ask.Ask {
	a := question("zh", ask.Question{ID: "db", Header: "存储方案", Text: "账本服务应该使用哪个数据库？🗄️", Options: []ask.Option{
		{ID: "pg", Label: "PostgreSQL 数据库", Description: "成熟、支持事务，平台团队已经在运维。", Recommended: true},
		{ID: "lite", Label: "SQLite 单文件", Description: "只有一个文件，复制到对象存储。"},
	}})
	a.Agent.Name, a.Title = "构建助手", "账本存储"
	return a
}

func rtl() ask.Ask {
	a := question("rtl", ask.Question{ID: "db", Header: "אחסון", Text: "באיזה מסד נתונים צריך השירות להשתמש? `--force`", Options: []ask.Option{
		{ID: "pg", Label: "PostgreSQL", Description: "בוגר, ותומך בעסקאות.", Recommended: true},
		{ID: "lite", Label: "קובץ אחד", Description: "קובץ יחיד, משוכפל לאחסון."},
	}})
	a.Agent.Name = "בונה"
	return a
}

func long() ask.Ask {
	word := "averyveryverylongidentifierwithoutanyspaces_"
	words := "This sentence goes on for a while so that it needs several lines on every screen there is. "
	q := ask.Question{ID: "long", Text: words + words + word + word + word, Options: []ask.Option{
		{ID: "a", Label: word + word + word, Description: words + words + words},
		{ID: "b", Label: words + words, Description: word + word + word + word},
	}}
	a := question("long", q)
	a.Title, a.Agent.Name, a.Agent.Parent, a.Session = words+word+word, word+word, word+"/"+word, "session_"+"0123456789012345678901234567890123456789"
	a.Context = "# A heading\n\n| one | two | three |\n|---|---|---|\n| " + word + word + " | b | c |\n\n```\n" + word + word + word + word + "\n```"
	return a
}
