// Notifications: the count on the tab, notifications while a page is open, push
// when none is open, and a sound. Everything except the count is off until the
// person turns it on.

import { isBound } from './bound.js';
import { $ } from './page.js';
import { say } from './words.js';

const root = document.documentElement;
const get = (name) => { try { return localStorage.getItem(`askbus:${name}`); } catch { return null; } };
const set = (name, value) => { try { localStorage.setItem(`askbus:${name}`, value); } catch { /* this page only */ } };
const policy = globalThis.trustedTypes?.createPolicy('askbus-worker', { createScriptURL: (url) => (url === '/sw.js' ? url : '') }) ?? { createScriptURL: (url) => url };

const able = () => 'Notification' in globalThis && 'serviceWorker' in navigator && isSecureContext && !isBound; // a service worker has no bound path
const wanted = () => get('notify') === 'on' && able() && Notification.permission === 'granted';

// ---- the tab ----------------------------------------------------------------

const icon = $('link[rel=icon]');
const plain = icon.href;

function count() {
  const n = Number(/^\((\d+)\)/.exec(document.title)?.[1] ?? 0);
  const words = n > 99 ? '99' : String(n);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#4a5bf0"/><text x="12" y="17.500" font-family="system-ui,sans-serif" font-size="15" font-weight="700" text-anchor="middle" fill="#fff">${words}</text></svg>`;
  const href = n === 0 ? plain : `data:image/svg+xml,${encodeURIComponent(svg)}`;
  if (icon.href !== href) icon.href = href;
  if (n > 0) navigator.setAppBadge?.(n).catch(() => {}); else navigator.clearAppBadge?.().catch(() => {});
}

new MutationObserver(count).observe($('title'), { childList: true, characterData: true, subtree: true });
count();

// ---- notices ----------------------------------------------------------------

// register returns the service worker's registration. After a failure the next call tries again.
let registration;
function register() {
  registration ??= navigator.serviceWorker.register(policy.createScriptURL('/sw.js')).then(() => navigator.serviceWorker.ready)
    .catch((failure) => { registration = undefined; throw failure; });
  return registration;
}

// notice returns what a notification of an ask says, or undefined if the inbox does not say it: then it tries again for
// some seconds, because another of its processes may not know a new ask yet.
async function notice(key) {
  for (let wait = 250; wait <= 4000; wait *= 2) {
    const answer = await fetch(`/ask/${key}/notice`).catch(() => undefined);
    if (answer?.ok) return answer.json();
    if (answer?.status === 401) return undefined;
    await new Promise((done) => { setTimeout(done, wait); });
  }
  return undefined;
}

// over reports whether an ask has ended, or is not known any more. An inbox that cannot be reached says neither.
async function over(key) {
  const answer = await fetch(`/ask/${key}/notice`).catch(() => undefined);
  if (answer?.ok) return (await answer.json()).ended;
  return answer !== undefined && answer.status < 500;
}

async function tell(keys) {
  if (!document.hidden && document.hasFocus()) return; // a window that was just minimized may still have the focus
  if (get('sound') === 'on') aloud(keys[0]);
  if (!wanted()) return;
  const worker = (await register().catch(register)).active;
  for (const key of keys.slice(0, 3)) {
    const n = await notice(key);
    if (n && !n.ended) worker.postMessage({ show: n });
  }
  if (keys.length > 3) worker.postMessage({ show: { title: say('%d more asks wait', keys.length - 3), body: '', tag: 'more', path: '/ask/', life: String(Date.now()) } });
}

// settle closes the notifications of asks that have ended, wherever they were
// answered.
let settling = false;
let unsettled = false; // something changed meanwhile
async function settle() {
  if (!wanted()) return; // asking the browser for notifications is slower than this check
  unsettled = true;
  if (settling) return;
  settling = true;
  try {
    while (unsettled) {
      unsettled = false;
      const held = await navigator.serviceWorker.getRegistration('/');
      for (const shown of await held?.getNotifications() ?? []) {
        if (document.getElementById(`wait-${shown.tag}`)) continue;
        if (shown.tag === 'more' || await over(shown.tag)) shown.close();
      }
    }
  } finally { settling = false; }
}

// aloud plays the sound once, in one of the pages that hear of an ask.
function aloud(key) {
  if (!navigator.locks) { beep(); return; }
  navigator.locks.request(`askbus:sound:${key}`, { ifAvailable: true }, (lock) => {
    if (lock) beep();
    return lock && new Promise((end) => { setTimeout(end, 5000); });
  });
}

let audio;
function beep() {
  try {
    audio ??= new AudioContext();
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    tone.frequency.setValueAtTime(660, audio.currentTime);
    tone.frequency.setValueAtTime(880, audio.currentTime + 0.12);
    volume.gain.setValueAtTime(0.12, audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.4);
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.4);
  } catch { /* no sound on this machine */ }
}

document.addEventListener('askbus:fresh', (event) => { tell(event.detail); });
for (const name of ['askbus:frame', 'askbus:rows']) document.addEventListener(name, () => { queueMicrotask(settle); }); // after the list has been updated

// Who signs out leaves nothing on the screen of a shared machine. The worker closes it: this page is about to go.
document.addEventListener('submit', ({ target }) => { if (target.matches('[data-logout]')) navigator.serviceWorker?.controller?.postMessage({ close: '' }); });

// ---- push -------------------------------------------------------------------

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

// ring subscribes to push, and reports whether it succeeded.
async function ring() {
  const key = root.dataset.push;
  try {
    const held = await register();
    if (!key || !held.pushManager) return false;
    let sub = await held.pushManager.getSubscription();
    const same = sub?.options?.applicationServerKey && String(new Uint8Array(sub.options.applicationServerKey)) === String(bytes(key));
    if (sub && !same) { await sub.unsubscribe(); sub = null; }
    sub ??= await held.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
    return (await fetch('/push/subscribe', { method: 'POST', body: JSON.stringify(sub) })).ok;
  } catch { return false; }
}

async function silence() {
  const held = await navigator.serviceWorker?.getRegistration('/');
  for (const shown of await held?.getNotifications() ?? []) shown.close();
  const sub = await held?.pushManager?.getSubscription();
  if (!sub) return;
  await fetch('/push/unsubscribe', { method: 'POST', body: new URLSearchParams({ endpoint: sub.endpoint }) }).catch(() => {});
  await sub.unsubscribe();
}

// ---- a test -------------------------------------------------------------------

const patience = 20_000; // ms; push services usually need less than two seconds
const awaited = new Map();

// arrives waits until the service worker has shown a test, and returns whether it did.
function arrives(id) {
  return new Promise((end) => {
    const late = setTimeout(() => { awaited.delete(id); end(undefined); }, patience);
    awaited.set(id, (shown) => { clearTimeout(late); awaited.delete(id); end(shown); });
  });
}

// test rings this browser, as an ask would, and says whether it arrived. Without
// push the page itself shows the notification.
async function test(tell) {
  const id = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
  const began = performance.now();
  tell(say('Sending a test …'));
  const pushed = await ring();
  if (pushed) {
    const sub = await (await register()).pushManager.getSubscription();
    const answer = await fetch('/push/test', { method: 'POST', body: new URLSearchParams({ endpoint: sub?.endpoint ?? '', id }) }).catch(() => undefined);
    if (!answer?.ok) { tell(say('The test could not be sent: %s', (answer ? await answer.text() : say('the inbox cannot be reached')).trim())); return false; }
    tell(say('Sent. Waiting until it arrives …'));
  } else {
    (await register()).active.postMessage({ show: { test: id, tag: 'askbus-test', path: '/', title: say('A test of askbus'), body: say('Notifications reach this device.') } });
  }
  const shown = await arrives(id);
  const seconds = Math.max(1, Math.round((performance.now() - began) / 1000));
  if (shown === undefined) tell(say('It has not arrived within 20 seconds. Check that this device is online, and that its system lets this browser notify you.'));
  else if (!shown) tell(say('It arrived, but this browser did not show it. Its site settings may forbid notifications here.'));
  else if (pushed) tell(say('It arrived after %d s. If you saw nothing, the system of this device hides it, such as in a focus mode.', seconds));
  else tell(say('Shown by this page. With the page closed nothing comes: this browser has no push here.'));
  return shown === true;
}

document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-ring]');
  if (!button || button.ariaBusy === 'true') return;
  button.ariaBusy = 'true';
  const line = document.getElementById(button.dataset.ring);
  if (!wanted() && able()) await turnOn();
  let came = false;
  if (wanted()) came = await test((text) => { line.textContent = text; }).catch(() => false);
  else line.textContent = why() || say('Nothing was allowed, so nothing was sent.');
  button.ariaBusy = 'false';
  document.dispatchEvent(new CustomEvent('askbus:rang', { detail: came }));
});

// ---- settings ---------------------------------------------------------------

const words = (text) => { $('#notify-words').textContent = text; };

// why says why this browser cannot notify; empty: it can.
function why() {
  if (!able()) return isSecureContext ? say('This browser has no notifications.') : say('Browsers allow notifications on HTTPS only.');
  return Notification.permission === 'denied' ? say('This browser was told not to allow notifications here. Its site settings change that.') : '';
}

function draw() {
  for (const box of document.querySelectorAll('[data-setting]')) box.checked = box.dataset.setting === 'notify' ? wanted() : get(box.dataset.setting) === 'on';
  const box = $('[data-setting=notify]');
  if (!box) return; // a page without the settings
  box.disabled = !able() || Notification.permission === 'denied';
  $('#ring-line').hidden = box.disabled;
  if (why()) words(why());
}

// turnOn asks the browser for permission, after the person has agreed in the
// page.
async function turnOn() {
  if (await Notification.requestPermission() !== 'granted') { set('notify', 'off'); draw(); return; }
  set('notify', 'on');
  draw();
  const rung = await ring();
  words(rung ? say('A notification, also with this page closed.') : say('A notification, while a page of the inbox is open.'));
  document.dispatchEvent(new CustomEvent('askbus:notify'));
}

document.addEventListener('change', (event) => {
  const name = event.target.dataset?.setting;
  if (!name) return;
  if (name !== 'notify') { set(name, event.target.checked ? 'on' : 'off'); if (name === 'sound' && event.target.checked) beep(); return; }
  if (event.target.checked) turnOn();
  else { set('notify', 'off'); silence(); document.dispatchEvent(new CustomEvent('askbus:notify')); }
});

document.addEventListener('click', (event) => {
  if (!event.target.closest('[data-settings]')) return;
  draw();
  $('#settings').showModal();
});

// offer asks whether to notify when somebody has just answered or waits for an
// ask. It asks once, and never again after a no.
function offer() {
  if (get('notify') !== null || $('.offer') || !able() || Notification.permission !== 'default') return;
  const box = document.createElement('section');
  box.className = 'offer';
  box.ariaLabel = say('Notifications');
  const says = document.createElement('p');
  says.textContent = say('Should this browser notify you when an agent asks?');
  const button = (label, kind, then) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.className = kind;
    b.textContent = label;
    b.addEventListener('click', () => { box.remove(); then(); });
    return b;
  };
  box.append(says, button(say('Notify me'), 'second', turnOn), button(say('Not now'), 'quietly', () => set('notify', 'off')));
  $('#done').after(box);
}

document.addEventListener('askbus:sent', offer);
if ($('[data-settings]')) $('[data-settings]').hidden = false;
draw();
if (able()) {
  if (document.body.classList.contains('quiet')) offer();
  navigator.serviceWorker.addEventListener('message', (event) => {
    if (event.data?.arrived) awaited.get(event.data.arrived)?.(event.data.shown);
    if (event.data?.visit) document.dispatchEvent(new CustomEvent('askbus:visit', { detail: event.data.visit }));
  });
  // The subscription ends with the sign-in, by the push service, or after a while: the page asks for it each time.
  if (wanted()) ring();
}
