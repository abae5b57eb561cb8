// Microsoft's own connector client against the fake: posts, a thread in a channel, an edit, a member; and its own check of
// the tokens that the fake signs.
import connector from 'botframework-connector';
import extraction from 'botframework-connector/lib/auth/jwtTokenExtractor.js';

const { ConnectorClient } = connector;
const { JwtTokenExtractor } = extraction;

const { TEAMS_URL, TEAMS_METADATA, TEAMS_TENANT, TEAMS_APP, TEAMS_SECRET, TEAMS_TOKEN, TEAMS_OTHER, ROOM, CHANNEL, MEMBER } = process.env;
const say = (name, value) => console.log(JSON.stringify({ name, ...value }));

const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: TEAMS_APP, client_secret: TEAMS_SECRET, scope: 'https://api.botframework.com/.default' });
const { access_token } = await (await fetch(`${TEAMS_URL}/${TEAMS_TENANT}/oauth2/v2.0/token`, { method: 'POST', body })).json();
const signed = (token) => ({ signRequest: async (request) => { request.headers.set('Authorization', `Bearer ${token}`); return request; } });
const client = new ConnectorClient(signed(access_token), { baseUri: TEAMS_URL, noRetryPolicy: true });
const tried = async (name, f) => {
  try { say(name, await f()); } catch (e) { say(name, { status: e.statusCode, code: e.body?.error?.code ?? e.details?.error?.code }); }
};
const card = { contentType: 'application/vnd.microsoft.card.adaptive', content: { type: 'AdaptiveCard', version: '1.5', body: [{ type: 'TextBlock', text: 'hi' }] } };

let id;
await tried('post', async () => ({ posted: !!(id = (await client.conversations.sendToConversation(ROOM, { type: 'message', attachments: [card] })).id) }));
await tried('edit', async () => ({ same: (await client.conversations.updateActivity(ROOM, id, { type: 'message', text: 'done' })).id === id }));
await tried('edit nothing', async () => client.conversations.updateActivity(ROOM, '1', { type: 'message', text: 'done' }));
await tried('thread', async () => {
  const made = await client.conversations.createConversation({ isGroup: true, bot: { id: '28:' + TEAMS_APP }, channelData: { channel: { id: CHANNEL } }, activity: { type: 'message', attachments: [card] } });
  return { thread: made.id === `${CHANNEL};messageid=${made.activityId}` };
});
await tried('a channel is no conversation', async () => client.conversations.sendToConversation(CHANNEL, { type: 'message', text: 'hi' }));
await tried('too large', async () => client.conversations.sendToConversation(ROOM, { type: 'message', text: 'x'.repeat(60_000) }));
await tried('member', async () => ({ role: (await client.conversations.getConversationMember(ROOM, MEMBER)).userRole }));
await tried('stranger', async () => client.conversations.getConversationMember(ROOM, '29:nobody'));
const stranger = new ConnectorClient(signed('wrong'), { baseUri: TEAMS_URL, noRetryPolicy: true });
await tried('a wrong token', async () => stranger.conversations.sendToConversation(ROOM, { type: 'message', text: 'hi' }));

const check = { issuer: ['https://api.botframework.com'], audience: TEAMS_APP, clockTolerance: 300, ignoreExpiration: false };
const extractor = new JwtTokenExtractor(check, TEAMS_METADATA, ['RS256']);
console.error = () => {}; // it prints what it refuses
const identity = async (token, channel) => {
  try {
    const claims = await extractor.getIdentityFromAuthHeader(token, channel);
    return { authenticated: !!claims?.isAuthenticated, serviceurl: claims?.getClaimValue('serviceurl') === TEAMS_URL };
  } catch { return { authenticated: false }; }
};
say('token', await identity(TEAMS_TOKEN, 'msteams'));
say('token for another channel', await identity(TEAMS_TOKEN, 'webchat'));
say('token for another app', await identity(TEAMS_OTHER, 'msteams'));
