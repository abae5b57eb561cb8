// Tries the Mattermost surface with a Mattermost server of yours: it makes people, a bot and a channel there, starts askbus,
// and answers asks as these people do, with the calls that Mattermost's own client makes. It draws nothing.
//
//   node interop/mattermost/drill.mjs http://127.0.0.1:8065 ADMIN PASSWORD [CALLBACK]
//
// The server must allow bots, tokens (EnableUserAccessTokens) and calls to CALLBACK (AllowedUntrustedInternalConnections),
// a loopback address of this machine; bin/askbus is what is tried.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';

const [base, admin, password, callback = 'http://127.0.0.1:8432'] = process.argv.slice(2);
const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const dir = mkdtempSync(join(tmpdir(), 'mattermost-'));
const nonce = Date.now().toString(36);
const children = [];
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function call(token, method, path, body) {
  const answer = await fetch(`${base}/api/v4${path}`, { method, headers: { Authorization: `Bearer ${token}` }, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  const got = JSON.parse(text || '{}');
  return { ...got, token: answer.headers.get('token') ?? got.token };
}

// until waits until f returns something.
async function until(what, f) {
  for (const end = Date.now() + 60_000; ;) {
    const got = await f();
    if (got) return got;
    assert.ok(Date.now() < end, `waiting for ${what}`);
    await sleep(200);
  }
}

const boss = await call('', 'POST', '/users/login', { login_id: admin, password });
const team = await call(boss.token, 'POST', '/teams', { name: `drill-${nonce}`, display_name: 'Drill', type: 'O' });
const channel = await call(boss.token, 'POST', '/channels', { team_id: team.id, name: `asks-${nonce}`, display_name: 'Asks', type: 'P' });
const bot = await call(boss.token, 'POST', '/bots', { username: `askbus-${nonce}`, display_name: 'askbus' });
const secret = await call(boss.token, 'POST', `/users/${bot.user_id}/tokens`, { description: 'drill' });

// A person, with what their client is told.
async function person(name) {
  const user = await call(boss.token, 'POST', '/users', { username: `${name}-${nonce}`, email: `${name}-${nonce}@example.com`, password: 'Drill-4711-x', first_name: name });
  const { token } = await call('', 'POST', '/users/login', { login_id: user.username, password: 'Drill-4711-x' });
  const heard = [];
  const socket = new WebSocket(`${base.replace(/^http/, 'ws')}/api/v4/websocket`, { headers: { Authorization: `Bearer ${token}` } });
  socket.on('message', (data) => heard.push(JSON.parse(data)));
  await until('the greeting', () => heard.length > 0);
  children.push({ kill: () => socket.terminate() });
  return { id: user.id, token, heard };
}

async function join_(id) {
  await call(boss.token, 'POST', `/teams/${team.id}/members`, { team_id: team.id, user_id: id });
  await call(boss.token, 'POST', `/channels/${channel.id}/members`, { user_id: id });
}

const [mei, tom, gus] = [await person('mei'), await person('tom'), await person('gus')];
for (const id of [bot.user_id, mei.id, tom.id]) await join_(id);

const askbus = (...args) => new Promise((done) => {
  execFile(join(root, 'bin/askbus'), ['--dir', dir, ...args], (_, stdout) => done(stdout.startsWith('{') ? JSON.parse(stdout) : {}));
});
const start = (...args) => children.push(spawn(join(root, 'bin/askbus'), ['--dir', dir, ...args], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ASKBUS_MATTERMOST_TOKEN_FILE: join(dir, 'bot') } }));

// cards returns the messages of the bot that have this title.
async function cards(title) {
  const { posts } = await call(boss.token, 'GET', `/channels/${channel.id}/posts?per_page=200`);
  return Object.values(posts ?? {}).filter((p) => p.user_id === bot.user_id && p.props.attachments?.[0]?.fallback === title);
}
const buttons = (p) => (p.props.attachments[0].actions ?? []).map((b) => b.name);
async function card(title, ready = (p) => buttons(p).length > 0) {
  return until(`a card of "${title}"`, async () => (await cards(title)).find(ready));
}
const ended = (title, words) => card(title, (p) => buttons(p).length === 0 && p.props.attachments[0].text.includes(words));
async function press(who, title, name) {
  const p = await card(title, (one) => buttons(one).includes(name));
  await call(who.token, 'POST', `/posts/${p.id}/actions/${p.props.attachments[0].actions.find((b) => b.name === name).id}`, {});
}
const whispers = (who, words) => until(`"${words}"`, () => who.heard.some((e) => e.event === 'ephemeral_message' && JSON.parse(e.data.post).message.includes(words)));
// write fills in the latest dialog, and returns what is wrong with it.
async function write(who, words, after) {
  await until('a dialog', () => who.heard.filter((e) => e.event === 'open_dialog').length > after);
  const { url, dialog } = JSON.parse(who.heard.findLast((e) => e.event === 'open_dialog').data.dialog);
  const answer = await call(who.token, 'POST', '/actions/dialogs/submit', { url, callback_id: dialog.callback_id, state: dialog.state, submission: { [dialog.elements[0].name]: words }, channel_id: channel.id, team_id: team.id });
  return answer.errors?.[dialog.elements[0].name] ?? '';
}
let asked = 0;
async function ask(questions, more = {}) {
  const id = `drill-${++asked}`;
  writeFileSync(join(dir, 'ask.json'), JSON.stringify({ id, questions, ...more }));
  assert.equal((await askbus('ask', '--session', 'drill', '--file', join(dir, 'ask.json'), '--wait', '0')).ask_id, id);
  return () => askbus('wait', `drill/${id}`);
}
const choice = (text, ...labels) => ({ id: 'q', text, allow_other: false, options: labels.map((label) => ({ id: label.toLowerCase(), label })) });
const step = (words) => console.log(`mattermost: ${words}`);

try {
  writeFileSync(join(dir, 'bot'), secret.token, { mode: 0o600 });
  start('up', '--http-addr', '127.0.0.1:0', '--nats-addr', '127.0.0.1:0', '--no-open');
  await until('askbus', async () => (await askbus('list', '--output', 'json')).items);
  start('mattermost', '--url', base, '--channel', channel.id, '--callback', callback, '--http-addr', new URL(callback).host);

  let outcome = await ask([choice('Which @all database?', 'PostgreSQL', 'SQLite')]);
  const title = 'Which @\u200Ball database?';
  await press(gus, title, 'SQLite').then(() => assert.fail('somebody outside the channel pressed'), () => {});
  await press(tom, title, 'PostgreSQL');
  assert.deepEqual((await outcome()).answers[0].selected, ['postgresql']);
  await ended(title, 'chose PostgreSQL');
  const mentions = mei.heard.filter((e) => e.event === 'posted' && JSON.parse(e.data.post).user_id === bot.user_id && (e.data.mentions ?? '').includes(mei.id));
  assert.deepEqual(mentions, [], 'an agent mentioned everybody');
  step('a button answers, for members only; what agents write mentions nobody');

  outcome = await ask([{ id: 'n', kind: 'number', text: 'How many?', limits: { min: 1, max: 9 } }, { id: 'when', kind: 'date', text: 'When?' }], { title: 'Two' });
  const dialogs = mei.heard.filter((e) => e.event === 'open_dialog').length;
  await press(mei, 'Two', 'Answer…');
  assert.match(await write(mei, 'many', dialogs), /not a number/);
  assert.equal(await write(mei, '3', dialogs), '');
  await card('Two', (p) => p.props.attachments[0].text.includes('2 of 2'));
  await press(mei, 'Two', 'Answer…');
  assert.equal(await write(mei, '2026-12-01', dialogs + 1), '');
  assert.deepEqual((await outcome()).answers.map((a) => a.number ?? a.date), [3, '2026-12-01']);
  step('dialogs take numbers and dates, and say what is wrong');

  outcome = await ask([choice('Deploy?', 'Approve', 'Deny')], { approval: { any_of: [{ need: 2 }], approve_options: ['approve'], deny_options: ['deny'] } });
  await press(mei, 'Deploy?', 'Approve');
  await whispers(mei, '1 of 2 approvals');
  await press(tom, 'Deploy?', 'Approve');
  assert.equal((await outcome()).votes.length, 2);
  step('two people approve');

  await call(boss.token, 'POST', `/bots/${bot.user_id}/disable`);
  outcome = await ask([choice('While it is disabled?', 'Yes', 'No')]);
  await call(boss.token, 'POST', `/bots/${bot.user_id}/enable`);
  await press(mei, 'While it is disabled?', 'Yes');
  assert.deepEqual((await outcome()).answers[0].selected, ['yes']);
  step('an ask of the time when the bot was disabled is posted');

  await Promise.all(Array.from({ length: 40 }, (_, i) => new Promise((done) => {
    execFile(join(root, 'bin/askbus'), ['--dir', dir, 'ask', '--session', `s${i % 4}`, '--id', `many-${i}`, '--wait', '0', '--question', `Many ${i}?`, '--option', 'Yes', '--option', 'No'], () => done());
  })));
  for (let i = 0; i < 40; i++) await card(`Many ${i}?`);
  await sleep(3000); // for one too many
  for (let i = 0; i < 40; i++) assert.equal((await cards(`Many ${i}?`)).length, 1);
  step('40 asks at once have one card each');

  const direct = await call(gus.token, 'POST', '/channels/direct', [gus.id, bot.user_id]);
  await until('an answer to "link"', async () => { // a connection that was cut is open again soon
    await call(gus.token, 'POST', '/posts', { channel_id: direct.id, message: 'link' });
    await sleep(5000);
    return Object.values((await call(gus.token, 'GET', `/channels/${direct.id}/posts`)).posts).some((p) => p.user_id === bot.user_id && /10 minutes/.test(p.message));
  });
  step('"link" is answered, also after the bot was disabled');
  console.log(`mattermost: all of it holds, with version ${(await call(boss.token, 'GET', '/config/client?format=old')).Version}`);
} finally {
  for (const child of children.reverse()) {
    const gone = child.exitCode === null && new Promise((done) => { child.once('exit', done); });
    child.kill();
    await gone;
  }
  rmSync(dir, { recursive: true, force: true });
}
