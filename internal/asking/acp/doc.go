// Package acp is the Agent Client Protocol (versions 1 and 2) as package relay needs it: which messages of an agent are
// questions (elicitation/create in form mode and session/request_permission), whether the editor shows them as well, and
// what an answer looks like. It leaves their formats to pkg/dialect.
package acp
