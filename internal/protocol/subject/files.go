package subject

import (
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// The files of asks are in a stream of their own.
const (
	FileStream = "FILES"
	FileLedger = LedgerRoot + ".files"
)

// Verbs of files. The id in their subjects is the file's.
const (
	VerbUpload Verb = "upload"
	VerbFile   Verb = "file"
)

// fileHead is the last token of the message that describes a file; those of its
// parts are numbers.
const fileHead = "head"

// FileHead returns the ledger subject of what describes a session's file.
func FileHead(s ask.Session, id string) string { return fileSubject(s, id, fileHead) }

// FilePart returns the ledger subject of a part of a session's file.
func FilePart(s ask.Session, id string, part int) string {
	return fileSubject(s, id, strconv.Itoa(part))
}

// FileAny returns the wildcard over the head and the parts of files: of one, or
// with empty ids of all of a session or a tenant.
func FileAny(s ask.Session, id string) string {
	return fileSubject(ask.Session{Tenant: star(s.Tenant), Name: star(s.Name)}, star(id), "*")
}

// FileHeads returns the wildcard over what describes the files of a tenant.
func FileHeads(tenant string) string {
	return fileSubject(ask.Session{Tenant: tenant, Name: "*"}, "*", fileHead)
}

func fileSubject(s ask.Session, id, last string) string {
	return strings.Join([]string{FileLedger, s.Tenant, s.Name, id, last}, ".")
}

// IsFile reports whether a ledger subject belongs to a file.
func IsFile(subject string) bool { return strings.HasPrefix(subject, FileLedger+".") }
