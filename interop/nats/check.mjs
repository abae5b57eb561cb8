// An independent checker of the promises of docs/guarantees.md: it knows the
// text of docs/protocol.md and an unmodified NATS client, and no code of ours.
//
//   AGENT=… SURFACE=… ASKS=300 node nats/check.mjs      (credentials as "askbus auth … --output json" prints them)
//
// It races answers of two people, withdrawals, waits and the deadline on every
// ask, compares what each party was told, and prints how many asks are over,
// then figures and violations.
import { connect, credsAuthenticator, headers } from '@nats-io/transport-node';

const agent = JSON.parse(process.env.AGENT), surface = JSON.parse(process.env.SURFACE);
const total = Number(process.env.ASKS ?? 300), open = Number(process.env.OPEN ?? 20);
const dial = (c) => connect({ servers: c.url.split(','), authenticator: credsAuthenticator(new TextEncoder().encode(c.creds)), inboxPrefix: c.inbox_prefix, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
const [a, s] = await Promise.all([dial(agent), dial(surface)]);
const [, tenant, session] = agent.name.split('/'), [, type] = surface.name.split('/');
// The surface names itself in the subject, where NATS checks it, and shows its own JWT with what it says of others.
const jwt = surface.creds.split('\n').find((line) => line.startsWith('ey')).trim();
const key = JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url')).sub;
const run = Date.now().toString(36), sleep = (ms) => new Promise((done) => setTimeout(done, Math.max(0, ms)));
const violations = [], figures = { asks: 0, answered: 0, withdrawn: 0, expired: 0, late: 0, repeats: 0, reused: 0, retries: 0 };
const wrong = (id, rule, what) => violations.push({ id, rule, what });

// say sends one event until somebody answers: every command may be repeated. It
// gives the kind of the reply and its data; a refusal has its HTTP status.
async function say(nc, subject, kind, id, data, wait) {
  const body = kind ? JSON.stringify({ specversion: '1.0', id: `${id}-${kind}-${run}`, source: '/interop/check', type: kind, subject: id, datacontenttype: 'application/json', data }) : '';
  for (let tries = 0; ; tries++) {
    const h = headers();
    h.set('Content-Type', 'application/cloudevents+json');
    if (wait) h.set('Askbus-Wait', wait);
    if (nc === s) h.set('Askbus-Credential', jwt);
    try {
      const m = await nc.request(subject, body, { headers: h, timeout: 8000 });
      const code = Number(m.headers?.get('Nats-Service-Error-Code') || 0);
      if (code === 503) throw new Error('unavailable');
      if (code === 500) wrong(id, 'never-internal', m.string());
      if (code) return { code, data: m.json() };
      const event = m.json();
      return { code: 0, type: event.type, data: event.data };
    } catch (err) {
      figures.retries++;
      if (tries > 60) return { code: -1, data: String(err) };
      await sleep(Math.min(2000, 50 * 2 ** tries));
    }
  }
}

const at = (verb, id) => `askv1.${tenant}.${session}.${verb}.${id}`;
const question = (id, text, timeout) => ({ id, timeout, title: `checked ${id}`, questions: [{ id: 'go', text, options: [{ id: 'yes', label: 'Yes' }, { id: 'no', label: 'No' }] }] });
const truth = (o) => JSON.stringify([o.status, o.answer_id ?? '', o.by?.principal ?? '', o.answers ?? [], o.at]);

async function one(i) {
  const id = `check-${run}-${i}`, seconds = 1 + (i % 2), ask = question(id, 'Shall we?', `${seconds}s`);
  const began = Date.now();
  const stored = await say(a, at('ask', id), 'dev.askbus.ask.requested.v1', id, ask);
  if (stored.code) return wrong(id, 'ask-kept', `asking failed: ${JSON.stringify(stored)}`);
  figures.asks++;
  const due = Date.parse(stored.data.deadline), told = [];
  if (due < began + seconds * 1000 - 250 || due > Date.now() + seconds * 1000 + 250) wrong(id, 'clock', `deadline ${stored.data.deadline}, asked at ${new Date(began).toISOString()}`);
  const hear = (who, r) => {
    if (r.type === 'dev.askbus.ask.resolved.v1') told.push({ who, o: r.data });
    else if (r.data?.outcome) told.push({ who, o: r.data.outcome });
    else if (r.code === 404) wrong(id, 'ask-kept', `${who} was told that there is no such ask`);
    return r;
  };
  // Two people, an agent that takes it back, one that waits; half of them at the deadline.
  const aim = i % 3 === 0 ? due - Date.now() - 60 + Math.random() * 200 : Math.random() * 700;
  const acts = ['mei', 'ada'].map(async (who, n) => {
    if (i % 5 === 4) return; // nobody answers
    await sleep(aim + n * Math.random() * 20);
    const r = hear(who, await say(s, `ansv1.${type}.${key}.${tenant}.${session}.answer.${id}`, 'dev.askbus.answer.given.v1', id,
      { ask_id: id, answer_id: `${who}-${i}`, answers: [{ question_id: 'go', selected: [n ? 'no' : 'yes'] }], by: { principal: `os:${who}`, proof: 'os' } }));
    if (!r.code && r.data.answer_id !== `${who}-${i}`) wrong(id, 'answer-kept', `${who} was told to have won with ${r.data.answer_id}`);
    if (r.code && ![409, 410].includes(r.code)) wrong(id, 'answer-kept', `${who} got ${r.code} ${JSON.stringify(r.data)}`);
    if (r.code === 410) figures.late++;
    if (r.code === 410 && Date.now() < due - 500) wrong(id, 'clock', `${who} was told "too late" in time`);
  });
  if (i % 7 === 0) acts.push(sleep(aim).then(async () => hear('withdrawer', await say(a, at('withdraw', id), 'dev.askbus.ask.withdrawn.v1', id, { ask_id: id, reason: 'changed my mind' }))));
  acts.push((async () => {
    for (let n = 0; n < 20; n++) { // as the status says: retry with wait
      const r = hear('waiter', await say(a, at('wait', id), '', id, null, '2s'));
      if (r.type === 'dev.askbus.ask.resolved.v1') return;
      if (!r.code && (r.data.retry !== 'wait' || !r.data.holder)) wrong(id, 'go-on', JSON.stringify(r.data));
    }
    wrong(id, 'ends', 'it did not end');
  })());
  await Promise.all(acts);
  const got = hear('reader', await say(a, at('get', id)));
  if (got.data?.state !== 'resolved') return wrong(id, 'ends', JSON.stringify(got));
  const end = got.data.outcome;
  figures[end.status]++;
  if (Date.parse(end.at) > Date.now() + 250 || Date.parse(end.at) < Date.parse(got.data.asked_at)) wrong(id, 'clock', `asked ${got.data.asked_at}, ended ${end.at}`);
  for (const t of told) if (truth(t.o) !== truth(end)) wrong(id, 'one-outcome', `${t.who} was told ${truth(t.o)}, stored is ${truth(end)}`);
  if (i % 4 === 0) { // the same again, and another one under its id
    figures.repeats++;
    const again = hear('again', await say(a, at('ask', id), 'dev.askbus.ask.requested.v1', id, ask));
    if (again.code || again.data.state !== 'resolved' || truth(again.data.outcome) !== truth(end)) wrong(id, 'told-as-stored', JSON.stringify(again));
    const other = await say(a, at('ask', id), 'dev.askbus.ask.requested.v1', id, question(id, 'Another one?', '1s'));
    figures.reused++;
    if (other.code !== 409) wrong(id, 'ask-kept', `another question got ${JSON.stringify(other)}`);
  }
}

let next = 0, over = 0;
const done = () => { if (++over % 10 === 0) console.log(JSON.stringify({ over })); };
await Promise.all(Array.from({ length: open }, async () => { while (next < total) { await one(next++); done(); } }));
console.log(JSON.stringify({ figures, violations: violations.slice(0, 20), violated: violations.length }));
await Promise.all([a.close(), s.close()]);
process.exit(violations.length ? 1 : 0);
