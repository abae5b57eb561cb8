package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Secret is a key of 24 to 64 bytes, which the receiver has too.
type Secret []byte

// ParseSecrets parses the file of an endpoint's secrets: one in a line, at most three, each "whsec_"
// and base64. Its error repeats nothing of a secret.
func ParseSecrets(data []byte) ([]Secret, error) {
	var all []Secret
	for i, line := range strings.Fields(string(data)) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "whsec_"))
		if err != nil || !strings.HasPrefix(line, "whsec_") || len(key) < 24 || len(key) > 64 {
			return nil, fmt.Errorf(`secret %d must be "whsec_" and 24 to 64 bytes in base64; make one with: echo "whsec_$(openssl rand -base64 32)"`, i+1)
		}
		all = append(all, key)
	}
	if len(all) == 0 || len(all) > 3 {
		return nil, errors.New("needs one secret in a line, and at most three while one is replaced")
	}
	return all, nil
}

// Sign returns the header webhook-signature: one signature for each secret.
func Sign(secrets []Secret, id string, at int64, body []byte) string {
	var all []string
	for _, s := range secrets {
		mac := hmac.New(sha256.New, s)
		mac.Write([]byte(id + "." + strconv.FormatInt(at, 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// After returns when to try again after so many failed attempts, by the schedule of Standard Webhooks;
// false: it has failed for good, after three days.
func After(failed int) (time.Duration, bool) {
	schedule := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	if failed < 1 || failed > len(schedule) {
		return 0, false
	}
	return schedule[failed-1], true
}
