// The questions of an agent built with the Claude Agent SDK are answered by people on any screen, who permit its tools
// there, too. A question is withdrawn when the turn is interrupted.
import { query } from '@anthropic-ai/claude-agent-sdk'
import { canUseTool } from 'askbus/claude'

const options = { canUseTool: canUseTool(), pathToClaudeCodeExecutable: process.env.CLAUDE_CODE } // without it, the SDK's own
for await (const message of query({ prompt: 'Deploy the build to production.', options })) {
  if (message.type === 'result') console.log(message.result)
}
