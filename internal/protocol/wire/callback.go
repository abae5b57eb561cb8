package wire

import "time"

// Callback is the value of an entry of the bucket callbacks, whose key is the callback's name.
type Callback struct {
	Tokens []string `json:"tokens,omitempty"` // ids of the API tokens that may use it; none: all of the tenant may
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
