package wire

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Claim says that a member of a chat asked for a code with which somebody can say
// that they are that member.
type Claim struct {
	By   ask.By `json:"by,omitzero"`
	Code string `json:"code"`         // its hash, as subject.CodeToken returns it
	ID   string `json:"id,omitempty"` // of this write, as in [StatePut]
}

// DecodeClaim reads the body of claim, strictly.
func DecodeClaim(data []byte) (Claim, error) {
	return decode("claim", data, func(c *Claim) []ask.Fault { return append(checkNote(c.By, c.ID), checkCode(c.Code)...) })
}

// Link says that the person who sends it is the member of a chat for which a code was
// made, or, with End, no longer that one.
type Link struct {
	By   ask.By `json:"by,omitzero"`
	Code string `json:"code,omitempty"` // as in [Claim]
	Look bool   `json:"look,omitempty"` // only says who would be linked
	End  string `json:"end,omitempty"`  // the principal of a link that ends
	ID   string `json:"id,omitempty"`   // of this write, as in [StatePut]; a code is used by one
}

// DecodeLink reads the body of link, strictly.
func DecodeLink(data []byte) (Link, error) {
	return decode("link", data, func(l *Link) []ask.Fault {
		f := append(checkNote(l.By, l.ID), longer("/end", l.End, ask.MaxName)...)
		if l.End == "" {
			f = append(f, checkCode(l.Code)...)
		}
		if l.End == "" && !l.Look && l.ID == "" {
			f = append(f, ask.NewFault("/id", ask.FaultMissing, "id"))
		}
		return f
	})
}

func checkCode(code string) []ask.Fault {
	if ask.ValidToken(code) {
		return nil
	}
	return []ask.Fault{ask.NewFault("/code", ask.FaultBadToken, clip(code), ask.MaxToken)}
}

// StoredClaim is an entry of the bucket link-claims, and the reply to claim. Its key
// has the code.
type StoredClaim struct {
	Principal  string    `json:"principal"`
	Name       string    `json:"name,omitempty"` // as the chat's platform says it: anybody's choice
	Until      time.Time `json:"until"`
	Credential string    `json:"credential,omitempty"` // the public key of the chat's
	Used       string    `json:"used,omitempty"`       // the id of the link that used it
}

// StoredLink is an entry of the bucket links, and the reply to link.
type StoredLink struct {
	Principal   string    `json:"principal"`
	Name        string    `json:"name,omitempty"` // as in [StoredClaim]
	Account     string    `json:"account"`        // the principal that linked it
	AccountName string    `json:"account_name,omitempty"`
	Proof       string    `json:"proof,omitempty"` // with which that was
	Since       time.Time `json:"since,omitzero"`  // zero: it would be linked
	// Credential is the public key of the credential of the inbox.
	Credential string `json:"credential,omitempty"`
}
