// The questions of an agent built with the Claude Agent SDK are answered by people on any screen, who permit its tools
// there, too. (The callback in examples/sdk-callback also withdraws a question when the turn is interrupted.)
import { query } from '@anthropic-ai/claude-agent-sdk'
import { askbus } from './askbus.mjs'

const deny = (message) => ({ behavior: 'deny', message })

async function canUseTool(name, input, { toolUseID, description }) {
  if (name === 'AskUserQuestion') {
    const { answers, annotations, text } = await askbus(toolUseID, input, 'claude-code')
    return Object.keys(answers).length ? { behavior: 'allow', updatedInput: { ...input, answers, annotations } } : deny(text)
  }
  const outcome = await askbus(toolUseID, {
    context: [description, JSON.stringify(input, null, 2)].filter(Boolean).join('\n\n'),
    questions: [{ id: 'ok', kind: 'boolean', text: `May the agent use ${name}?` }],
  })
  const answer = outcome.answers?.[0]
  if (answer?.boolean) return { behavior: 'allow', updatedInput: input }
  return deny(answer?.notes ?? outcome.reason ?? `The answer is no (${outcome.status}).`)
}

const options = { canUseTool, pathToClaudeCodeExecutable: process.env.CLAUDE_CODE } // without it, the SDK's own
for await (const message of query({ prompt: 'Deploy the build to production.', options })) {
  if (message.type === 'result') console.log(message.result)
}
