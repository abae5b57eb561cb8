// Package cli has what the commands of a terminal share: their settings and
// output, connections with the least rights, finding an ask by a part of its
// name, exit codes. The commands lie below it by who types them: agent, person,
// operator. It links no NATS server.
package cli
