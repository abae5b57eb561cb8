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
	Linked   []string       // further principals that this person has, in chats
	// StandIns returns who is away now and has this person as stand-in, such as
	// [SharedStandIns.Of]; nil: nobody.
	StandIns func(ask.By) []ask.StandIn
}

// as returns the viewer as they may decide an ask.
func (v Viewer) as(a *ask.Ask) (ask.By, bool) {
	by, ok := a.As(v.By, nil, time.Time{})
	if !ok && v.StandIns != nil {
		by, ok = a.As(v.By, v.StandIns(v.By), time.Time{})
	}
	return by, ok
}

// Is reports whether somebody is the viewer.
func (v Viewer) Is(principal string) bool {
	return principal != "" && (principal == v.By.Principal || slices.Contains(v.Linked, principal))
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
	if !v.Sees(h.Key, h.Audience) || !v.Access.Decides(v.By, h.Key, h.Audience) || len(h.Audience) > 0 && !v.By.ProvesPrincipal() {
		return false
	}
	a := h.Record().Ask
	_, ok := v.as(&a)
	return ok
}

// Mine reports whether the viewer should decide an ask: the viewer may answer
// it, and it was not handed to somebody else.
func (v Viewer) Mine(h Head) bool {
	if h.Handed != nil {
		a := h.Record().Ask // its lists say who is on call
		to := ask.Ask{Audience: []string{h.Handed.To}}
		if !to.Allows(a.WithOnCall(v.By, nil)) && !slices.Contains(v.Linked, h.Handed.To) {
			return false
		}
	}
	return v.MayAnswer(h)
}
