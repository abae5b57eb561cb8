package natsd_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream replies with its own rights to whatever subject a request names. A backup's requests are answered, but a
// reply stays in the account of backups: what it reads is stored nowhere.
func TestAReplyToABackupWritesNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	b.Ledger()
	admin := b.LedgerAdmin()
	js, err := jetstream.New(admin)
	if err != nil {
		t.Fatal(err)
	}
	const mine, theirs = "ledgerv1.state.policy.acme.mine", "ledgerv1.state.policy.acme.theirs"
	if _, err := js.Publish(t.Context(), mine, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	saver := b.Connect(rights.Role{Name: rights.RoleBackup})
	at := subject.StateStream
	for subj, body := range map[string]string{
		"DIRECT.GET." + at: `{"last_by_subj":"` + mine + `","no_hdr":true}`, "STREAM.MSG.GET." + at: `{"last_by_subj":"` + mine + `"}`,
		"STREAM.INFO." + at: "", "CONSUMER.LIST." + at: "",
	} {
		if err := saver.PublishRequest("$JS.API."+subj, theirs, []byte(body)); err != nil {
			t.Fatal(err)
		}
		m, err := saver.Request("$JS.API."+subj, []byte(body), waittest.Limit)
		if err != nil || m.Header.Get("Status") != "" || bytes.Contains(m.Data, []byte(`"error"`)) {
			t.Errorf("%s is not answered: %v %v", subj, m, err)
		} else if strings.HasPrefix(subj, "DIRECT") && string(m.Data) != "mine" {
			t.Errorf("%s is answered with %s", subj, m.Data)
		}
	}
	s, err := js.Stream(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.GetLastMsgForSubject(t.Context(), theirs); err == nil {
		t.Errorf("%s was stored: %s", theirs, m.Data)
	}
}
