// A server of the MCP SDK elicits a form from its client, whose person is at askbus.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { elicitation } from 'askbus/mcp'

const server = new McpServer({ name: 'shop', version: '1' })
server.registerTool('buy', { description: 'Buys.' }, async () => {
  const form = { type: 'object', properties: { ok: { type: 'boolean', title: 'Buy it?' } }, required: ['ok'] }
  return { content: [{ type: 'text', text: JSON.stringify(await server.server.elicitInput({ message: 'It is 5 €.', requestedSchema: form })) }] }
})
const client = new Client({ name: 'agent', version: '1' }, { capabilities: { elicitation: {} } })
client.setRequestHandler(ElicitRequestSchema, elicitation())
const [a, b] = InMemoryTransport.createLinkedPair()
await Promise.all([server.connect(a), client.connect(b)])
console.log((await client.callTool({ name: 'buy' })).content[0].text)
await client.close()
