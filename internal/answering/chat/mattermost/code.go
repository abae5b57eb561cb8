package mattermost

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"
)

// held is what a button or a dialog carries. A button's stays on the server; a dialog's passes through the person's
// machine, so its code is for them alone.
type held struct {
	Key     string `json:"ask"`             // of the ask's post, which is also of one life
	Post    string `json:"post"`            // id
	Data    string `json:"data"`            // of the button
	Draft   string `json:"draft,omitempty"` // the answers so far
	Expires int64  `json:"expires"`
	Code    string `json:"code"`
}

// codes makes and checks the codes. Their key is made from the bot's token, so that all replicas have it.
type codes struct{ key []byte }

func newCodes(token string) codes {
	sum := hmac.New(sha256.New, []byte(token))
	sum.Write([]byte("askbus-mattermost-codes"))
	return codes{sum.Sum(nil)}
}

// code returns the code of what is held, for a person or, if that is empty, for whoever presses a button.
func (c codes) code(h *held, person string) string {
	sum := hmac.New(sha256.New, c.key)
	for _, part := range []string{h.Key, h.Post, h.Data, h.Draft, strconv.FormatInt(h.Expires, 10), person} {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// sealed returns what is held with its code.
func (c codes) sealed(h held, person string) held {
	h.Code = c.code(&h, person)
	return h
}

// valid reports whether this app made what a call holds, for this person, and it has not expired.
func (c codes) valid(h *held, person string, now time.Time) bool {
	return hmac.Equal([]byte(h.Code), []byte(c.code(h, person))) && now.Unix() < h.Expires
}
