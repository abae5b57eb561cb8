package assertion

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// leeway is how far ahead of ours the clock of an issuer may be. The OpenID
// Connect library allows as much for nbf.
const leeway = 5 * time.Minute

// CheckTimes refuses what a verified token of another issuer says of its times,
// if the library that verified it lets it pass: a time that is not a number
// (RFC 7519, section 2), or an iat in the future. claims is the token's payload.
// The error is meant for people, and quotes nothing.
func CheckTimes(claims []byte, now time.Time) error {
	var times struct {
		Issued  json.RawMessage `json:"iat"`
		Begins  json.RawMessage `json:"nbf"`
		Expires json.RawMessage `json:"exp"`
	}
	if err := json.Unmarshal(claims, &times); err != nil {
		return errors.New("its claims cannot be read")
	}
	for _, c := range []struct {
		name  string
		value json.RawMessage
	}{{"iat", times.Issued}, {"nbf", times.Begins}, {"exp", times.Expires}} {
		if c.value == nil || string(c.value) == "null" {
			continue
		}
		var seconds float64
		if err := json.Unmarshal(c.value, &seconds); err != nil {
			return fmt.Errorf("its claim %s is not a number; issue it in seconds since 1970", c.name)
		}
		if c.name == "iat" && seconds > float64(now.Add(leeway).Unix()) {
			return errors.New("its claim iat is in the future; compare the clocks")
		}
	}
	return nil
}
