// An app as its makers' guide has it: Bolt, unmodified, over Socket Mode or HTTP. It prints what it hears, a line of
// JSON each, and "ready" when it listens.
import bolt from '@slack/bolt'

const env = process.env
const say = (what) => console.log(JSON.stringify(what))
const socketMode = env.SLACK_PORT === undefined
const app = new bolt.App({
  token: env.SLACK_BOT_TOKEN,
  appToken: env.SLACK_APP_TOKEN,
  signingSecret: env.SLACK_SIGNING_SECRET,
  socketMode,
  logLevel: 'error',
  clientOptions: { slackApiUrl: env.SLACK_API_URL },
})

app.action('pick', async ({ ack, body, client, action }) => {
  await ack()
  say({ click: action.value, user: body.user.id, team: body.team.id, state: body.state?.values })
  await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: `chosen: ${action.value}`, blocks: [] })
})

app.action('boxes', async ({ ack, action }) => {
  await ack()
  say({ boxes: action.selected_options.map((o) => o.value) })
})

app.action('form', async ({ ack, body, client }) => {
  await ack()
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: 'modal', callback_id: 'answer', private_metadata: 'the ask',
      title: { type: 'plain_text', text: 'Answer' }, submit: { type: 'plain_text', text: 'Send' },
      blocks: [{ type: 'input', block_id: 'q', label: { type: 'plain_text', text: 'Why?' }, element: { type: 'plain_text_input', action_id: 'text' } }],
    },
  })
  say({ opened: true })
})

app.view('answer', async ({ ack, view, body }) => {
  const text = view.state.values.q.text.value
  if (text === 'no') {
    await ack({ response_action: 'errors', errors: { q: 'Please say more.' } })
  } else {
    await ack()
  }
  say({ submitted: text, user: body.user.id, metadata: view.private_metadata })
})

app.message(async ({ message, say: reply }) => {
  say({ message: message.text, thread: message.thread_ts })
  await reply({ text: `heard: ${message.text}`, thread_ts: message.thread_ts ?? message.ts })
})

app.event('app_home_opened', async ({ event, client }) => {
  await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '*Nothing waits.*' } }] } })
  say({ home: event.user })
})

app.command('/askbus', async ({ ack, command, respond }) => {
  await ack({ text: `you typed ${command.text}` })
  await respond({ text: 'and more', response_type: 'ephemeral' })
  say({ command: command.text })
})

app.error(async (error) => say({ error: String(error) }))

await app.start(socketMode ? undefined : Number(env.SLACK_PORT))
console.log('ready')
process.stdin.resume()
process.stdin.on('end', async () => {
  if (socketMode) await app.stop() // over HTTP it waits for idle connections, which the other end keeps for 90 s
  process.exit(0)
})
