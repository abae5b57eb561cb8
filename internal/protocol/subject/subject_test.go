package subject_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/goldentest"
	"github.com/askbus/askbus/pkg/ask"
)

// user has the form of a credential's public key.
const user = "UA2222222222222222222222222222222222222222222222222222ZZ"

// TestPartitionNeverChanges compares FNV-1a 32-bit of "<tenant>.<session>" mod
// N with a file that other languages can use as well.
func TestPartitionNeverChanges(t *testing.T) {
	t.Parallel()
	sessions := []ask.Key{
		{Tenant: "acme", Session: "s1"},
		{Tenant: "acme", Session: "s2"},
		{Tenant: "default", Session: "cli"},
		{Tenant: "a", Session: "b"},
		{Tenant: "b", Session: "a"},
		{Tenant: "_", Session: "-"},
		{Tenant: "0", Session: "0"},
		{Tenant: strings.Repeat("x", 64), Session: strings.Repeat("Z", 64)},
		{Tenant: "a-b", Session: "c"},
		{Tenant: "a", Session: "b-c"},
	}
	for i := range 22 {
		sessions = append(sessions, ask.Key{Tenant: fmt.Sprintf("tenant%d", i%3), Session: fmt.Sprintf("01JABCDEF%03d", i)})
	}
	var b strings.Builder
	b.WriteString("# FNV-1a 32-bit of tenant.session, mod 1, 4, 8 and 99\n")
	for _, k := range sessions {
		name := k.Tenant + "." + k.Session
		// The definition, independent of the package's code.
		h := uint32(2166136261)
		for i := range len(name) {
			h = (h ^ uint32(name[i])) * 16777619
		}
		fmt.Fprintf(&b, "%s %08x", name, h)
		for _, n := range []int{1, 4, 8, 99} {
			p := subject.Partition(k.Tenant, k.Session, n)
			if want := int(h % uint32(n)); p != want {
				t.Errorf("%s of %d is %d, want %d", name, n, p, want)
			}
			fmt.Fprintf(&b, " %d", p)
		}
		b.WriteString("\n")
	}
	goldentest.Equal(t, "testdata/partitions.golden", b.String()) // another partition: a ledger would lose its asks
}

func TestParse(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]subject.Request{
		"askv1.acme.s1.ask.a1":                      {Root: "askv1", Tenant: "acme", Session: "s1", Verb: "ask", ID: "a1"},
		"askv1.acme.s1.get.a1":                      {Root: "askv1", Tenant: "acme", Session: "s1", Verb: "get", ID: "a1"},
		"askv1.acme.s1.wait.a1":                     {Root: "askv1", Tenant: "acme", Session: "s1", Verb: "wait", ID: "a1"},
		"askv1.acme.s1.withdraw.a1":                 {Root: "askv1", Tenant: "acme", Session: "s1", Verb: "withdraw", ID: "a1"},
		"askv1.acme.s1.list":                        {Root: "askv1", Tenant: "acme", Session: "s1", Verb: "list"},
		"ansv1.web." + user + ".acme.s1.answer.a1":  {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Session: "s1", Verb: "answer", ID: "a1"},
		"ansv1.web." + user + ".acme.s1.cancel.a1":  {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Session: "s1", Verb: "cancel", ID: "a1"},
		"ansv1.web." + user + ".acme.s1.receipt.a1": {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Session: "s1", Verb: "receipt", ID: "a1"},
		"ansv1.web." + user + ".acme.s1.get.list":   {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Session: "s1", Verb: "get", ID: "list"},
		"ansv1.web." + user + ".list":               {Root: "ansv1", Type: "web", User: user, Verb: "list"},
		"ansv1.web." + user + ".acme.list":          {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Verb: "list"},
		"ansv1.web." + user + ".acme.s1.list":       {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Session: "s1", Verb: "list"},
		"ansv1.web." + user + ".next":               {Root: "ansv1", Type: "web", User: user, Verb: "next"},
		"ansv1.web." + user + ".acme.next":          {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Verb: "next"},
		"ansv1.web." + user + ".acme.later":         {Root: "ansv1", Type: "web", User: user, Tenant: "acme", Verb: "later"},
		"ansv1.web." + user + ".done":               {Root: "ansv1", Type: "web", User: user, Verb: "done"},
		"ansv1.web." + user + ".extend":             {Root: "ansv1", Type: "web", User: user, Verb: "extend"},
		"ansv1.web." + user + ".later":              {Root: "ansv1", Type: "web", User: user, Verb: "later"},
		"hostv1." + user + ".acme.s1.answer.a1":     {Root: "hostv1", User: user, Tenant: "acme", Session: "s1", Verb: "answer", ID: "a1"},
		"hostv1." + user + ".acme.s1.get.a1":        {Root: "hostv1", User: user, Tenant: "acme", Session: "s1", Verb: "get", ID: "a1"},
		"hostv1." + user + ".acme.s1.receipt.a1":    {Root: "hostv1", User: user, Tenant: "acme", Session: "s1", Verb: "receipt", ID: "a1"},
		"admv1.acme.s1.abort.a1":                    {Root: "admv1", Tenant: "acme", Session: "s1", Verb: "abort", ID: "a1"},
		"ansv1.list." + user + ".list.list":         {Root: "ansv1", Type: "list", User: user, Tenant: "list", Verb: "list"},
	} {
		got, err := subject.Parse(s)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", s, got, err, want)
		}
		if got.String() != s {
			t.Errorf("%s is rebuilt as %s", s, got)
		}
	}
	for _, s := range []string{
		"", ".", "askv1", "askv1.acme.s1.ask", "askv1.acme.s1.answer.a1", "askv1.acme.s1.abort.a1", "askv1.acme.s1.next.a1", "askv1.acme.list", "askv1.acme.s1.ask.a1.x",
		"askv1.acme.s1.ask.*", "askv1.>.s1.ask.a1", "askv1.acme..ask.a1", "askv1.acme.s1.ask.a 1", "askv1.acme.s1.ask.é", "askv1.acme.s1.ASK.a1", "askv1.acme.s1.ask." + strings.Repeat("x", 65),
		"ansv1.web", "ansv1.web." + user, "ansv1.web.acme.s1.answer.a1", "ansv1.web.list", "ansv1.web." + user[1:] + "A.list", "ansv1.web.ua" + user[2:] + ".list", "ansv1.web." + user + "." + user + ".acme.s1.answer.a1",
		"hostv1." + user + ".acme.s1.list", "hostv1." + user + ".acme.s1.unvote.a1", "hostv1." + user + ".acme.next", "hostv1.acme.s1.answer.a1", "hostv1", "hostv1." + user, "ansv1.web." + user + ".answer", "ansv1.web." + user + ".ask", "ansv1.web." + user + ".acme.s1.next", "ansv1.web." + user + ".acme.s1.withdraw.a1", "ansv1.web." + user + ".acme.s1.abort.a1", "ansv1.web." + user + ".acme.s1.list.a1",
		"admv1.acme.s1.get.a1", "admv1.acme.s1.list", "admv1.abort", "herev1.acme.s1", "outv1.acme.s1.a1.q", "ledgerv1.00.acme.s1.a1.q", "ASKV1.acme.s1.ask.a1", "askv2.acme.s1.ask.a1",
	} {
		if got, err := subject.Parse(s); err == nil {
			t.Errorf("%q is read as %+v", s, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"askv1.acme.s1.ask.a1", "ansv1.web." + user + ".list", "ansv1.web." + user + ".acme.s1.answer.a1", "admv1.acme.s1.abort.a1", "askv1.*.s1.ask.a1", "ansv1.web." + user + ".next.", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := subject.Parse(s)
		if err != nil {
			return
		}
		if r.String() != s {
			t.Errorf("%q is rebuilt as %q", s, r)
		}
		if strings.ContainsAny(s, "*> \t\r\n") {
			t.Errorf("%q has a wildcard or a space", s)
		}
		for _, built := range []string{subject.LedgerQuestion(0, r.Key()), subject.Here(r.Tenant, r.Session)} {
			if r.ID != "" && (strings.Contains(built, "../..") || strings.ContainsAny(built, "*>")) {
				t.Errorf("%q builds %q", s, built)
			}
		}
	})
}

func FuzzParseLedgerAndOut(f *testing.F) {
	for _, s := range []string{"ledgerv1.00.acme.s1.a1.q", "ledgerv1.03.acme.s1.a1.o", "ledgerv1.00.acme.s1.a1.r.slack", "outv1.acme.s1.a1.q", "outv1.acme.s1.*.o"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if k, kind, ok := subject.ParseOut(s); ok && (!k.Valid() || strings.Join([]string{"outv1", k.Tenant, k.Session, k.ID, kind}, ".") != s) {
			t.Errorf("%q is read as %v %s", s, k, kind)
		}
		k, kind, typ, ok := subject.ParseLedger(s)
		if !ok {
			return
		}
		parts := []string{"ledgerv1", strings.Split(s, ".")[1], k.Tenant, k.Session, k.ID, kind}
		if typ != "" {
			parts = append(parts, typ)
		}
		if !k.Valid() || strings.Join(parts, ".") != s {
			t.Errorf("%q is read as %v %s %s", s, k, kind, typ)
		}
	})
}

func TestLedgerSubjects(t *testing.T) {
	t.Parallel()
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	for got, want := range map[string]string{
		subject.LedgerQuestion(3, k):                                "ledgerv1.03.acme.s1.a1.q",
		subject.LedgerOutcome(12, k):                                "ledgerv1.12.acme.s1.a1.o",
		subject.LedgerAny(0, k):                                     "ledgerv1.00.acme.s1.a1.*",
		subject.LedgerReceipt(0, k, "slack"):                        "ledgerv1.00.acme.s1.a1.r.slack",
		subject.LedgerReceipt(0, k, ""):                             "ledgerv1.00.acme.s1.a1.r.*",
		subject.LedgerAll(0, ask.Key{}, subject.Question):           "ledgerv1.00.*.*.*.q",
		subject.LedgerAll(0, ask.Key{Tenant: "acme"}, "*"):          "ledgerv1.00.acme.*.*.*",
		subject.LedgerStream(7):                                     "ledgerv1.07.>",
		subject.Stream(7):                                           "ASKS_07",
		subject.OutAll("", "", subject.Outcome):                     "outv1.*.*.*.o",
		subject.OutAll("acme", "s1", subject.Question):              "outv1.acme.s1.*.q",
		subject.Here("acme", "s1"):                                  "herev1.acme.s1",
		subject.Abort(k):                                            "admv1.acme.s1.abort.a1",
		subject.Agent(k, subject.VerbAsk):                           "askv1.acme.s1.ask.a1",
		subject.Responder("web", user, k, subject.VerbAnswer):       "ansv1.web." + user + ".acme.s1.answer.a1",
		subject.Responder("web", user, ask.Key{}, subject.VerbList): "ansv1.web." + user + ".list",
		subject.Host(user, k, subject.VerbCancel):                   "hostv1." + user + ".acme.s1.cancel.a1",
		subject.Attention("web", user, k):                           "ansv1.web." + user + ".acme.s1.look.a1",
		subject.AttentionAll("acme", ""):                            "ansv1.*.*.acme.*.look.*",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, s := range []string{"", "ledgerv1", "ledgerv1.00.acme.s1.a1", "ledgerv1.00.acme.s1.a1.x", "ledgerv1.00.acme.s1.a1.q.x", "ledgerv1.00.acme.s1.a1.r", "ledgerv1.00.acme.s1.*.q", "outv1.00.acme.s1.a1.q"} {
		if k, _, _, ok := subject.ParseLedger(s); ok {
			t.Errorf("%q is read as %v", s, k)
		}
	}
}

func TestReplyAllowed(t *testing.T) {
	t.Parallel()
	for request, replies := range map[string]struct{ yes, no []string }{
		"askv1.acme.s1.ask.a1": {
			[]string{"_INBOX.a.acme.s1.x", "_INBOX.a.acme.s1.x.7", "_INBOX.at.acme.x"},
			[]string{"_INBOX.op.x", "_INBOX.g.x.y", "_INBOX.at.other.x", "_INBOX.a.acme.s2.x", "_INBOX.a.other.s1.x", "_INBOX.a.acme.s1x.y", "_INBOX.a.acme.x", "_INBOX.a.acme.s1", "_INBOX.a.acme.s1.", "_INBOX.r.web.x", "_INBOX.rs.web.acme.s1.x"},
		},
		"ansv1.web." + user + ".acme.s1.answer.a1": {
			[]string{"_INBOX.r.web.x", "_INBOX.rt.web.acme.x", "_INBOX.rs.web.acme.s1.x"},
			[]string{"_INBOX.r.slack.x", "_INBOX.r.webx.y", "_INBOX.rt.web.other.x", "_INBOX.rs.web.acme.s2.x", "_INBOX.a.acme.s1.x", "_INBOX.r.web", "_INBOX.op.x", "_INBOX.g.x", "_INBOX.h.acme.s1.x"},
		},
		"ansv1.gateway." + user + ".acme.s1.answer.a1":  {[]string{"_INBOX.g.x"}, []string{"_INBOX.op.x", "_INBOX.a.acme.s1.x"}},
		"ansv1.operator." + user + ".acme.s1.answer.a1": {[]string{"_INBOX.op.x"}, []string{"_INBOX.g.x", "_INBOX.a.acme.s1.x"}},
		"ansv1.gateway." + user + ".acme.s1.ask.a1":     {[]string{"_INBOX.g.x"}, []string{"_INBOX.op.x", "_INBOX.a.acme.s1.x", "_INBOX.at.acme.x"}},
		"ansv1.operator." + user + ".acme.s1.wait.a1":   {[]string{"_INBOX.op.x"}, []string{"_INBOX.g.x", "_INBOX.a.acme.s1.x", "_INBOX.at.acme.x"}},
		"hostv1." + user + ".acme.s1.answer.a1":         {[]string{"_INBOX.h.acme.s1.x"}, []string{"_INBOX.h.acme.s2.x", "_INBOX.op.x", "_INBOX.g.x", "_INBOX.a.acme.s1.x"}},
		"ansv1.web." + user + ".acme.list":              {[]string{"_INBOX.r.web.x", "_INBOX.rt.web.acme.x"}, []string{"_INBOX.rt.web.other.x", "_INBOX.rs.web.acme.s1.x", "_INBOX.rs.web.acme..x"}},
		"ansv1.web." + user + ".next":                   {[]string{"_INBOX.r.web.x"}, []string{"_INBOX.rt.web.acme.x", "_INBOX.rt.web..x", "_INBOX.r.slack.x"}},
		"admv1.acme.s1.abort.a1": {
			[]string{"_INBOX.op.x"}, []string{"_INBOX.a.acme.s1.x", "_INBOX.r.web.x"},
		},
	} {
		r, err := subject.Parse(request)
		if err != nil {
			t.Fatal(err)
		}
		for _, reply := range replies.yes {
			if !subject.ReplyAllowed(r, reply) {
				t.Errorf("%s may not be answered at %s", request, reply)
			}
		}
		for _, reply := range append(replies.no,
			"", ".", "_INBOX", "_INBOX.", "_INBOX.x", "_INBOX_acme_s1.x", "_INBOX_a.acme.s1.x", "_INBOX.b.x", "_INBOX.l.x", "_INBOX.opx.y", "_INBOX.op", "_INBOX.op.", "_INBOX.gx.y",
			"_INBOX.op.*", "_INBOX.op.>", "_INBOX.op.x.*", "_INBOX.op..x", "_INBOX.op.x.", "_INBOX.op.x y", "_INBOX.op.x\r\nPUB y", "_INBOX.*.x", "_INBOX.>", "_inbox.op.x", " _INBOX.op.x",
			"ledgerv1.00.acme.s1.a1.o", "$JS.API.STREAM.PURGE.ASKS_00", "$JS.ACK.ASKS_00.web-q.1.1.1.1.1", "$SRV.PING", "$SYS.x", "outv1.acme.s1.a1.o", "herev1.acme.s1", "askv1.acme.s1.ask.a1", "_R_.x",
		) {
			if subject.ReplyAllowed(r, reply) {
				t.Errorf("%s may be answered at %q", request, reply)
			}
		}
	}
}

// FuzzReplyAllowed checks that replies only go to inboxes.
func FuzzReplyAllowed(f *testing.F) {
	f.Add("askv1.acme.s1.ask.a1", "_INBOX.a.acme.s1.x")
	f.Add("ansv1.web."+user+".next", "_INBOX.r.web.>")
	f.Add("ansv1.web."+user+".list", "ledgerv1.00.acme.s1.a1.o")
	f.Fuzz(func(t *testing.T, request, reply string) {
		r, err := subject.Parse(request)
		if err != nil || !subject.ReplyAllowed(r, reply) {
			return
		}
		parts := strings.Split(reply, ".")
		if len(parts) < 3 || parts[0] != "_INBOX" || strings.ContainsAny(reply, "*> \t\r\n") || strings.Contains(reply, "../..") || parts[1] == "b" || parts[1] == "l" {
			t.Errorf("%s may be answered at %q", request, reply)
		}
		if parts[1] == "a" && (r.Root != subject.Agents || parts[2] != r.Tenant || parts[3] != r.Session) {
			t.Errorf("%s may be answered in the inbox of another: %q", request, reply)
		}
	})
}

func ExampleParse() {
	r, err := subject.Parse("ansv1.web." + user + ".acme.s1.answer.a1")
	fmt.Println(r.Type, r.Verb, r.Key(), err)
	_, err = subject.Parse("askv1.acme.*.ask.a1")
	fmt.Println(err)
	// Output:
	// web answer acme/s1/a1 <nil>
	// subject "askv1.acme.*.ask.a1": invalid token "*"
}

func ExampleLedgerQuestion() {
	k := subject.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	p := subject.Partition(k.Tenant, k.Session, 4)
	fmt.Println(subject.Stream(p), subject.LedgerQuestion(p, k))
	// Output: ASKS_03 ledgerv1.03.acme.s1.a1.q
}

func ExampleReplyAllowed() {
	r, _ := subject.Parse("askv1.acme.s1.ask.a1")
	fmt.Println(subject.ReplyAllowed(r, "_INBOX.a.acme.s1.x7"), subject.ReplyAllowed(r, "_INBOX.a.acme.s2.x7"))
	// Output: true false
}

func TestTheSenderIsFilledIn(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		subject.Responder("web", subject.Self, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, subject.VerbAnswer): "ansv1.web." + user + ".acme.s1.answer.a1",
		subject.Host(subject.Self, ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, subject.VerbGet):                "hostv1." + user + ".acme.s1.get.a1",
		"askv1.acme.s1.ask.a1":                "",
		"kvv1.responder.web.sessions.get.~.x": "", // there it stands for no tenant
	} {
		if got, ok := subject.As(s, user); ok != (want != "") || ok && got != want {
			t.Errorf("%s becomes %s, want %s", s, got, want)
		}
	}
}

func TestAnIssuerAnswersOnlyInInboxesOfThoseWhoMayAsk(t *testing.T) {
	t.Parallel()
	const user = "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, tenant := range []string{"", "acme"} {
		if who, of, ok := subject.ParsePerson(subject.Person(user, tenant)); !ok || who != user || of != tenant {
			t.Errorf("got %q %q %v", who, of, ok)
		}
	}
	for _, s := range []string{"issuev1.x.person", "issuev1.person", subject.Person(user, "acme") + ".x", subject.Person(user, "*"), subject.Person(user, "") + ".", "issuev1." + user + ".persons", "issuev2." + user + ".person"} {
		if _, _, ok := subject.ParsePerson(s); ok {
			t.Errorf("%s is read", s)
		}
	}
	for reply, want := range map[string][3]bool{ // a gateway, an inbox of all, an inbox of acme
		"_INBOX.g.x.1": {true}, "_INBOX.r.web.x": {false, true}, "_INBOX.rt.web.acme.x.1": {false, false, true}, "_INBOX.rt.web.other.x": {}, "_INBOX.rt.web.acme": {}, "_INBOX.rt.web.*.x": {}, "_INBOX.rt.web..x": {},
		"_INBOX.r.web": {}, "_INBOX.r.webx.y": {}, "_INBOX.r.slack.x": {}, "_INBOX.rs.web.acme.s1.x": {}, "askv1.acme.s1.ask.a1": {}, "": {}, "_INBOX.g.>": {}, "_INBOX.r.web.>": {},
	} {
		var got [3]bool
		for i, s := range []string{subject.Exchange, subject.Person(user, ""), subject.Person(user, "acme")} {
			got[i] = subject.IssueReplyAllowed(s, reply)
		}
		if got != want {
			t.Errorf("%q: %v, want %v", reply, got, want)
		}
	}
	if subject.IssueReplyAllowed("issuev1.x.person", "_INBOX.r.web.x") {
		t.Error("a malformed subject is answered")
	}
}

func TestTheAuditIsReadBelowTheReadersOwnInbox(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		subject.AuditRead("auditor", ""): "u", subject.AuditRead("auditor", "acme"): "u", subject.AuditRead("auditor/acme", "acme"): "ut.acme", subject.AuditRead("auditor/read", "read"): "ut.read",
		subject.AuditRead("operator", ""): "op", subject.AuditRead("operator", "acme"): "op",
	} {
		own, _ := subject.As(s, user)
		r, err := subject.ParseAudit(own)
		if err != nil || r.String() != own || r.Verb != subject.VerbRead {
			t.Errorf("%s: %+v, %v", own, r, err)
		}
		for _, inbox := range []string{"u", "ut.acme", "ut.read", "ut.other", "op", "g", "i", "r.web", "a.acme.s1"} {
			if got := subject.AuditReplyAllowed(r, "_INBOX."+inbox+".x"); got != (inbox == want) {
				t.Errorf("%s may be answered below _INBOX.%s: %v", own, inbox, got)
			}
		}
	}
	for _, s := range []string{"read.auditor", "read.gateway", "read.gateway.acme", "read.operator.", "read.operator.*", "read.operator.acme.x", "acme.read.operator", "report.auditor"} {
		if r, err := subject.ParseAudit("auditv1." + user + "." + s); err == nil {
			t.Errorf("%s is read as %+v", s, r)
		}
	}
}
