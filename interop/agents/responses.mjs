// A scripted model: OpenAI's Responses API on loopback, as model.mjs is Anthropic's. The last line
// "CALL <tool name> <input as JSON>" of a user's message is the tool call of the reply ("TYPE <text>" instead of the JSON
// for a tool of free text); any other reply is "done". Every request is appended to the file LOG.
//
// node responses.mjs LOG    prints its port, and serves until it is stopped
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
const [log] = process.argv.slice(2)
let calls = 0
createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  if (req.method !== 'POST' || !req.url.includes('/responses')) return res.writeHead(404).end()
  const request = JSON.parse(text)
  appendFileSync(log, JSON.stringify({ tools: (request.tools ?? []).map((tool) => tool.name ?? tool.type), input: request.input }) + '\n')
  const last = request.input.at(-1)
  const content = last.role === 'user' ? (last.content ?? []).map((p) => p.text ?? '').join('\n') : ''
  const call = content.match(/^CALL (\S+) (\{.*\})$/m)
  const free = content.match(/^CALL (\S+) TYPE ([^]*)$/m)
  const id = 'resp_' + ++calls
  let item = { type: 'message', role: 'assistant', id: 'msg_' + calls, content: [{ type: 'output_text', text: 'done' }] }
  if (call) {
    const [namespace, name] = call[1].includes('/') ? call[1].split('/') : [undefined, call[1]]
    item = { type: 'function_call', id: 'fc_' + calls, call_id: 'call_' + calls, name, namespace, arguments: call[2] }
  }
  if (free) item = { type: 'custom_tool_call', id: 'fc_' + calls, call_id: 'call_' + calls, name: free[1], input: free[2] }
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  const event = (type, body) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`)
  event('response.created', { response: { id } })
  event('response.output_item.done', { output_index: 0, item })
  event('response.completed', { response: { id, usage: { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 } } })
  res.end()
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
