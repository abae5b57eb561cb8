package main

import (
	"crypto/rand"
	"strings"
)

// The ask and the answer, about as large as askbus's own messages.
const (
	question = `{"title":"Ledger storage","context":"The ledger needs a store. I have read both drivers; the schema fits either, and the migration is an hour's work. Nothing is deployed yet.","questions":[{"id":"db","kind":"choice","header":"Storage","text":"Which database should the ledger use?","options":[{"id":"pg","label":"PostgreSQL","description":"already deployed","recommended":true},{"id":"lite","label":"SQLite","description":"one file, no server"},{"id":"stop","label":"Neither","cancels":true}]}]}`
	outcome  = `{"status":"answered","source":"human","answers":[{"question_id":"db","selected":["pg"],"notes":"keep 14 days of backups"}],"by":{"principal":"os:bench","name":"Bench","proof":"local"}}`
)

func newID() string { return strings.ToLower(rand.Text()) }
