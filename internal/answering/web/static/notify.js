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

let registration;
const register = () => (registration ??= navigator.serviceWorker.register(policy.createScriptURL('/sw.js')).then(() => navigator.serviceWorker.ready));

async function notice(key) {
  const answer = await fetch(`/ask/${key}/notice`).catch(() => undefined);
  return answer?.ok ? answer.json() : undefined;
}

async function tell(keys) {
  if (!document.hidden && document.hasFocus()) return; // a window that was just minimized may still have the focus
  if (get('sound') === 'on') beep();
  if (!wanted()) return;
  const worker = (await register()).active;
  for (const key of keys.slice(0, 3)) {
    const n = await notice(key);
    if (n && !n.ended) worker.postMessage({ show: n });
  }
  if (keys.length > 3) worker.postMessage({ show: { title: say('%d more asks wait', keys.length - 3), body: '', tag: 'more', path: '/ask/', life: String(Date.now()) } });
}

// settle closes the notifications of asks that have ended, wherever they were
// answered.
let settling = false;
async function settle() {
  if (settling || !wanted()) return; // asking the browser for notifications is slower than this check
  settling = true;
  try {
    const held = await navigator.serviceWorker.getRegistration('/');
    for (const shown of await held?.getNotifications() ?? []) {
      if (document.getElementById(`wait-${shown.tag}`)) continue;
      const n = shown.tag === 'more' ? undefined : await notice(shown.tag);
      if (!n || n.ended) shown.close();
    }
  } finally { settling = false; }
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

// ---- push -------------------------------------------------------------------

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

// ring subscribes to push, and reports whether it succeeded.
async function ring() {
  const key = root.dataset.push;
  const held = await register();
  if (!key || !held.pushManager) return false;
  try {
    let sub = await held.pushManager.getSubscription();
    const same = sub?.options?.applicationServerKey && String(new Uint8Array(sub.options.applicationServerKey)) === String(bytes(key));
    if (sub && !same) { await sub.unsubscribe(); sub = null; }
    sub ??= await held.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
    const answer = await fetch('/push/subscribe', { method: 'POST', body: JSON.stringify(sub) });
    if (answer.ok) set('rung', String(Date.now()));
    return answer.ok;
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

// ---- settings ---------------------------------------------------------------

const words = (text) => { $('#notify-words').textContent = text; };

function draw() {
  for (const box of document.querySelectorAll('[data-setting]')) box.checked = box.dataset.setting === 'notify' ? wanted() : get(box.dataset.setting) === 'on';
  const box = $('[data-setting=notify]');
  box.disabled = !able() || Notification.permission === 'denied';
  if (!able()) words(isSecureContext ? say('This browser has no notifications.') : say('Browsers allow notifications on HTTPS only.'));
  else if (Notification.permission === 'denied') words(say('This browser was told not to allow notifications here. Its site settings change that.'));
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
$('[data-settings]').hidden = false;
draw();
if (able()) {
  if (document.body.classList.contains('quiet')) offer();
  navigator.serviceWorker.addEventListener('message', (event) => {
    if (event.data?.visit) document.dispatchEvent(new CustomEvent('askbus:visit', { detail: event.data.visit }));
  });
  // The subscription lasts as long as a sign-in: use renews it.
  if (wanted() && Date.now() - Number(get('rung') ?? 0) > 86400e3) ring();
}
