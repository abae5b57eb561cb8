// Ctrl+K or ⌘K: the waiting asks, and everything that can be done on this page,
// found by typing.

import { $, $$ } from './page.js';
import { say } from './words.js';

const dialog = $('#palette');
const field = $('input', dialog);
const list = $('ul', dialog);
const none = $('p', dialog);
const most = 12;
const doing = '[data-undo-back], [data-move-back], .act summary, .menu > summary, .context > summary, [data-read]:not([hidden]), .views a, .narrow > summary, .tools .row a, .quiet-link, [data-settings]:not([hidden]), [data-help]:not([hidden])';
let search; // the field above the list
let found = [];
let at = 0;

const label = (el) => el.ariaLabel ?? [...el.childNodes].filter((n) => n.nodeName !== 'KBD' && n.nodeName !== 'svg').map((n) => n.textContent).join(' ').trim();

// all returns what can be chosen: the asks by their questions, the rest by its words.
function all() {
  const asks = $$('#list > li > a').map((el) => ({ el, text: $('.heading', el).textContent, more: el.title }));
  return [...asks, ...$$(doing).filter((el) => el.checkVisibility()).map((el) => ({ el, text: label(el), more: '' }))].filter(({ text }) => text);
}

function draw() {
  search = $('[data-search]');
  const words = field.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  found = all().filter(({ text, more }) => words.every((w) => `${text} ${more}`.toLocaleLowerCase().includes(w))).slice(0, most);
  if (words.length > 0 && found.length < most && $('#more').textContent.trim()) found.push({ el: search, text: `${search.placeholder}: ${field.value.trim()}`, more: '' }); // more wait than are on this page
  at = Math.max(0, Math.min(at, found.length - 1));
  list.replaceChildren(...found.map(({ text, more }, i) => {
    const li = document.createElement('li');
    li.role = 'option';
    li.id = `palette-${i}`;
    li.ariaSelected = String(i === at);
    li.dir = 'auto';
    const meta = document.createElement('span');
    meta.className = 'meta';
    meta.textContent = more;
    li.append(text, ' ', meta);
    li.addEventListener('click', () => choose(i));
    return li;
  }));
  none.textContent = found.length > 0 ? '' : say('No ask and no command matches.');
  if (found.length > 0) field.setAttribute('aria-activedescendant', `palette-${at}`); else field.removeAttribute('aria-activedescendant');
}

function choose(i) {
  const one = found[i];
  dialog.close();
  if (!one?.el.isConnected) return;
  if (one.el === search) { search.value = field.value.trim(); search.form.requestSubmit(); return; }
  one.el.click();
  const details = one.el.closest('details');
  if (details?.open) $('textarea, input:not([type=hidden]), select, button', details)?.focus();
}

document.addEventListener('keydown', (event) => {
  if ((event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    if (dialog.open) { dialog.close(); return; }
    if ($('dialog[open]')) return;
    field.value = '';
    at = 0;
    dialog.showModal();
    draw();
    field.focus();
  }
});
field.addEventListener('input', () => { at = 0; draw(); });
field.addEventListener('keydown', (event) => {
  if (event.isComposing) return;
  if (event.key === 'Escape') dialog.close(); // a search field would only be emptied
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) { at = (at + by + found.length) % Math.max(1, found.length); draw(); } else if (event.key === 'Enter') choose(at); else if (event.key !== 'Escape') return;
  event.preventDefault();
});
