// An official MCP client that finds out by itself how to sign in, with the SDK's own OAuth:
//
//   node mcp.mjs '{"sdk":1,"url":"http://…/mcp","client":"an-editor","call":{…}}'
//
// Without a client it registers itself. It says {"authorize":…}, and reads {"code":…} of the person's browser from standard input.
import { createInterface } from 'node:readline'

const plan = JSON.parse(process.argv[2])
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const { Client, StreamableHTTPClientTransport, UnauthorizedError } = plan.sdk === 2
  ? await import('@modelcontextprotocol/client')
  : {
      ...await import('@modelcontextprotocol/sdk/client/index.js'), ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ...await import('@modelcontextprotocol/sdk/client/auth.js'),
    }

const kept = { client: plan.client ? { client_id: plan.client } : undefined }
const authProvider = {
  redirectUrl: 'http://127.0.0.1:1/callback',
  clientMetadata: {
    client_name: 'an editor', redirect_uris: ['http://127.0.0.1:1/callback'], token_endpoint_auth_method: 'none', application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
  },
  clientInformation: () => kept.client,
  saveClientInformation: (c) => { kept.client = c; say({ registered: c.client_id }) },
  tokens: () => kept.tokens,
  saveTokens: (t) => { kept.tokens = t; say({ token: t.access_token, type: t.token_type }) },
  redirectToAuthorization: (url) => { say({ authorize: String(url) }) },
  saveCodeVerifier: (v) => { kept.verifier = v },
  codeVerifier: () => kept.verifier,
}

const connect = async () => {
  const client = new Client({ name: 'an editor', version: '1.0.0' }, { capabilities: {} })
  const transport = new StreamableHTTPClientTransport(new URL(plan.url), { authProvider })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    const { value } = await lines.next()
    await transport.finishAuth(plan.sdk === 2 ? new URLSearchParams(JSON.parse(value)) : JSON.parse(value).code)
    return undefined
  }
}
try {
  const client = await connect() ?? await connect()
  say({ connected: true, tools: (await client.listTools()).tools.map((t) => ({ name: t.name })) })
  const result = plan.sdk === 2 ? await client.callTool(plan.call) : await client.callTool(plan.call, undefined, { timeout: 120_000 })
  say({ index: 0, text: result.content?.[0]?.text, isError: !!result.isError })
  await client.close()
} catch (error) {
  say({ refused: String(error?.stack ?? error) })
}
process.exit(0)
