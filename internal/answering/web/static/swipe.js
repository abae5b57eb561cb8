// Swipe to snooze, with a finger: a row of the list or the card, towards the start
// of a line. The menu Snooze does the same, and the line above the card takes it back.

import { $, $$, card, now } from './page.js';
import { say } from './words.js';

const slop = 12;     // px before it is a swipe and no touch
const enough = 0.35; // of the width
const rtl = document.dir === 'rtl';
const still = '.act, textarea, select, input:not([type=radio], [type=checkbox])';

let swipe; // { host, mover, x, y, by, label, duration }

// scrolls reports whether a part of the host scrolls sideways under the finger.
function scrolls(el, host) {
  for (; el && el !== host; el = el.parentElement) if (el.scrollWidth > el.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(el).overflowX)) return true;
  return false;
}

// duration is how long an ask may be snoozed: until well before it ends.
function duration(row) {
  const ends = $('time[data-tick=until], time[data-tick=left]', row);
  const left = ends ? Date.parse(ends.dateTime) - now() : Infinity;
  if (left > 65 * 60e3) return '1h';
  return left > 20 * 60e3 ? '15m' : '';
}

const words = (value) => (value === '1h' ? say('Snooze for an hour') : say('Snooze for 15 minutes'));

function begin({ target, pointerType, isPrimary, clientX, clientY }) {
  swipe = undefined;
  if (pointerType !== 'touch' || !isPrimary || target.closest(still)) return;
  const row = target.closest('#list > li');
  const article = target.closest('#card > article');
  const buttons = $$('[data-menu=h] li button');
  const button = buttons.find((b) => b.value === '1h') ?? buttons.find((b) => b.value === '15m');
  if (row && !row.matches('.foreign') && duration(row)) swipe = { host: row, mover: $('a', row), value: duration(row) };
  else if (article?.dataset.state === 'pending' && button) swipe = { host: $('#card'), mover: article, value: button.value, button };
  if (swipe && scrolls(target, swipe.mover)) swipe = undefined;
  if (swipe) Object.assign(swipe, { x: clientX, y: clientY, by: 0 });
}

function move({ clientX, clientY }) {
  if (!swipe) return;
  const by = (clientX - swipe.x) * (rtl ? -1 : 1);
  if (!swipe.label) {
    if (Math.abs(clientY - swipe.y) > slop || by > slop) { swipe = undefined; return; }
    if (by > -slop) return;
    swipe.label = document.createElement('span');
    swipe.label.className = 'swipe';
    swipe.label.textContent = words(swipe.value);
    swipe.host.prepend(swipe.label);
  }
  swipe.by = Math.min(0, by);
  swipe.label.classList.toggle('enough', -swipe.by > swipe.mover.offsetWidth * enough);
  swipe.mover.style.transform = `translateX(${rtl ? -swipe.by : swipe.by}px)`;
}

function end(counts) {
  const one = swipe;
  swipe = undefined;
  if (!one?.label) return;
  const snoozes = counts && one.label.matches('.enough');
  one.label.remove();
  one.mover.style.transform = '';
  addEventListener('click', stop, { capture: true, once: true }); // the finger that swiped did not touch a link
  setTimeout(() => removeEventListener('click', stop, { capture: true }), 50);
  if (!snoozes) return;
  if (one.button) one.button.form.requestSubmit(one.button);
  else send(one);
}

function stop(event) {
  if (event.pointerType === 'mouse') return;
  event.preventDefault();
  event.stopPropagation();
}

// send snoozes the ask of a row; the card in focus stays.
function send({ host, mover, value }) {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = `/ask/${host.dataset.key}/snooze${new URL(mover.href).search}`;
  form.dataset.send = form.dataset.keeps = '';
  form.hidden = true;
  const add = (name, text) => { const field = document.createElement('input'); [field.type, field.name, field.value] = ['hidden', name, text]; form.append(field); };
  add('for', value);
  add('stay', card()?.dataset.key ?? '');
  form.append(Object.assign(document.createElement('button'), { type: 'submit' }));
  host.append(form);
  form.requestSubmit();
}

addEventListener('pointerdown', begin, { passive: true });
addEventListener('pointermove', move, { passive: true });
addEventListener('pointerup', () => end(true));
addEventListener('pointercancel', () => end(false));
