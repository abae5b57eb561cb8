// Drives one official MCP client as a test tells it, and says what happens, one JSON object a line:
//
//   node client.mjs '{"sdk":2,"mode":"auto","url":"http://…/mcp","token":"…","form":"accept",
//                     "calls":[{"tool":"AskUserQuestion","args":{…},"timeout":60000,"progress":true,"reset":true}]}'
//
// Without a url, command and args are started on standard input and output. The calls are made one after the other;
// with "together": true all at once. A form waits for a line on standard input, which is its result.
import { createInterface } from 'node:readline'

const plan = JSON.parse(process.argv[2])
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const v1 = async () => {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
  return {
    Client, StdioClientTransport, StreamableHTTPClientTransport, options: {},
    onForm: (client, handle) => client.setRequestHandler(ElicitRequestSchema, handle),
    call: (client, params, options) => client.callTool(params, undefined, options),
  }
}

const v2 = async () => {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  return {
    Client, StdioClientTransport, StreamableHTTPClientTransport,
    options: plan.mode ? { versionNegotiation: { mode: plan.mode } } : {},
    onForm: (client, handle) => client.setRequestHandler('elicitation/create', handle),
    call: (client, params, options) => client.callTool(params, options),
  }
}

const sdk = await (plan.sdk === 2 ? v2() : v1())
const client = new sdk.Client({ name: 'interop', version: '1.0.0' }, {
  capabilities: plan.form ? { elicitation: { form: {} } } : {}, ...sdk.options,
})
if (plan.form) {
  sdk.onForm(client, async (request, extra) => {
    say({ form: request.params })
    extra?.signal?.addEventListener('abort', () => say({ closed: true }))
    extra?.mcpReq?.signal?.addEventListener('abort', () => say({ closed: true }))
    const { value } = await lines.next()
    return JSON.parse(value)
  })
}
const transport = plan.url
  ? new sdk.StreamableHTTPClientTransport(new URL(plan.url), { reconnectionOptions: plan.reconnect, requestInit: { headers: {
      Authorization: 'Bearer ' + plan.token, ...(plan.host ? { 'Askbus-Host-Authorization': 'Bearer ' + plan.host } : {}),
    } } })
  : new sdk.StdioClientTransport({ command: plan.command, args: plan.args, env: { ...process.env, ...plan.env } })
try {
  await client.connect(transport)
} catch (error) {
  say({ refused: String(error?.message ?? error) })
  process.exit(1)
}
say({ connected: true, tools: (await client.listTools()).tools.map((t) => ({ name: t.name, annotations: t.annotations, schema: t.inputSchema })) })

const one = async ({ tool, args, timeout, progress, reset, resume }, index) => {
  const began = Date.now()
  const options = { timeout, resetTimeoutOnProgress: reset }
  if (resume) options.onresumptiontoken = () => say({ resumable: true })
  if (progress) options.onprogress = (p) => say({ progress: p.progress, index })
  try {
    const result = await sdk.call(client, { name: tool, arguments: args }, options)
    say({ index, result: result.structuredContent, text: result.content?.[0]?.text, isError: !!result.isError, took: Date.now() - began })
  } catch (error) {
    say({ index, error: String(error?.message ?? error), code: error?.code, took: Date.now() - began })
  }
}
if (plan.together) await Promise.all(plan.calls.map(one))
else for (const [index, call] of plan.calls.entries()) {
  await one(call, index)
  if (call.then === 'line') await lines.next()
}
await client.close()
process.exit(0)
