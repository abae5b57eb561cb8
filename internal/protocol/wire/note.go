package wire

import (
	"slices"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of a handover, in code points.
const (
	MaxHandoverWord = 280
	maxHandoverTo   = 256
)

// Snooze is a request to leave an ask out of a person's own lists.
type Snooze struct {
	By    ask.By    `json:"by,omitzero"`
	Life  string    `json:"life,omitempty"`
	Until time.Time `json:"until,omitzero"` // zero: take it back
	ID    string    `json:"id,omitempty"`   // of this write, as in [StatePut]
}

// DecodeSnooze reads the body of snooze, strictly.
func DecodeSnooze(data []byte) (Snooze, error) {
	return decode("snooze", data, func(z *Snooze) []ask.Fault {
		if z.Until.IsZero() {
			return checkNote(z.By, z.ID)
		}
		return append(checkNote(z.By, z.ID), checkLife(z.Life)...)
	})
}

// Handover is a request to note who should answer an ask.
type Handover struct {
	By   ask.By `json:"by,omitzero"`
	Life string `json:"life"`
	To   string `json:"to,omitempty"`   // a principal or "group:<name>"; empty: take it back
	Word string `json:"word,omitempty"` // why
	ID   string `json:"id,omitempty"`   // of this write, as in [StatePut]
}

// DecodeHandover reads the body of handover, strictly.
func DecodeHandover(data []byte) (Handover, error) {
	return decode("handover", data, func(h *Handover) []ask.Fault {
		return slices.Concat(checkNote(h.By, h.ID), checkLife(h.Life), longer("/to", h.To, maxHandoverTo), longer("/word", h.Word, MaxHandoverWord))
	})
}

// Seen says that a person looks at an ask: the next step of its ladder waits. With Unseen, which only push says, it is
// that none of the devices of these people showed it to them: a chat that they linked tells them.
type Seen struct {
	By     ask.By   `json:"by,omitzero"`
	Life   string   `json:"life"`
	Unseen []string `json:"unseen,omitempty"` // principals
}

// MaxUnseen is the highest number of people in a [Seen].
const MaxUnseen = 10

// DecodeSeen reads the body of seen, strictly.
func DecodeSeen(data []byte) (Seen, error) {
	return decode("seen", data, func(s *Seen) []ask.Fault {
		f := append(checkBy(s.By), checkLife(s.Life)...)
		if n := len(s.Unseen); n > MaxUnseen {
			return append(f, ask.NewFault("/unseen", ask.FaultTooMany, n, "entries", MaxUnseen))
		}
		for i, principal := range s.Unseen {
			f = append(f, longer("/unseen/"+strconv.Itoa(i), principal, ask.MaxName)...)
		}
		return f
	})
}

// Away says who stands in for the person who sends it.
type Away struct {
	By    ask.By    `json:"by,omitzero"`
	To    string    `json:"to"`             // a principal, or a name of the list of people
	Until time.Time `json:"until,omitzero"` // zero: no longer
	ID    string    `json:"id,omitempty"`   // of this write, as in [StatePut]
}

// DecodeAway reads the body of away, strictly.
func DecodeAway(data []byte) (Away, error) {
	return decode("away", data, func(a *Away) []ask.Fault {
		f := append(checkNote(a.By, a.ID), longer("/to", a.To, ask.MaxName)...)
		if a.To == "" {
			f = append(f, ask.NewFault("/to", ask.FaultMissing, "to"))
		}
		return f
	})
}

// StoredStandIn is an entry of the bucket stand-ins, and the reply to away.
type StoredStandIn struct {
	Principal string    `json:"principal"` // who is away
	Name      string    `json:"name,omitempty"`
	Groups    []string  `json:"groups,omitempty"` // that were asserted with it: the stand-in has their rights
	Proof     string    `json:"proof,omitempty"`
	To        string    `json:"to"`             // the principal of who stands in
	Also      []string  `json:"also,omitempty"` // other principals of that person
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
	// Credential is the public key of the credential of the surface.
	Credential string `json:"credential,omitempty"`
}

// StandIn returns the stand-in that an entry of a tenant says.
func (s *StoredStandIn) StandIn(tenant string) ask.StandIn {
	return ask.StandIn{
		Tenant: tenant, Absent: ask.By{Principal: s.Principal, Name: s.Name, Groups: s.Groups, Proof: s.Proof},
		By: s.To, Also: s.Also, Since: s.Since, Until: s.Until,
	}
}

func checkNote(by ask.By, id string) []ask.Fault { return append(checkBy(by), writeID(id)...) }

func checkLife(life string) []ask.Fault {
	if ask.ValidToken(life) {
		return nil
	}
	return []ask.Fault{ask.NewFault("/life", ask.FaultBadLife, clip(life))}
}

// StoredSnooze is an entry of the bucket snoozes. Its key names the person.
type StoredSnooze struct {
	Key   ask.Key   `json:"key"`
	Life  string    `json:"life"` // another life is not put off
	Until time.Time `json:"until"`
}

// StoredHandover is an entry of the bucket handovers.
type StoredHandover struct {
	Key  ask.Key   `json:"key"`
	Life string    `json:"life"`
	To   string    `json:"to"`
	Word string    `json:"word,omitempty"`
	By   ask.By    `json:"by"` // as the sender's credential may assert it
	At   time.Time `json:"at"`
}
