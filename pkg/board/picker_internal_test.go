package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// For many heads the viewer's rights are worked out once for those that share what decides it: with the same result as
// for each alone.
func TestManyHeadsArePickedAsEachAlone(t *testing.T) {
	t.Parallel()
	tom, mei := []string{"os:tom"}, []string{"group:platform"}
	var heads []*head
	for i, tenant := range []string{"acme", "globex"} {
		for j, session := range []string{"s1", "s2"} {
			for n, audience := range []*[]string{nil, &tom, &mei} {
				h := &head{key: fmt.Sprintf("%s/%s/a%d/b", tenant, session, n), audience: audience, deadline: 1, rank: uint8(n)}
				excluded, proven, handed, only := *h, *h, *h, *h
				excluded.excluded, proven.proof = &tom, uint8(i+j+1)
				handed.handed, only.deciders = &Handover{To: "os:tom"}, &deciders{only: "os:mei"}
				heads = append(heads, h, &excluded, &proven, &handed, &only)
			}
		}
	}
	for _, by := range []ask.By{{Principal: "os:mei", Groups: []string{"platform"}, Proof: "local"}, {Principal: "os:tom", Proof: "local"}, {}} {
		for _, access := range []ask.Access{nil, {{Tenants: []string{"acme"}, Sessions: []string{"s1"}}}, {{Audiences: []string{"os:tom"}, ReadOnly: true}}} {
			v := Viewer{By: by, Access: access}
			for _, f := range []Filter{
				{Viewer: v},
				{Viewer: v, Mine: true},
				{Viewer: v, Team: true},
				{Viewer: v, Team: true, Session: "s1", Pressing: time.Unix(1, 0)},
				{Viewer: v, Mine: true, Without: map[ask.Key]time.Time{heads[0].id(): {}}},
				{Viewer: v, Only: map[ask.Key]time.Time{heads[0].id(): {}}},
				{Viewer: v, Search: "a1"},
			} {
				pick, taken := f.picker(), 0
				for _, h := range heads {
					want := f.Takes(h.public())
					if pick.takes(h) != want {
						t.Errorf("%+v: %+v is %t alone", f, h.public(), want)
					}
					if want {
						taken++
					}
				}
				if f.plain() && taken != len(heads) {
					t.Errorf("%+v takes %d", f, taken)
				}
			}
		}
	}
}
