// The queue: who else has an ask open, snoozing, handing over, and finding
// asks. app.js sends events for keys and for frames that it inserted.
import { visit } from './app.js';
import { answering, touched } from './drafts.js';
import { $, $$, card } from './page.js';
import * as undo from './undo.js';

// ---- who is there -----------------------------------------------------------

const every = 10_000;   // interval of attention messages
const idle = 60_000;    // time without input after which a person counts as away
let active = Date.now();
let at = '';            // path of the ask in the last attention message
let said = '';

function tell(path, state) {
  const body = new URLSearchParams({ state, me: document.documentElement.dataset.person });
  if (state === 'gone') { navigator.sendBeacon(`${path}/attend`, body); return; }
  fetch(`${path}/attend`, { method: 'POST', body, keepalive: true }).catch(() => { /* told again soon */ });
}

function attend() {
  const article = card();
  const here = article?.dataset.state === 'pending' && !document.hidden && Date.now() - active < idle && $('#turn') ? article.dataset.path : '';
  if (at && at !== here && !undo.has(at.replace('/ask/', ''))) tell(at, 'gone'); // to others a held ask is being answered
  at = here;
  said = here && answering(article) ? 'answering' : 'looking';
  if (here) tell(here, said);
}

function awake() {
  const slept = Date.now() - active >= idle;
  active = Date.now();
  const article = card();
  if (slept || article && at && at !== article.dataset.path || at && said === 'looking' && touched(article)) attend();
}

for (const name of ['keydown', 'pointerdown', 'pointermove', 'wheel', 'input']) addEventListener(name, awake, { passive: true });
document.addEventListener('visibilitychange', attend);
// The message is sent after the card is drawn, so that drawing does not wait
// for it.
document.addEventListener('askbus:card', () => { if (card()?.dataset.path !== at || said === 'answering') setTimeout(attend, 50); });
addEventListener('pagehide', () => { if (at) tell(at, 'gone'); at = ''; });
setInterval(attend, every);

document.addEventListener('askbus:frame', ({ detail: doc }) => {
  for (const id of ['#others', '#handed']) {
    const [here, there] = [$(id), $(id, doc)];
    if (here && there && $('#turn').dataset.path === $('#turn', doc).dataset.path && here.innerHTML !== there.innerHTML) {
      here.replaceChildren(...[...there.childNodes].map((n) => document.importNode(n, true)));
    }
  }
  const [tools, next] = [$('#tools'), $('#tools', doc)];
  if (!next) return;
  if ($('#list').dataset.query !== $('#list', doc).dataset.query && !tools.contains(document.activeElement)) { tools.replaceWith(document.importNode(next, true)); return; }
  // An open menu and typed text stay.
  const [views, fresh] = [$('.views', tools), $('.views', next)];
  if (views.innerHTML !== fresh.innerHTML) views.replaceWith(document.importNode(fresh, true));
});

// ---- menus and search -------------------------------------------------------

const zoneName = Intl.DateTimeFormat().resolvedOptions().timeZone ?? '';
if (/^[\w+/-]+$/.test(zoneName)) document.cookie = `askbus_zone=${zoneName}; path=/; max-age=31536000; samesite=lax`;

function menu(key) {
  const details = $(`[data-menu="${key}"]`);
  if (!details || details.closest('[inert]')) return false;
  details.open = !details.open;
  if (details.open) {
    const field = $('button, input:not([type=hidden])', details);
    field?.focus();
    field?.select?.(); // a name that was refused is typed over
  } else $('summary', details).focus();
  return true;
}

document.addEventListener('askbus:key', (event) => {
  const done = {
    h: () => menu('h'),
    a: () => menu('a'),
    '/': () => { const f = $('[data-search]'); f?.focus(); f?.select(); return Boolean(f); },
  }[event.detail]?.();
  if (done) event.preventDefault();
});

// Escape and a click elsewhere close a menu. Inside it, digits choose.
document.addEventListener('keydown', (event) => {
  const open = $('details.menu[open]');
  if (!open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    open.open = false;
    $('summary', open).focus();
    event.preventDefault();
  } else if (/^[1-9]$/.test(event.key) && open.dataset.menu === 'h') {
    $$('li button', open)[Number(event.key) - 1]?.click();
    event.preventDefault();
  }
}, { capture: true });

document.addEventListener('click', ({ target }) => {
  for (const open of $$('details.menu[open]')) if (!open.contains(target)) open.open = false;
});

function find(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== '');
  visit(`/${fields.length ? `?${new URLSearchParams(fields)}` : ''}`);
}

document.addEventListener('submit', (event) => {
  if (!event.target.matches('[data-find]')) return;
  event.preventDefault();
  find(event.target);
});
document.addEventListener('change', ({ target }) => { if (target.matches('[data-find] select')) find(target.form); });

attend();
