// A scripted model: Anthropic's Messages API on loopback. The prompt says what the model does: the text
// of the user's last message may have lines "CALL <tool name> <input as JSON>", which are the tool calls of the
// first reply; a reply to tool results is the text "done". Every request is appended to the file LOG.
//
// node model.mjs LOG    prints its port, and serves until it is stopped
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'

const [log] = process.argv.slice(2)
let calls = 0

function textOf(content) {
  if (typeof content === 'string') return content
  return content.filter((part) => part.type === 'text').map((part) => part.text).join('\n')
}

// reply returns the content of the model's message.
function reply(request) {
  const content = request.messages.findLast((message) => message.role === 'user')?.content ?? ''
  const results = Array.isArray(content) ? content.findLastIndex((part) => part.type === 'tool_result') : -1
  const wanted = request.tools?.length ? [...textOf(results < 0 ? content : content.slice(results + 1)).matchAll(/^CALL (\S+) (\{.*\})$/gm)] : []
  if (wanted.length === 0) return [{ type: 'text', text: results < 0 ? 'nothing to do' : 'done' }]
  return wanted.map(([, name, input]) => ({ type: 'tool_use', id: `toolu_${process.pid}_${++calls}`, name, input: JSON.parse(input) }))
}

function events(request, content) {
  const stop_reason = content[0].type === 'tool_use' ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: 1, output_tokens: 1 }
  const list = [{ type: 'message_start', message: { id: `msg_${calls}`, type: 'message', role: 'assistant', model: request.model, content: [], stop_reason: null, stop_sequence: null, usage } }]
  content.forEach((part, index) => {
    const start = part.type === 'text' ? { type: 'text', text: '' } : { ...part, input: {} }
    const delta = part.type === 'text' ? { type: 'text_delta', text: part.text } : { type: 'input_json_delta', partial_json: JSON.stringify(part.input) }
    list.push({ type: 'content_block_start', index, content_block: start }, { type: 'content_block_delta', index, delta }, { type: 'content_block_stop', index })
  })
  list.push({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage }, { type: 'message_stop' })
  return list
}

const server = createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  const json = (value) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  const { pathname } = new URL(req.url, 'http://model')
  if (pathname.endsWith('/count_tokens')) return json({ input_tokens: 1 })
  if (req.method !== 'POST' || !pathname.endsWith('/messages')) return res.writeHead(404).end()
  const request = JSON.parse(text)
  const content = reply(request)
  appendFileSync(log, JSON.stringify({ tools: (request.tools ?? []).map((tool) => tool.name), messages: request.messages, reply: content }) + '\n')
  if (!request.stream) return json({ id: `msg_${calls}`, type: 'message', role: 'assistant', model: request.model, content, stop_reason: content[0].type === 'tool_use' ? 'tool_use' : 'end_turn', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } })
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events(request, content)) res.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  res.end()
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
