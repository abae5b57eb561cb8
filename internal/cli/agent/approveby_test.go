package agent

import (
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

func TestApprovalFlags(t *testing.T) {
	t.Parallel()
	f := askFlags{approveBy: []string{"2:group:sre,os:ana", "group:admin"}, denyBy: "1:group:sec"}
	q := ask.Ask{ID: "d1", Questions: []ask.Question{{Text: "Deploy?"}}}
	if err := f.approval(&q); err != nil {
		t.Fatal(err)
	}
	q.Normalize()
	if err := q.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	p := q.Approval
	if q.Questions[0].Kind != ask.KindBoolean || len(p.AnyOf) != 2 || p.AnyOf[0].Need != 2 || len(p.AnyOf[0].From) != 2 || p.AnyOf[1].Need != 1 || p.AnyOf[1].From[0] != "group:admin" || p.Deny.From[0] != "group:sec" {
		t.Errorf("%+v", p)
	}
	f = askFlags{approveBy: []string{"2"}, approveOptions: []string{"Now"}}
	q = ask.Ask{ID: "d1", Questions: []ask.Question{{Text: "When?", Options: []ask.Option{{Label: "Now"}, {Label: "Never"}}}}}
	if err := f.approval(&q); err != nil {
		t.Fatal(err)
	}
	q.Normalize()
	if err := q.Validate(time.Now()); err != nil || q.Approval.ApproveOptions[0] != "o1" || q.Approval.DenyOptions[0] != "o2" {
		t.Errorf("%+v, %v", q.Approval, err)
	}
	for _, f := range []askFlags{{approveBy: []string{"0:group:sre"}}, {denyBy: "1"}, {approveBy: []string{"1"}, approveOptions: []string{"Soon"}}, {approveBy: []string{"1"}}} {
		q := ask.Ask{Questions: []ask.Question{{Text: "When?", Options: []ask.Option{{Label: "Now"}}}}}
		if err := f.approval(&q); err == nil {
			t.Errorf("%+v is accepted", f.approveBy)
		}
	}
}
