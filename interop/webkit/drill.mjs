// Uses the inbox in WebKit, the engine of Safari, as a person does: with its keys, over an outage, and when the page is left at once.
// It prints what held and writes pictures to a directory that it names.
//
//   make build && node interop/webkit/drill.mjs
//
// It needs WebKitWebDriver, MiniBrowser and a screen: on Debian apt-get install webkit2gtk-driver xvfb.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const askbus = join(dirname(fileURLToPath(import.meta.url)), '../../bin/askbus');
const dir = mkdtempSync(join(tmpdir(), 'webkit-'));
const pictures = mkdtempSync(join(tmpdir(), 'webkit-pictures-'));
const state = ['--dir', join(dir, 'state')];
const [port, driverPort] = [18631, 18632];
const children = [];
const Enter = '\ue007';
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function until(what, f) {
  for (const end = Date.now() + 30_000; ; await sleep(100)) {
    const got = await f().catch(() => undefined);
    if (got) return got;
    assert.ok(Date.now() < end, `waiting for ${what}`);
  }
}

async function up() {
  const child = spawn(askbus, ['up', ...state, '--no-open', '--no-link', '--nats-addr', '127.0.0.1:18633', '--http-addr', `127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  await until('askbus up', () => fetch(`http://127.0.0.1:${port}/v1/asks`));
  return child;
}

// ask asks with two options, and returns a promise of what its command prints.
const ask = (text) => new Promise((done) => {
  execFile(askbus, ['ask', ...state, '--question', text, '--option', 'A', '--option', 'B', '--timeout', '1m'], (err, out) => { done(err ? { error: err.message } : JSON.parse(out)); });
});

let session = '';
async function call(method, path, body) {
  const answer = await fetch(`http://127.0.0.1:${driverPort}/session${session}${path}`, { method, body: body && JSON.stringify(body) });
  const { value } = await answer.json();
  assert.ok(answer.ok, `${method} ${path}: ${JSON.stringify(value)}`);
  return value;
}
const js = (script, ...args) => call('POST', '/execute/sync', { script, args });
const keys = (text) => call('POST', '/actions', { actions: [{ type: 'key', id: 'keys', actions: [...text].flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]) }] });
const answer = async (key) => {
  await keys(key);
  await until(`the choice of ${key}`, () => js("return !!document.querySelector('main input:checked')"));
  await keys(Enter);
};
const held = () => until('the answer that may be taken back', () => js("return [...document.querySelectorAll('button')].some((b) => b.innerText.includes('Take back'))"));
async function open(text) {
  await until(`${text} in the list`, () => js("const a = [...document.querySelectorAll('a')].find((a) => a.innerText.includes(arguments[0])); a?.click(); return !!a;", text));
  await until(text, () => js("return [...document.querySelectorAll('main h1, main h2, main legend')].some((h) => h.innerText.includes(arguments[0]));", text));
}
async function picture(name) {
  await js("document.body.dataset.drawn = arguments[0];", name); // the driver waits until something is drawn
  writeFileSync(join(pictures, name + '.png'), Buffer.from(await call('GET', '/screenshot'), 'base64'));
}
function chose(outcome, option) {
  assert.deepEqual([outcome.error, outcome.status, outcome.answers?.[0].selected], [undefined, 'answered', [option]]);
}

try {
  let bus = await up();
  children.push(spawn('xvfb-run', ['-a', 'WebKitWebDriver', `--port=${driverPort}`], { stdio: 'ignore', detached: true, env: { ...process.env, LIBGL_ALWAYS_SOFTWARE: '1' } }));
  await until('WebKitWebDriver', () => fetch(`http://127.0.0.1:${driverPort}/status`));
  const begun = await call('POST', '', { capabilities: { alwaysMatch: {} } });
  session = '/' + begun.sessionId;
  console.log(`WebKitGTK ${begun.capabilities.browserVersion}`);
  await call('POST', '/url', { url: JSON.parse(execFileSync(askbus, ['login', ...state, '--output', 'json'])).url });

  let outcome = ask('With the keys?');
  await open('With the keys?');
  await picture('card');
  await answer('2');
  chose(await outcome, 'o2');
  console.log('an ask that came while the page was open is answered with 2 and Enter');

  outcome = ask('Left at once?');
  await open('Left at once?');
  await answer('1');
  await held();
  const inbox = await call('GET', '/url');
  await call('POST', '/url', { url: 'about:blank' });
  chose(await outcome, 'o1');
  console.log('an answer that could still be taken back is sent when the page is left');

  await call('POST', '/url', { url: inbox });
  outcome = ask('Over an outage?');
  await open('Over an outage?');
  bus.kill('SIGKILL');
  await once(bus, 'exit');
  await answer('2');
  await until('the page says that it is not sent', () => js("return document.querySelector('main').innerText.includes('Not sent yet')"));
  await picture('outage');
  bus = await up();
  chose(await outcome, 'o2');
  console.log('an answer that was given while the bus was down is sent when it is back');

  outcome = ask('Closed at once?');
  await open('Closed at once?');
  await answer('1');
  await held();
  await call('POST', '/window/new', { type: 'window' }); // a browser that ends takes its requests with it
  await call('DELETE', '/window');
  chose(await outcome, 'o1');
  console.log(`and when its window is closed\npictures: ${pictures}`);
} catch (err) {
  if (session) console.error(await js('return document.body.innerText').catch(() => ''));
  throw err;
} finally {
  for (const child of children.reverse()) {
    try { process.kill(child.spawnargs[0] === 'xvfb-run' ? -child.pid : child.pid, 'SIGTERM'); } catch { /* it has ended */ }
  }
  await sleep(500);
  rmSync(dir, { recursive: true, force: true });
}
