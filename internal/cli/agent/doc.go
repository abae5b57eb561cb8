// Package agent has the commands of agents and of those who connect them: ask,
// wait, get, withdraw, mcp, hook, acp, transcript.
package agent
