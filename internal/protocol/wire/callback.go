package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"
)

// Callback is the value of an entry of the bucket callbacks, whose key is the callback's name.
type Callback struct {
	Tokens  []string `json:"tokens,omitempty"`  // ids of the API tokens that may use it; none: all of the tenant may
	Address string   `json:"address,omitempty"` // [CallbackAddress] of its URL
}

// Serves reports whether asks of an API token may use the callback; an empty id is no token.
func (c *Callback) Serves(token string) bool {
	return len(c.Tokens) == 0 || slices.Contains(c.Tokens, token)
}

// CallbackAddress returns what the bus knows of a callback's URL: its SHA-256, which tells whether
// another URL is the same.
func CallbackAddress(url string) string {
	sum := sha256.Sum256([]byte(url))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// MaxTaskPushes is the maximum number of [TaskPush] of one task.
const MaxTaskPushes = 4

// TaskPushes is the value of an entry of the bucket task-pushes, whose key is that of an ask: where A2A
// clients want to be told that its task has ended.
type TaskPushes struct {
	Life    string     `json:"life"` // of the ask; another life has none of these
	Configs []TaskPush `json:"configs"`
}

// TaskPush is one push notification configuration of A2A.
type TaskPush struct {
	ID       string `json:"id"`
	Callback string `json:"callback"`        // the name
	URL      string `json:"url"`             // as the client gave it
	Token    string `json:"token,omitempty"` // sent with the notification
	V03      bool   `json:"v03,omitempty"`   // the client speaks A2A 0.3
}

// WebhookFailuresPrefix begins the keys of [WebhookFailures] in the bucket deliveries.
const WebhookFailuresPrefix = "failed."

// WebhookFailures is the value of the entry of the bucket deliveries with what could not be delivered
// to one receiver, for good.
type WebhookFailures struct {
	Receiver string    `json:"receiver"` // "callback builder"
	Count    int       `json:"count"`
	Ask      string    `json:"ask"` // session/id, of the last
	Error    string    `json:"error"`
	At       time.Time `json:"at"`
}
