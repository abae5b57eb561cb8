// A foreign OpenID Connect provider, oidc-provider of npm, with its own pages for signing in:
//
//   node provider.mjs '{"inbox":"http://127.0.0.1:8420","mcp":"http://127.0.0.1:8420/mcp"}'
//
// It says {"issuer":…} when it listens, and then one JSON object for each thing that happens. Whoever signs in as mei, tom, ana or eve is
// that person; the password is not looked at. Lines on standard input change it: {"groups":{"mei":["sales"]}}, {"gone":["tom"]}.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import Provider from 'oidc-provider'

console.info = console.error // what it notes is not one of our events
const plan = JSON.parse(process.argv[2])
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')
const groups = { mei: ['platform'], tom: ['platform'], ana: ['readers'], eve: ['sales'] }
const gone = new Set()

const server = createServer()
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const issuer = `http://127.0.0.1:${server.address().port}`

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'askbus', client_secret: 'a secret of the test', grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [plan.inbox + '/login/oidc/callback'], backchannel_logout_uri: plan.inbox + '/login/oidc/logout', backchannel_logout_session_required: true,
    },
    {
      client_id: 'an-editor', token_endpoint_auth_method: 'none', application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'], redirect_uris: ['http://127.0.0.1:1/callback'],
    },
    { client_id: 'ci', client_secret: 'a secret of the build', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
  ],
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
  scopes: ['openid', 'offline_access', 'profile', 'email', 'groups', 'askbus'],
  pkce: { required: () => true },
  async findAccount(_, sub) {
    if (!(sub in groups) || gone.has(sub)) return undefined
    return { accountId: sub, claims: async () => ({ sub, name: sub[0].toUpperCase() + sub.slice(1), email: sub + '@example.com', email_verified: true, groups: groups[sub] }) }
  },
  async extraTokenClaims(_, token) { return { groups: groups[token.accountId] } },
  // Its dispatcher refuses loopback addresses, where this inbox is.
  fetch: (url, { dispatcher, ...options }) => { say({ calls: String(url) }); return fetch(url, options) },
  ttl: { AccessToken: 600, Session: 3600, Grant: 3600, IdToken: 600, RefreshToken: 3600, Interaction: 600 },
  cookies: { keys: ['a key of the test'] },
  features: {
    backchannelLogout: { enabled: true },
    registration: { enabled: true },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: 'askbus', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: plan.life ?? 600, jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
})
// Its pages for trying out load a font from elsewhere, and a browser complains of their fields.
provider.use(async (ctx, next) => {
  await next()
  if (typeof ctx.body === 'string') ctx.body = ctx.body.replace(/@import url\([^)]*\);/g, '').replace('type="text"', 'type="text" autocomplete="username"').replace('type="password"', 'type="password" autocomplete="current-password"')
})
provider.on('grant.success', (ctx) => say({ grant: ctx.oidc.params.grant_type, client: ctx.oidc.client.clientId }))
provider.on('grant.error', (ctx, error) => say({ grant: ctx.oidc.params?.grant_type, error: String(error.error_description ?? error) }))
provider.on('server_error', (_, error) => say({ error: String(error.stack) }))
provider.on('backchannel.success', (_, client, sub) => say({ logout: sub, client: client.clientId }))
provider.on('backchannel.error', (_, error) => say({ error: String(error) }))
server.on('request', provider.callback())
say({ issuer })

for await (const line of createInterface({ input: process.stdin })) {
  const change = JSON.parse(line)
  Object.assign(groups, change.groups)
  for (const sub of change.gone ?? []) gone.add(sub)
  say({ changed: true })
}
