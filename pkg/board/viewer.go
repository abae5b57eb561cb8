package board

import (
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Viewer is a person who looks at a board.
type Viewer struct {
	By       ask.By         // the person, as in an answer
	Tenants  []string       // whose asks may be seen; nil: every tenant
	Access   ask.Access     // which of these may be seen and decided; nil: all
	Language string         // a BCP 47 tag, such as "en" or "zh-CN"
	Zone     *time.Location // for times; nil: UTC
}

// Sees reports whether the viewer may see an ask with this audience.
func (v Viewer) Sees(k ask.Key, audience []string) bool {
	return (v.Tenants == nil || slices.Contains(v.Tenants, k.Tenant)) && v.Access.Sees(v.By, k, audience)
}

// everything reports whether the viewer may see every ask.
func (v Viewer) everything() bool { return v.Tenants == nil && v.Access == nil }

// MayAnswer reports whether the viewer may see and decide an ask. The broker
// checks it again when it gets the answer.
func (v Viewer) MayAnswer(h Head) bool {
	a := h.Record().Ask
	return v.Sees(h.Key, h.Audience) && v.Access.Decides(v.By, h.Key, h.Audience) && v.By.Proves(h.MinProof) && a.Allows(v.By) && (len(h.Audience) == 0 || v.By.ProvesPrincipal())
}

// Mine reports whether the viewer should decide an ask: the viewer may answer
// it, and it was not handed to somebody else.
func (v Viewer) Mine(h Head) bool {
	if h.Handed != nil {
		to := ask.Ask{Audience: []string{h.Handed.To}}
		if !to.Allows(v.By) {
			return false
		}
	}
	return v.MayAnswer(h)
}
