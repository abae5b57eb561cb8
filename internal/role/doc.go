// Package role has each role of askbus as a process: up, server, broker, web,
// gateway, issuer, the posting surfaces; and doctor. It is the composition root:
// nothing imports it but main and the laboratory.
package role
