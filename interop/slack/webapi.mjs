// Calls of @slack/web-api, unmodified: each prints what came of it, a line of JSON each.
import { WebClient } from '@slack/web-api'

const env = process.env
const web = new WebClient(env.SLACK_BOT_TOKEN, { slackApiUrl: env.SLACK_API_URL, rejectRateLimitedCalls: true, retryConfig: { retries: 0 }, logLevel: 'error' })
const section = (text) => ({ type: 'section', text: { type: 'mrkdwn', text } })
const button = (text) => ({ type: 'actions', elements: [{ type: 'button', action_id: 'b', text: { type: 'plain_text', text } }] })
let ts

async function call(name, f) {
  try {
    const result = await f()
    console.log(JSON.stringify({ name, ok: true, ...(result ?? {}) }))
  } catch (e) {
    console.log(JSON.stringify({ name, ok: false, code: e.code, error: e.data?.error, retryAfter: e.retryAfter, messages: e.data?.response_metadata?.messages, needed: e.data?.needed }))
  }
}

await call('auth', async () => ({ team: (await web.auth.test()).team_id }))
await call('post', async () => {
  const posted = await web.chat.postMessage({ channel: 'C1', text: 'fallback', blocks: [section('question'), button('PostgreSQL')], metadata: { event_type: 'askbus', event_payload: { key: 'k1' } } })
  ts = posted.ts
  return { channel: posted.channel, blocks: posted.message.blocks.length }
})
await call('post 3,900 characters', async () => { await web.chat.postMessage({ channel: 'C1', text: 'x'.repeat(3900) }) })
await call('post 5,000 characters', async () => { await web.chat.postMessage({ channel: 'C1', text: 'x'.repeat(5000) }) })
await call('update 4,001 characters', () => web.chat.update({ channel: 'C1', ts, text: 'x'.repeat(4001) }))
await call('section 3,001', () => web.chat.update({ channel: 'C1', ts, text: 't', blocks: [section('x'.repeat(3001))] }))
await call('51 blocks', () => web.chat.postMessage({ channel: 'C1', text: 't', blocks: Array.from({ length: 51 }, () => section('x')) }))
await call('button 76', () => web.chat.postMessage({ channel: 'C1', text: 't', blocks: [button('x'.repeat(76))] }))
await call('nothing', () => web.chat.postMessage({ channel: 'C2' }))
await call('no channel', () => web.chat.postMessage({ channel: 'C404', text: 't' }))
await call('archived', () => web.chat.postMessage({ channel: 'COLD', text: 't' }))
await call('update nothing', () => web.chat.update({ channel: 'C1', ts: '1.000001', text: 't' }))
await call('update', async () => ({ text: (await web.chat.update({ channel: 'C1', ts, text: 'done', blocks: [section('done')] })).text }))
await call('history', async () => ({ keys: (await web.conversations.history({ channel: 'C1', include_all_metadata: true })).messages.map((m) => m.metadata?.event_payload?.key ?? '') }))
await call('ephemeral to a stranger', () => web.chat.postEphemeral({ channel: 'C1', user: 'UGONE', text: 't' }))
await call('group', async () => ({ users: (await web.usergroups.users.list({ usergroup: 'S1' })).users }))
await call('dm', async () => ({ dm: (await web.conversations.open({ users: 'U1' })).channel.id.startsWith('D') }))
await call('by e-mail', async () => ({ user: (await web.users.lookupByEmail({ email: 'mei@example.com' })).user.id }))
await call('link', async () => ({ link: (await web.chat.getPermalink({ channel: 'C1', message_ts: ts })).permalink }))
await call('view with a dead trigger', () => web.views.open({ trigger_id: 'no', view: { type: 'modal', title: { type: 'plain_text', text: 't' }, blocks: [section('x')] } }))
await call('file', async () => ({ files: (await web.filesUploadV2({ channel_id: 'C1', thread_ts: ts, filename: 'shot.png', file: Buffer.from('png') })).files.length }))
await call('file of nothing', () => web.files.getUploadURLExternal({ filename: 'shot.png', length: 0 }))
await call('no file', () => web.files.completeUploadExternal({ files: [{ id: 'F404' }], channel_id: 'C1' }))
await call('storm', async () => { for (let i = 0; i < 60; i++) await web.chat.update({ channel: 'C1', ts, text: `${i}` }) })
