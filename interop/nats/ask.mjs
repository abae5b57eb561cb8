// An unmodified NATS client and the CloudEvents SDK: asks in both modes, gets
// the outcomes on its reply inbox, and pages through list.
import { connect, credsAuthenticator, headers, createInbox } from '@nats-io/transport-node';
import { CloudEvent, HTTP } from 'cloudevents';

const cred = JSON.parse(process.env.CREDENTIAL);
const nc = await connect({ servers: cred.url, authenticator: credsAuthenticator(new TextEncoder().encode(cred.creds)), inboxPrefix: cred.inbox_prefix });
const [, tenant, session] = cred.name.split('/');
const say = (what) => console.log(JSON.stringify(what));

const asked = (id) => new CloudEvent({
  type: 'dev.askbus.ask.requested.v1', source: `/interop/${session}`, subject: id, datacontenttype: 'application/json',
  data: { id, title: 'Grüße, 世界', questions: [{ id: 'db', text: 'Which database?', options: [{ id: 'pg', label: 'PostgreSQL' }, { id: 'lite', label: 'SQLite' }] }] },
});

// send turns the SDK's HTTP message into a NATS message, header by header.
async function send(id, mode) {
  const message = HTTP[mode](asked(id));
  const h = headers();
  for (const [name, value] of Object.entries(message.headers)) h.set(name, encodeURIComponent(value).replace(/%2F/g, '/').replace(/%3A/g, ':').replace(/%2B/g, '+').replace(/%3B/g, ';').replace(/%20charset%3D/g, 'charset='));
  h.set('Askbus-Wait', '60s');
  const reply = await nc.request(`askv1.${tenant}.${session}.ask.${id}`, message.body, { headers: h, timeout: 70000 });
  const got = {};
  for (const [name, values] of reply.headers) got[name.toLowerCase()] = values[0];
  const event = HTTP.toEvent({ headers: got, body: reply.string() });
  say({ id, mode, structured: (got['content-type'] ?? '').startsWith('application/cloudevents+json'), type: event.type, subject: event.subject, valid: event.validate(), data: event.data });
}

await Promise.all([send('binary', 'binary'), send('structured', 'structured')]);

// Twelve more, without waiting, then all of them in pages of five.
for (let i = 0; i < 12; i++) {
  const message = HTTP.structured(asked(`page-${i}`));
  const h = headers();
  h.set('Content-Type', 'application/cloudevents+json');
  await nc.request(`askv1.${tenant}.${session}.ask.page-${i}`, message.body, { headers: h, timeout: 10000 });
}
const seen = [];
let cursor, pages = 0;
do {
  const page = (await nc.request(`askv1.${tenant}.${session}.list`, JSON.stringify({ state: 'pending', limit: 5, cursor }), { timeout: 10000 })).json();
  seen.push(...page.items.map((item) => item.ask.id));
  cursor = page.next;
  pages++;
} while (cursor && pages < 50);
say({ seen, pages });

// A reply inbox that is not its own is never answered.
const foreign = createInbox('_INBOX');
nc.publish(`askv1.${tenant}.${session}.ask.foreign`, HTTP.structured(asked('foreign')).body, { reply: foreign });
await nc.flush();
const gone = await nc.request(`askv1.${tenant}.${session}.get.foreign`, '', { timeout: 10000 });
say({ code: gone.headers?.get('Nats-Service-Error-Code'), problem: gone.json().code });
await nc.drain();
