// Several declines at once: held before they are sent, as every answer is.

import { $, $$ } from './page.js';
import { urgent } from './undo.js';
import { say } from './words.js';

const wait = Number(document.documentElement.dataset.undo);
let held; // { form, button, timer, line }

function drop() {
  if (!held) return;
  clearTimeout(held.timer);
  held.line.remove();
  for (const mark of $$('.sending', held.form)) mark.remove();
  held = undefined;
}

function send() {
  const { form, button } = held;
  drop();
  form.dataset.sent = '';
  form.requestSubmit(button);
}

document.addEventListener('submit', (event) => {
  const [form, button] = [event.target, event.submitter];
  const chosen = $$('li:has(:checked)', form);
  if (!form.matches('[data-bulk]') || form.hasAttribute('data-sent') || button?.value === 'dismiss') return;
  if (wait === 0 || chosen.length === 0 || chosen.some(urgent)) return;
  event.preventDefault();
  if (held) return;
  for (const li of chosen) {
    const mark = document.createElement('span');
    mark.className = 'sending';
    mark.textContent = say('sending …');
    $('label > span', li).append(mark);
  }
  const line = document.createElement('p');
  line.className = 'result';
  line.classList.add('held');
  line.role = 'status';
  const back = document.createElement('button');
  back.type = 'button';
  back.className = 'second';
  back.textContent = say('Take back|answer');
  back.addEventListener('click', drop);
  line.append(say('Declining %d asks …', chosen.length), ' ', back);
  button.closest('.row').before(line);
  back.focus();
  held = { form, button, line, timer: setTimeout(send, wait) };
});

document.addEventListener('change', ({ target }) => { if (target.name === 'key') drop(); });
document.addEventListener('keydown', (event) => { if (event.key === 'z' && held && !event.target.matches('textarea')) drop(); });
// A Firefox that is quit fires pagehide when it is too late to send anything.
for (const end of ['beforeunload', 'pagehide']) addEventListener(end, () => {
  if (!held) return;
  fetch(held.form.action, { method: 'POST', keepalive: true, body: new URLSearchParams(new FormData(held.form)) }).catch(() => { /* nobody is left to tell */ });
  drop();
});
