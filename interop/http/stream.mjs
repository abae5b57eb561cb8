// The package eventsource, unmodified, reads a session's asks; what it reads is withdrawn.
import { EventSource } from 'eventsource'

const base = `${process.env.ASKBUS_HTTP_URL}/t/${process.env.ASKBUS_TOKEN}/v1`
const events = new EventSource(`${base}/events`)
for (const name of ['reset', 'ask', 'outcome', 'synced']) {
  events.addEventListener(name, (e) => {
    const { ask_id = '', status = '' } = JSON.parse(e.data)
    console.log(`${name} ${ask_id} ${status}`.trim(), name === 'synced' && e.lastEventId ? 'with an id' : '')
    if (name === 'ask') fetch(`${base}/asks/screen/${ask_id}`, { method: 'DELETE' })
    if (name === 'outcome') events.close()
  })
}
