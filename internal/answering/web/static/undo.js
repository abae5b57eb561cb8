// Answers that were given and are not sent yet. The server has checked each; the
// page holds it for as long as the setting says, and z takes the newest back.

import { forget } from './drafts.js';
import { $, $$, adopt, card, now, parse, request } from './page.js';
import { say } from './words.js';

const wait = () => Number(document.documentElement.dataset.undo); // ms; 0: nothing is held
const soon = 30_000; // an ask that ends within this time is answered at once
export const room = 40_000; // bytes of all held answers: a page that closes may send 64 KiB
const all = new Map(); // by the key of the ask, in the order in which they were given

export const has = (key) => all.has(key);
export const any = () => all.size > 0;
export const urgent = (el) => el.hasAttribute('data-urgent') || Date.parse(el.dataset.ends) - now() < soon;

// may reports whether a form is held before it is sent.
export function may(article, form, body) {
  const held = [...all.values()].reduce((sum, one) => sum + one.body.length, 0);
  return wait() > 0 && form.matches('.answer, #decline') && !urgent(article) && held + String(body).length < room;
}

// header names the held answers, so that no page brings their asks up.
export const header = () => (all.size > 0 ? { 'Askbus-Held': [...all.keys()].join(' ') } : {});

let checked; // what the server is checking; a page that is left meanwhile sends it

// check keeps an answer while the server checks it; without one it is held by now, or refused.
export function check(action, body) {
  body?.set('held', 'send');
  checked = action && { action, body: String(body) };
}

// hold sends an answer after the wait. The heading names its ask, whatever card is on the screen by then.
export function hold(key, path, action, body, label, heading) {
  all.set(key, { path, action, body: String(body), label, heading, timer: setTimeout(() => send(key), wait()) });
  draw();
}

const options = (one) => ({ method: 'POST', keepalive: true, headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: one.body });

// send sends a held answer now.
async function send(key) {
  const one = all.get(key);
  if (!one || one.sending) return;
  clearTimeout(one.timer);
  one.sending = true;
  draw();
  let answer, doc;
  try {
    answer = await request(one.action, options(one));
    doc = parse(await answer.text());
  } catch { // askbus:back tries it again; it has an id, so it counts once
    one.sending = false;
    one.late = true;
    draw();
    document.dispatchEvent(new CustomEvent('askbus:away'));
    return;
  }
  all.delete(key);
  if (answer.ok) forget(key);
  show(one, answer, doc);
  draw();
  if (!answer.ok && answer.status !== 401 && card()?.dataset.key === key) visit(one.path);
}

const visit = (path) => document.dispatchEvent(new CustomEvent('askbus:visit', { detail: path }));

// show says how sending ended.
function show(one, answer, doc) {
  const drawn = answer.ok && $('.done', doc);
  const line = drawn ? adopt(drawn) : about(one, answer.ok ? $('.progress', doc)?.textContent ?? '' : say('“%s” was not sent: %s', one.label, reason(answer, doc)));
  line.classList.toggle('unsent', !answer.ok);
  if (answer.ok && !drawn) line.prepend('✓ ');
  $('#done').replaceChildren(line);
}

// about draws a line about the ask of an answer.
function about(one, words) {
  const line = document.createElement('p');
  line.className = 'done';
  const link = document.createElement('a');
  link.href = one.path;
  link.dataset.visit = '';
  link.dir = 'auto';
  link.textContent = one.heading;
  const told = document.createElement('span');
  told.className = 'meta';
  told.dir = 'auto';
  told.textContent = `· ${words}`;
  line.append(link, ' ', told);
  return line;
}

// reason says why an answer was refused: who was first, what is wrong with it, or that nobody is signed in.
function reason(answer, doc) {
  if (answer.status === 401) return say('you are signed out.');
  return $('.verdict .lead, .fault-words, .problem', doc)?.textContent ?? say('look at it again; your words are kept.');
}

// back takes back the newest answer that is still held, and shows its ask, or a link to it while the inbox cannot be
// reached.
export function back() {
  const [key, one] = [...all].findLast(([, o]) => !o.sending) ?? [];
  if (!one) return false;
  clearTimeout(one.timer);
  all.delete(key);
  $('#done').replaceChildren();
  draw();
  if (!any()) $('#done').replaceChildren(about(one, say('“%s” is taken back', one.label)));
  visit(one.path);
  return true;
}

// flush sends everything that is held.
export const flush = () => Promise.all([...all.keys()].map(send));

// draw shows the newest held answer, and marks the rows.
export function draw() {
  for (const li of $$('#list > li')) {
    const mark = $('.sending', li);
    if (!all.has(li.dataset.key)) { mark?.remove(); continue; }
    if (mark) continue;
    const words = document.createElement('span');
    words.className = 'sending';
    words.textContent = say('sending …');
    $('a', li).append(words);
  }
  const [key, one] = [...all].at(-1) ?? [];
  if (!one) { $('#done .held')?.remove(); return; }
  const state = `${key} ${Boolean(one.sending)} ${Boolean(one.late)}`;
  if ($('#done .held')?.dataset.state === state) return; // somebody may be about to press its button
  const line = document.createElement('p');
  line.dataset.state = state;
  line.className = 'done';
  line.classList.add('held');
  const words = document.createElement('span');
  words.className = 'summary';
  words.dir = 'auto';
  words.textContent = one.late ? say('“%s” is sent when the inbox is back', one.label) : say('Sending “%s” …', one.label);
  line.append(words);
  if (!one.sending) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'second';
    button.dataset.undoBack = '';
    const cap = document.createElement('kbd');
    cap.textContent = 'z';
    cap.ariaHidden = 'true';
    button.append(say('Take back|answer'), ' ', cap);
    line.append(button);
  }
  $('#done').replaceChildren(line);
}

document.addEventListener('click', ({ target }) => { if (target.closest('[data-undo-back]')) back(); });
document.addEventListener('askbus:back', flush);
// A phone may end a page that is out of sight without a word.
document.addEventListener('visibilitychange', () => { if (document.hidden && matchMedia('(pointer: coarse)').matches) flush(); });
document.addEventListener('askbus:rows', ({ detail }) => {
  draw();
  for (const key of detail ?? []) send(key); // it has ended: the reply says who was first
});
// A Firefox that is quit fires pagehide when it is too late to send anything.
addEventListener('beforeunload', () => { flush(); leave(checked); });
addEventListener('pagehide', () => {
  leave(checked);
  for (const one of all.values()) leave(one);
  all.clear();
});

function leave(one) {
  if (!one || one.sending) return;
  clearTimeout(one.timer);
  one.sending = true;
  fetch(one.action, options(one)).catch(() => { /* the draft is kept */ });
}
