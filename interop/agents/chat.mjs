// A scripted model: OpenAI's Chat Completions API on loopback, as model.mjs is Anthropic's. The last line
// "CALL <tool name> <input as JSON>" of a user's message is the tool call of the reply; any other reply is "done".
// Every request is appended to the file LOG.
//
// node chat.mjs LOG    prints its port, and serves until it is stopped
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
const [log] = process.argv.slice(2)
let calls = 0
createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  if (!req.url.includes('/chat/completions')) return res.writeHead(404).end()
  const request = JSON.parse(text)
  appendFileSync(log, JSON.stringify({ tools: (request.tools ?? []).map((tool) => tool.function?.name ?? tool.custom?.name), messages: request.messages }) + '\n')
  const last = request.messages.at(-1)
  const content = typeof last.content === 'string' ? last.content : (last.content ?? []).map((p) => p.text ?? '').join('\n')
  const call = last.role === 'user' && request.tools?.length ? content.match(/^CALL (\S+) (\{.*\})$/m) : null
  const delta = call ? { role: 'assistant', tool_calls: [{ index: 0, id: 'call_' + ++calls, type: 'function', function: { name: call[1], arguments: call[2] } }] } : { role: 'assistant', content: 'done' }
  const base = { id: 'c' + calls, object: 'chat.completion.chunk', created: 1, model: request.model }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  if (!request.stream) return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...base, object: 'chat.completion', choices: [{ index: 0, message: delta, finish_reason: call ? 'tool_calls' : 'stop' }], usage }))
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`)
  res.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }], usage })}\n\n`)
  res.end('data: [DONE]\n\n')
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
