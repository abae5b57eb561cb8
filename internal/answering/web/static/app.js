// The live inbox. The server draws everything; this module goes from one ask to
// another, sends forms and handles keys.

import './copy.js';
import { complain, hold, mount, ready, release, replaceCard, unhide } from './card.js';
import { acted, changed, forget, remember, sweep, touched } from './drafts.js';
import * as live from './live.js';
import { $, $$, adopt, card, parse, request, tick } from './page.js';
import { openReader } from './reader.js';
import * as steps from './steps.js';
import * as undo from './undo.js';
import { say } from './words.js';

// ---- going from one ask to another ------------------------------------------

// A card that comes by itself while somebody types takes no keys for a moment:
// they were meant for what was there before.
const settle = 300; // ms
let own = false;    // the card comes because this person did something
let typed = -Infinity;
addEventListener('keydown', () => { typed = performance.now(); }, true);
document.addEventListener('askbus:card', () => {
  if (own || performance.now() - typed > 2 * settle) return;
  const root = document.documentElement;
  root.dataset.quiet = '';
  setTimeout(() => { delete root.dataset.quiet; }, settle);
});

function takePage(doc, url, push) {
  live.takeFrame(doc);
  $('#done').replaceChildren(...[...$('#done', doc).childNodes].map(adopt));
  own = true;
  replaceCard(doc);
  own = false;
  undo.draw();
  live.mine();
  tick($('#focus'));
  if (push) history.pushState(null, '', url);
}

let visits = 0; // only the last one counts
let sent; // what is being sent: whether it was taken, else its ask stays

export async function visit(url, push = true, on = false) {
  const turn = ++visits;
  if (sent && !await sent || turn !== visits) return;
  if (card()) remember(card());
  try {
    const answer = await request(url, { headers: live.part(url) });
    const doc = parse(await answer.text());
    if (turn !== visits) return;
    if (!$('#card', doc)) { location.assign(url); return; }
    takePage(doc, answer.url, push);
    scrollTo(0, 0);
    $('#focus').focus({ preventScroll: true });
    if (!on) ready(); // a field would take the next j or k for text
    rowIntoView();
  } catch (error) {
    if (turn !== visits) return;
    // Without a connection the browser's own page would take the place of what somebody typed.
    if (error instanceof TypeError || error.name === 'TimeoutError') live.lost();
    else location.assign(url);
  }
}

// rowIntoView scrolls the list to the row of the ask in focus. Beside the
// question the list has its own scroll position, and the page moves only for
// the list's last rows; below the question, scrolling would move the whole page.
function rowIntoView() {
  const row = $('#list a[aria-current]');
  if (!row || !matchMedia('(min-width: 62rem)').matches) return;
  const [at, list] = [row.getBoundingClientRect(), $('#waiting').getBoundingClientRect()];
  const top = Math.max(list.top, 0) + $('#tools').offsetHeight; // it stays above the rows
  const below = at.bottom - Math.min(list.bottom, innerHeight);
  $('#waiting').scrollTop += below > 0 ? Math.ceil(below) : Math.floor(Math.min(0, at.top - top));
  if (row.getBoundingClientRect().bottom > innerHeight + 1) row.scrollIntoView({ block: 'nearest' });
}

// undone returns a URL without the parameter for what was just decided.
function undone(href) {
  const url = new URL(href);
  url.searchParams.delete('done');
  return url.pathname + url.search;
}

// An answer that did not get out goes by itself when the inbox is back, unless
// somebody changes it. It has an id, so it counts once.
let unsent;
document.addEventListener('input', () => { unsent = undefined; });
document.addEventListener('askbus:card', () => { unsent = undefined; });
document.addEventListener('askbus:back', () => {
  const [form, submitter] = unsent ?? [];
  unsent = undefined;
  if (form?.isConnected) send(form, submitter);
});

// heading returns what an ask is called in the list, or else on its card.
const heading = (article) => ($('.heading', document.getElementById(`wait-${article.dataset.key}`) ?? article) ?? $('h1, legend .text', article)).textContent;

async function send(form, submitter) {
  if (form.hasAttribute('data-closed') || !hold()) return;
  const article = card();
  const button = submitter ?? [...form.elements].find((el) => el.tagName === 'BUTTON' && el.type === 'submit');
  button.ariaBusy = 'true';
  remember(article);
  let went = false, taken = false, done;
  sent = new Promise((end) => { done = end; });
  try {
    if ($$('[data-files]', form).some(({ value }) => value)) await (await import('./files.js')).renew(form);
    const body = new URLSearchParams(new FormData(form, submitter));
    const held = undo.may(article, form, body) && [article.dataset.key, article.dataset.path + $('#card').dataset.query, form.action, new URLSearchParams(body), steps.words(article, form), heading(article)];
    if (held) {
      body.set('held', 'check'); // the server checks it, and shows the next ask
      undo.check(form.action, held[3]);
    }
    // A page that is left meanwhile has sent what is not held.
    const answer = await request(form.action, { method: 'POST', headers: live.part(), body, keepalive: !held && String(body).length < undo.room });
    const doc = parse(await answer.text());
    if (!$('#card', doc)) { complain(article, answer.status === 401 ? say('Not sent: you are signed out. Your words are kept. Sign in again in another tab, and come back.') : say('Not sent: the inbox refused this page. Reload it; your words are kept.')); return; }
    // The page that follows the form: scripts get it without a redirect.
    const to = answer.headers.get('Askbus-At') ?? (answer.redirected ? answer.url : '');
    [went, taken] = [to !== '', answer.ok];
    if (went) {
      if (held) undo.hold(...held);
      else if (!form.hasAttribute('data-keeps')) forget(article.dataset.key);
      document.dispatchEvent(new CustomEvent('askbus:sent'));
    } else if (taken && !held && form.matches('.answer, #decline')) forget(article.dataset.key); // a vote: its ask stays
    takePage(doc, location.href, false);
    if (went) {
      history.replaceState(null, '', undone(new URL(to, location.href)));
      scrollTo(0, 0);
      $('#focus').focus({ preventScroll: true });
      ready();
    } else {
      const fault = $('[aria-invalid]', card()) ?? $('.fault', card()) ?? $('#focus');
      fault.focus();
      fault.select?.();
    }
  } catch {
    complain(article, say('Not sent yet: the inbox cannot be reached. Your answer goes by itself when it is back, unless you change it.'));
    unsent = [form, submitter];
    document.dispatchEvent(new CustomEvent('askbus:away'));
  } finally {
    const told = release();
    undo.check();
    done(taken);
    sent = undefined;
    button.ariaBusy = 'false';
    // The response is as new as its mark; only changes that arrived in the
    // meantime may be newer.
    const at = card()?.dataset.key;
    if (!went || told.some((d) => d.all || d.any || d.touched?.includes(at))) live.refresh();
  }
}

// ---- keys -------------------------------------------------------------------

const typing = (el) => el.matches('textarea, select, input:not([type=radio], [type=checkbox])');
const keysOn = () => { try { return localStorage.getItem('askbus:keys') !== 'off'; } catch { return true; } };
const oneKey = () => { try { return localStorage.getItem('askbus:onekey') === 'on'; } catch { return false; } };
const tickable = 'input[type=radio], input[type=checkbox]';
const options = (question) => $$('.option:not([hidden])', question).filter((o) => !o.matches('.other, .none'));
const answered = (question) => Boolean($('input:checked', question)) || $$('.typed', question).some((el) => el.value.trim() !== '');

// question returns the question that keys apply to: the focused one, else the
// first open one.
function question() {
  const all = $$('.question', card() ?? document);
  return document.activeElement.closest('.question') ?? all.find((q) => !answered(q)) ?? all.at(-1);
}

function choose(input) {
  input.focus();
  input.click();
  advanced = false; // of the last question: the next Enter is meant for it
  if (input.type === 'checkbox') return;
  const here = input.closest('.question');
  if (oneKey() && $$('.question', card()).length === 1) { input.form.requestSubmit(); return; }
  const next = $$('.question', card()).slice($$('.question', card()).indexOf(here) + 1).find((q) => !answered(q));
  if (next) {
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
    $('.typed', next)?.focus();
    advanced = true;
  }
}

// The key after one that went to the next question: an Enter was meant for the
// question before.
let advanced = false;

function open(selector) {
  const here = question();
  const details = (selector === '.note' ? here && $('.note', here) : null) ?? $(selector, card() ?? document);
  if (!details) return false;
  details.open = true;
  const field = $('textarea', details) ?? $('summary', details);
  const bar = details.closest('.act');
  // The bar is on the screen already; a browser would scroll to its place below the card.
  field.focus({ preventScroll: Boolean(bar) && getComputedStyle(bar).position === 'sticky' });
  bar?.scrollTo(0, bar.scrollHeight);
  return true;
}

// Of the bar's fields one is open at a time, and those that have words: more would hide the question. The event comes
// later than the next key can: the field that has the focus meanwhile stays.
document.addEventListener('toggle', ({ target }) => {
  if (!target.open || !target.matches('.act > details:not(.more)')) return;
  for (const other of $$('.act > details[open]:not(.more)', card())) if (other !== target && !$('textarea', other).value && !other.contains(document.activeElement)) other.open = false;
}, true);

// The panes to compare open below their switch, often below the screen.
document.addEventListener('toggle', ({ target }) => {
  if (target.open && target.matches('.compare')) target.scrollIntoView({ block: 'nearest' });
}, true);

// In a text of several lines Enter begins a new line; the hint names the key
// that sends from there.
function sendKey(at) {
  const hint = $('.send-hint', card() ?? document);
  const key = hint && $('kbd', hint);
  if (key) key.textContent = at?.matches('textarea') ? 'Ctrl+Enter' : 'Enter';
}
document.addEventListener('focusin', ({ target }) => sendKey(target));
document.addEventListener('focusout', ({ relatedTarget }) => sendKey(relatedTarget));

function step(by) {
  const links = $$('#list a');
  const at = links.findIndex((a) => a.hasAttribute('aria-current'));
  const next = links[at < 0 ? 0 : at + by];
  if (next) visit(next.href, true, true);
  return Boolean(next);
}

// act carries out a key and reports whether it did.
function act(key) {
  const here = question();
  if (/^[0-9]$/.test(key) && here) {
    const input = $(tickable, options(here)[(Number(key) + 9) % 10] ?? document.createElement('p'));
    if (input && !input.disabled) choose(input);
    return Boolean(input);
  }
  switch (key) {
    case 'o': {
      const other = here && $('.other', here);
      if (!other || $('input', other).disabled) return false;
      $('[data-other]', other).checked = true;
      changed(other);
      $('input[type=text]', other).focus();
      acted.add(card());
      remember(card());
      return true;
    }
    case 'n': return open('.note');
    case 'r': return open('.own');
    case 'x': return open('.decline');
    case 'z': { if (undo.back()) return true; const b = $('[data-move-back]') ?? $('[data-take-back]'); b?.click(); return Boolean(b); }
    case '!': { const b = card() && $('[data-confirm]', card()); b?.click(); return Boolean(b); }
    case 'c': { const d = card() && $('.context', card()); if (d) d.open = !d.open; return Boolean(d); }
    case 'p': return openReader(here);
    case 'ArrowRight': return steps.move(card(), 1);
    case 'ArrowLeft': return steps.move(card(), -1);
    case 'j': return step(1);
    case 'k': return step(-1);
    case '/': { const f = here && $('[data-filter]', here); if (f) { f.focus(); return true; } break; }
    case '?': $('#help').showModal(); return true;
    case 'Enter': {
      const form = $('form.answer', card() ?? document);
      // An Enter that was meant for the previous ask must not send a restored
      // draft.
      if (card()?.dataset.state === 'resolved') {
        if (!touched(card())) visit('/');
        return !touched(card());
      }
      if (!form || form.hasAttribute('data-closed')) return false;
      if (advanced) return true;
      if (!touched(card())) {
        const field = here && !$('.option', here) && $('.typed', here);
        if (field) field.focus();
        else {
          complain(card(), say('Nothing is chosen yet.'));
          here?.focus({ preventScroll: true });
        }
        return true;
      }
      if (!acted.has(card())) {
        if (!card().hasAttribute('data-kept')) complain(card(), say('This is your draft from before. Look at it, then press Answer.'));
        return true;
      }
      if (!steps.next(card())) form.requestSubmit();
      return true;
    }
  }
  // Other modules handle the remaining keys.
  return !document.dispatchEvent(new CustomEvent('askbus:key', { detail: key, cancelable: true }));
}

document.addEventListener('keydown', (event) => {
  const el = event.target;
  if (event.isComposing || event.defaultPrevented || $('dialog[open]')) return;
  if ('quiet' in document.documentElement.dataset && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); return; }
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && el.matches('textarea')) {
    event.preventDefault();
    el.form?.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.repeat && (event.key === 'Enter' || !typing(el))) {
    if (event.key === 'Enter' && !el.matches('textarea')) event.preventDefault();
    return;
  }
  if (el.matches('[data-filter]') && event.key === 'Enter') {
    event.preventDefault(); // Enter in the search does not send the form
    const first = options(el.closest('.question'))[0];
    if (first && el.value) choose($(tickable, first));
    return;
  }
  if (event.key === 'Escape' && typing(el)) {
    el.blur();
    const field = el.closest('.act > details');
    if (field && !el.value) field.open = false;
    return;
  }
  if (event.key === 'Escape' && steps.leave(card())) return;
  if (event.key === 'Enter' && el.matches('input.typed') && steps.next(card())) { event.preventDefault(); return; }
  if (typing(el)) return;
  // The browser handles Enter on a button or a link.
  if (event.key === 'Enter' && el.matches('button, a, summary, input:not([type=radio], [type=checkbox])')) return;
  if (event.key !== 'Enter' && !keysOn()) return;
  const done = act(event.key);
  if (!/^[0-9]$/.test(event.key)) advanced = false;
  if (!done) return;
  event.preventDefault();
  pressed = event.key;
});

// A key that opens a field must not type into it, even when held down.
let pressed = '';
document.addEventListener('keyup', () => { pressed = ''; });
document.addEventListener('beforeinput', (event) => {
  if (pressed !== '' && event.data === pressed || pressed === 'Enter' && event.inputType === 'insertLineBreak') event.preventDefault();
});

// ---- wiring -----------------------------------------------------------------

document.addEventListener('submit', (event) => {
  if (event.target.matches('[data-send]')) {
    event.preventDefault();
    // Several answers are reviewed before they are sent.
    if (event.target.matches('.answer') && !event.submitter?.matches('[data-confirm]') && touched(card()) && steps.whole(card())) { steps.review(card()); return; }
    if (event.target.matches('.answer') && steps.unseen(card())) return; // it goes there instead
    send(event.target, event.submitter);
  }
  if (event.target.matches('[data-logout]')) {
    event.preventDefault(); // what is held is sent in this person's name
    undo.flush().finally(() => { forget(); event.target.submit(); });
  }
});

document.addEventListener('input', (event) => {
  const el = event.target;
  if (el.matches('[data-filter]')) {
    const want = el.value.trim().toLocaleLowerCase();
    for (const li of $$('.option:not(.other, .none)', el.closest('.question'))) {
      li.hidden = want !== '' && !li.textContent.toLocaleLowerCase().includes(want) && !$('input', li).checked;
    }
    return;
  }
  if (el.closest('.other') && el.type === 'text') {
    const box = $('[data-other]', el.closest('.other'));
    if (el.value !== '' || box.type === 'checkbox') box.checked = el.value !== '';
    changed(el);
  }
  if (el.matches('[data-keys]')) { try { localStorage.setItem('askbus:keys', el.checked ? 'on' : 'off'); } catch { /* this page only */ } }
  const article = el.closest('article');
  if (article) {
    acted.add(article);
    remember(article);
    for (const p of $$('.problem[data-passing], .confirm', article)) p.remove();
    steps.mark(article);
  }
});

document.addEventListener('click', (event) => {
  const el = event.target.closest('a[data-visit], [data-help], [data-step]');
  if (!el || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (el.matches('[data-help]')) { $('#help').showModal(); return; }
  if (el.matches('[data-step]')) { step(Number(el.dataset.step)); return; }
  event.preventDefault();
  visit(el.href);
});

addEventListener('popstate', () => visit(location.href, false));

document.addEventListener('askbus:visit', (event) => visit(event.detail));

sweep();
$('[data-keys]').checked = keysOn();
if (new URLSearchParams(location.search).has('done')) history.replaceState(null, '', undone(location.href));
mount();
unhide();
ready();
rowIntoView();
tick();
setInterval(() => tick(), 1000);
live.start();
