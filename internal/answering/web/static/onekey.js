// One-key answers, for people who turned them on: the choice of a digit is sent
// after three seconds. z takes it back; every other key sends it now.

import { say } from './words.js';

const seconds = 3;
let held; // { form, bar, timer }

export const on = () => { try { return localStorage.getItem('askbus:onekey') === 'on'; } catch { return false; } };
export const holding = () => Boolean(held);

// hold delays the sending of a form. Only an ask of one question with one
// choice is complete after one key.
export function hold(form) {
  drop();
  const questions = form.querySelectorAll('.question');
  if (questions.length !== 1 || questions[0].hasAttribute('data-multiple') || form.hasAttribute('data-closed')) return;
  const bar = document.createElement('p');
  bar.className = 'hold';
  bar.role = 'status';
  const label = questions[0].querySelector('.option:has(> label > :checked) .label')?.textContent ?? '';
  const words = document.createElement('span');
  words.textContent = say('Sending “%s”. ', label);
  const key = document.createElement('kbd');
  key.textContent = 'z';
  const [before, after] = say('%s takes it back', '\n').split('\n');
  bar.append(words, before, key, after);
  form.querySelector('.act').prepend(bar);
  held = { form, bar, timer: setTimeout(send, seconds * 1000) };
}

// send sends the held form now.
export function send() {
  const form = held?.form;
  drop();
  if (form?.isConnected && !form.hasAttribute('data-closed')) form.requestSubmit();
}

// drop cancels the held form.
export function drop() {
  if (!held) return;
  clearTimeout(held.timer);
  held.bar.remove();
  held = undefined;
}

document.addEventListener('pointerdown', (event) => { if (held && !event.target.closest('.send')) drop(); });
addEventListener('pagehide', drop);
