package responder

import (
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Viewer is who looks at a board.
type Viewer struct {
	By       ask.By         // who it is, as an answer would say
	Tenants  []string       // whose asks may be seen; nil: of every tenant
	Access   ask.Access     // what of these may be seen and decided; nil: everything
	Language string         // as in BCP 47, such as "en" or "zh-CN"
	Zone     *time.Location // for times; nil: UTC
}

// Sees reports whether the viewer may see an ask that names this audience.
func (v Viewer) Sees(k ask.Key, audience []string) bool {
	return (v.Tenants == nil || slices.Contains(v.Tenants, k.Tenant)) && v.Access.Sees(v.By, k, audience)
}

// everything reports whether the viewer may see every ask.
func (v Viewer) everything() bool { return v.Tenants == nil && v.Access == nil }

// MayAnswer reports whether the viewer may see and decide an ask. The broker
// decides it again at the answer.
func (v Viewer) MayAnswer(h Head) bool {
	a := ask.Ask{Audience: h.Audience, ExcludeAsker: h.Excluded != nil, Asker: h.Excluded}
	return v.Sees(h.Key, h.Audience) && v.Access.Decides(v.By, h.Key, h.Audience) && v.By.Proves(h.MinProof) && a.Allows(v.By) && (len(h.Audience) == 0 || v.By.ProvesPrincipal())
}

// Mine reports whether an ask is the viewer's to decide: the viewer may answer
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
