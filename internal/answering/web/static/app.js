// The live inbox. The server draws everything; this module inserts what
// changed, keeps drafts, handles keys and updates the clocks. A form that
// somebody has touched is never replaced.

import './copy.js';
import * as live from './live.js';
import { openReader } from './reader.js';
import * as onekey from './onekey.js';
import * as steps from './steps.js';
import { language, say } from './words.js';

const policy = globalThis.trustedTypes?.createPolicy('askbus', { createHTML: (s) => s }) ?? { createHTML: (s) => s };
export const parse = (html) => new DOMParser().parseFromString(policy.createHTML(html), 'text/html');
export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
export const adopt = (node) => document.importNode(node, true);
export const card = () => $('#card > article');
const root = document.documentElement;

// ---- clocks -----------------------------------------------------------------

const skew = Date.parse(root.dataset.now) - Date.now();
export const now = () => Date.now() + skew; // the server's time

function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return say('%d s', s);
  if (s < 3600) return say('%d min', Math.floor(s / 60));
  if (s < 48 * 3600) return say('%d h', Math.floor(s / 3600));
  return say('%d days', Math.floor(s / 86400));
}

const clocks = language === 'en' ? 'en-GB' : language;
const clock = new Intl.DateTimeFormat(clocks, { hour: '2-digit', minute: '2-digit' });
const dayClock = new Intl.DateTimeFormat(clocks, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

function words(style, at, now) {
  switch (style) {
    case 'since': return span(now - at);
    case 'ago': return now - at < 10_000 ? say('just now') : say('%s ago', span(now - at));
    case 'until': return at <= now ? say('now') : say('in %s', span(at - now));
    default: return (new Date(at).toDateString() === new Date(now).toDateString() ? clock : dayClock).format(at);
  }
}

export function tick(part = document) {
  const at = now();
  for (const time of $$('time[data-tick]', part)) {
    const text = words(time.dataset.tick, Date.parse(time.dateTime), at);
    if (time.textContent !== text) time.textContent = text;
  }
}

// ---- drafts -----------------------------------------------------------------

const prefix = 'askbus:draft:';
// Each tab has its own drafts, so that tabs do not overwrite each other's.
const tab = (() => {
  try {
    const id = sessionStorage.getItem('askbus:tab') ?? Math.random().toString(36).slice(2);
    sessionStorage.setItem('askbus:tab', id);
    return id;
  } catch { return 'only'; }
})();
const draftsOf = (article) => `${prefix}${article.dataset.key}:${article.dataset.seq}:`;
const draftKey = (article) => draftsOf(article) + tab;
const secret = new Set(['answer_id', 'life']);
const pristine = new WeakMap();
const acted = new WeakSet(); // articles in which somebody has chosen or typed something

// contents caches the values of forms, because they are read often and reading
// is slow. Code that changes a form dispatches change.
const contents = new WeakMap();
const changed = (el) => contents.delete(el.closest('article'));
for (const name of ['input', 'change', 'reset']) document.addEventListener(name, ({ target }) => { if (target.closest?.('article')) changed(target); }, { capture: true });

// An answer that is being changed is no longer the refused one. The words about
// it keep their place: what the person types into must not move.
document.addEventListener('input', ({ target }) => {
  const question = target.closest('.question.fault');
  if (!question) return;
  question.classList.replace('fault', 'mended');
  for (const field of $$('[aria-invalid]', question)) field.ariaInvalid = null;
});

function content(article) {
  if (!contents.has(article)) contents.set(article, read(article));
  return contents.get(article);
}

function read(article) {
  const forms = $$('form[data-send]', article);
  return JSON.stringify(forms.map((form) => [...new FormData(form)].filter(([name, value]) => !secret.has(name) && value !== '')));
}

export const touched = (article) => Boolean(article) && pristine.has(article) && content(article) !== pristine.get(article);

export function remember(article) {
  try {
    if (touched(article)) localStorage.setItem(draftKey(article), JSON.stringify({ at: Date.now(), forms: content(article) }));
    else localStorage.removeItem(draftKey(article));
  } catch { /* no storage: the page itself still holds the words */ }
}

function forget(key) {
  try {
    for (const name of Object.keys(localStorage)) {
      if (key === undefined ? name.startsWith(prefix) : name.startsWith(`${prefix}${key}:`)) localStorage.removeItem(name);
    }
  } catch { /* nothing stored */ }
}

// find reads the draft of this tab, or else the newest draft of another tab.
function find(start) {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(start));
    const drafts = names.map((name) => ({ name, ...JSON.parse(localStorage.getItem(name)) }));
    return drafts.find(({ name }) => name.endsWith(`:${tab}`)) ?? drafts.sort((a, b) => b.at - a.at)[0];
  } catch { return undefined; }
}

// leave shows what somebody typed for an ask that has ended and did not send.
function leave(article) {
  const draft = find(`${prefix}${article.dataset.key}:`);
  const typed = draft ? JSON.parse(draft.forms).flat().filter(([name, value]) => !/^(select|boolean):/.test(name) && value.trim()) : [];
  if (typed.length === 0 || $('.verdict.mine', article)) { forget(article.dataset.key); return; }
  const box = document.createElement('section');
  box.className = 'leftover';
  const says = document.createElement('p');
  says.textContent = say('What you had typed. It was not sent.');
  box.append(says, ...typed.map(([, value]) => {
    const quote = document.createElement('blockquote');
    quote.dir = 'auto';
    quote.textContent = value;
    return quote;
  }));
  const drop = document.createElement('button');
  drop.type = 'button';
  drop.className = 'second';
  drop.textContent = say('Discard');
  drop.addEventListener('click', () => { forget(article.dataset.key); box.remove(); });
  box.append(drop);
  $('[data-verdict]', article)?.after(box);
}

function restore(article) {
  const draft = find(draftsOf(article));
  if (!draft) return;
  JSON.parse(draft.forms).forEach((fields, i) => {
    const form = $$('form[data-send]', article)[i];
    if (!form) return;
    for (const [name, value] of fields) {
      const named = [...form.elements].filter((el) => el.name === name);
      for (const el of named) {
        if (el.type === 'radio' || el.type === 'checkbox') el.checked = el.checked || el.value === value;
        else { el.value = value; el.closest('details')?.setAttribute('open', ''); }
      }
    }
  });
  changed(article);
}

function sweep() {
  try {
    for (const name of Object.keys(localStorage).filter((n) => n.startsWith(prefix))) {
      if (Date.now() - JSON.parse(localStorage.getItem(name)).at > 30 * 86400e3) localStorage.removeItem(name);
    }
  } catch { /* nothing stored, or not ours */ }
}

// ---- one ask ----------------------------------------------------------------

// mount prepares an article that was inserted into the page.
function mount() {
  const article = card();
  if (!article) return;
  for (const el of $$('.filter, .send-hint, .steps, .read', article)) el.hidden = false;
  thumbs(article);
  for (const details of $$('.compare', article)) pairs(details);
  pristine.set(article, article.hasAttribute('data-kept') ? '' : content(article));
  if (article.dataset.state === 'pending' && !article.hasAttribute('data-kept')) restore(article);
  if (article.dataset.state === 'resolved' && !article.hasAttribute('data-kept')) leave(article);
  close(article);
  steps.mark(article);
}

// thumbs shows the buttons to the previous and next ask, if they exist.
function thumbs(article) {
  const links = $$('#list a');
  const at = links.findIndex((a) => a.parentElement.dataset.key === article.dataset.key);
  for (const b of $$('[data-step]', article)) {
    b.hidden = links.length < 2;
    b.disabled = !links[at < 0 ? 0 : at + Number(b.dataset.step)];
  }
}

// ready focuses the field if the first question is a text, number or date. It
// does not on a phone, where the keyboard would open.
function ready() {
  const first = $('.question', card() ?? document);
  const field = first && $('.typed', first);
  const here = document.activeElement;
  if (!field || field.readOnly || card().dataset.state !== 'pending' || matchMedia('(pointer: coarse)').matches) return;
  if (here === document.body || here === $('#focus') || !here.isConnected) field.focus({ preventScroll: true });
}

// close removes the buttons of a form that can no longer be sent, or not by
// this person.
function close(article) {
  for (const form of $$('form[data-closed]', article)) {
    for (const el of form.elements) {
      if (el.tagName === 'BUTTON' || el.type === 'radio' || el.type === 'checkbox') el.disabled = true;
      else el.readOnly = true;
    }
  }
}

// pairs lets a person choose which two previews to compare.
function pairs(details) {
  const panes = $$('.pane', details);
  if (panes.length < 3) return;
  const slots = [0, 1];
  const draw = () => {
    panes.forEach((pane, i) => { pane.hidden = !slots.includes(i); });
    for (const slot of slots) $('select', panes[slot]).value = String(slot);
    slots.forEach((index) => details.lastElementChild.append(panes[index]));
  };
  panes.forEach((pane, i) => {
    const select = document.createElement('select');
    select.ariaLabel = say('Which preview');
    panes.forEach((other, j) => select.append(new Option(other.dataset.pane, j, j === i, j === i)));
    select.addEventListener('change', () => {
      const slot = slots.indexOf(i);
      const want = Number(select.value);
      if (slots[1 - slot] === want) slots.reverse(); else slots[slot] = want;
      draw();
      $('select', panes[want]).focus();
    });
    $('h3', pane).replaceWith(select);
  });
  draw();
}

// replaceCard replaces the card by another article or the empty state.
export function replaceCard(doc) {
  $('#card').dataset.query = $('#card', doc).dataset.query;
  $('#card').replaceChildren(...[...$('#card', doc).childNodes].map(adopt));
  document.body.className = doc.body.className;
  mount();
  unhide();
  ready();
  document.dispatchEvent(new CustomEvent('askbus:card'));
}

// redraw updates the navigation buttons of the card.
export function redraw() { if (card()) thumbs(card()); }

// takeCard updates the ask in focus from a fetched page.
export function takeCard(doc) {
  if (meanwhile({ any: true })) return; // the response to the pending request is newer
  document.dispatchEvent(new CustomEvent('askbus:frame', { detail: doc }));
  const [now, next] = [card(), $('#card > article', doc)];
  if (!now) {
    if (next || $('#card h1').textContent !== $('#card h1', doc).textContent) replaceCard(doc);
    return;
  }
  if (!next || next.dataset.key !== now.dataset.key || now.dataset.state === 'resolved') return;
  // An ended ask may have no sequence; another sequence is another life of the
  // id.
  if (next.dataset.seq !== '0' && next.dataset.seq !== now.dataset.seq) { if (!touched(now)) replaceCard(doc); return; }
  if (next.dataset.state === 'pending') {
    const [mine, theirs] = [$('[data-live]', now), $('[data-live]', next)];
    if (mine.innerHTML !== theirs.innerHTML) mine.replaceChildren(...[...theirs.childNodes].map(adopt));
    return;
  }
  if (!touched(now)) { replaceCard(doc); return; }
  // Somebody else answered first. What was typed stays, to be read and copied.
  now.dataset.state = 'resolved';
  $('#turn')?.setAttribute('inert', ''); // nobody is at it any more, and nothing can be handed over
  onekey.drop();
  steps.leave(now);
  for (const form of $$('form[data-send]', now)) form.dataset.closed = '';
  close(now);
  $('.act', now).before(adopt($('[data-verdict]', next))); // below the field, so that nothing moves while the person types
  remember(now);
}

let sending = false;
let told = []; // changes that arrive while a form is being sent

// meanwhile keeps a change until the pending request ends, and reports whether
// it did.
export function meanwhile(change) {
  if (sending) told.push(change);
  return sending;
}

// ---- going from one ask to another ------------------------------------------

function takePage(doc, url, push) {
  live.takeFrame(doc);
  $('#done').replaceChildren(...[...$('#done', doc).childNodes].map(adopt));
  replaceCard(doc);
  live.mine();
  tick($('#focus'));
  if (push) history.pushState(null, '', url);
}

export async function visit(url, push = true) {
  onekey.drop();
  if (card()) remember(card());
  try {
    const answer = await fetch(url, { headers: live.part(url) });
    const doc = parse(await answer.text());
    if (!$('#card', doc)) { location.assign(url); return; }
    takePage(doc, answer.url, push);
    scrollTo(0, 0);
    $('#focus').focus({ preventScroll: true });
    ready();
    rowIntoView();
  } catch { location.assign(url); }
}

// rowIntoView scrolls the list to the row of the ask in focus. Beside the
// question the list has its own scroll position, and the page moves only for
// the list's last rows; below the question, scrolling would move the whole page.
function rowIntoView() {
  const row = $('#list a[aria-current]');
  if (!row || !matchMedia('(min-width: 62rem)').matches) return;
  const [at, list] = [row.getBoundingClientRect(), $('#waiting').getBoundingClientRect()];
  const below = at.bottom - Math.min(list.bottom, innerHeight);
  $('#waiting').scrollTop += below > 0 ? Math.ceil(below) : Math.floor(Math.min(0, at.top - Math.max(list.top, 0)));
  if (row.getBoundingClientRect().bottom > innerHeight + 1) row.scrollIntoView({ block: 'nearest' });
}

// undone returns a URL without the parameter for what was just decided.
function undone(href) {
  const url = new URL(href);
  url.searchParams.delete('done');
  return url.pathname + url.search;
}

async function send(form, submitter) {
  if (sending || form.hasAttribute('data-closed')) return;
  sending = true;
  told = [];
  const article = card();
  onekey.drop();
  const button = submitter ?? [...form.elements].find((el) => el.tagName === 'BUTTON' && el.type === 'submit');
  button.ariaBusy = 'true';
  remember(article);
  let went = false;
  try {
    const answer = await fetch(form.action, { method: 'POST', headers: live.part(), body: new URLSearchParams(new FormData(form, submitter)) });
    const doc = parse(await answer.text());
    if (!$('#card', doc)) { complain(article, answer.status === 401 ? say('Not sent: you are signed out. Your words are kept. Sign in again in another tab, and come back.') : say('Not sent: the inbox refused this page. Reload it; your words are kept.')); return; }
    // The page that follows the form: scripts get it without a redirect.
    const to = answer.headers.get('Askbus-At') ?? (answer.redirected ? answer.url : '');
    went = to !== '';
    if (went) {
      if (!form.hasAttribute('data-keeps')) forget(article.dataset.key);
      document.dispatchEvent(new CustomEvent('askbus:sent'));
    }
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
    complain(article, say('Not sent: the inbox cannot be reached. Your words are kept; send again when it is back.'));
  } finally {
    sending = false;
    button.ariaBusy = 'false';
    // The response is as new as its mark; only changes that arrived in the
    // meantime may be newer.
    const at = card()?.dataset.key;
    if (!went || told.some((d) => d.all || d.any || d.touched?.includes(at))) live.refresh();
  }
}

// complained removes messages that are no longer true.
export const complained = () => { for (const p of $$('.problem[data-passing]')) p.remove(); };

function complain(article, sentence) {
  let p = $('.problem', article);
  if (!p) {
    p = document.createElement('p');
    p.className = 'problem';
    p.role = 'alert';
    $('.act', article).before(p);
  }
  p.dataset.passing = '';
  p.textContent = sentence;
}

// ---- keys -------------------------------------------------------------------

const typing = (el) => el.matches('textarea, select, input:not([type=radio], [type=checkbox])');
const keysOn = () => { try { return localStorage.getItem('askbus:keys') !== 'off'; } catch { return true; } };
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
  if (input.type === 'checkbox') return;
  if (onekey.on()) onekey.hold(input.form);
  const here = input.closest('.question');
  const next = $$('.question', card()).slice($$('.question', card()).indexOf(here) + 1).find((q) => !answered(q));
  if (next) {
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
    $('.typed', next)?.focus();
  }
}

function open(selector) {
  const here = question();
  const details = (selector === '.note' ? here && $('.note', here) : null) ?? $(selector, card() ?? document);
  if (!details) return false;
  details.open = true;
  const field = $('textarea', details) ?? $('summary', details);
  const bar = details.closest('.act');
  // The bar is on the screen already; a browser would scroll to its place below the card.
  field.focus({ preventScroll: Boolean(bar) });
  bar?.scrollTo(0, bar.scrollHeight);
  return true;
}

// Of the bar's fields one is open at a time, and those that have words: more would hide the question.
document.addEventListener('toggle', ({ target }) => {
  if (!target.open || !target.matches('.act > details')) return;
  for (const other of $$('.act > details[open]', card())) if (other !== target && !$('textarea', other).value) other.open = false;
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
  if (next) visit(next.href);
  return Boolean(next);
}

function yesNo(here, value) {
  const input = here?.dataset.kind === 'boolean' ? $(`input[value="${value}"]`, here) : null;
  if (!input || input.disabled) return false;
  choose(input);
  return true;
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
    case 'y': return yesNo(here, 'true');
    case 'n': return yesNo(here, 'false') || open('.note');
    case 'r': return open('.own');
    case 'x': return open('.decline');
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
      if (!touched(card())) {
        complain(card(), say('Nothing is chosen yet.'));
        here?.focus({ preventScroll: true });
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
  if (onekey.holding() && !typing(el) && !/^(Shift|Control|Alt|Meta)/.test(event.key)) {
    event.preventDefault(); // the key decides about the held form; the next ask must not get it
    pressed = event.key;
    if (event.key === 'z' || event.key === 'Escape') onekey.drop(); else onekey.send();
    return;
  }
  if (event.key === 'Escape' && steps.leave(card())) return;
  if (event.key === 'Enter' && el.matches('input.typed') && steps.next(card())) { event.preventDefault(); return; }
  if (typing(el)) return;
  // The browser handles Enter on a button, link or option.
  if (event.key === 'Enter' && el.matches('button, a, summary, input')) return;
  if (event.key !== 'Enter' && !keysOn()) return;
  if (!act(event.key)) return;
  event.preventDefault();
  pressed = event.key;
});

// A key that opens a field must not type into it, even when held down.
let pressed = '';
document.addEventListener('keyup', () => { pressed = ''; });
document.addEventListener('beforeinput', (event) => {
  if (pressed !== '' && event.data === pressed) event.preventDefault();
});

// ---- wiring -----------------------------------------------------------------

document.addEventListener('submit', (event) => {
  if (event.target.matches('[data-send]')) {
    event.preventDefault();
    // Several answers are reviewed before they are sent.
    if (event.target.matches('.answer') && touched(card()) && steps.whole(card())) { steps.review(card()); return; }
    send(event.target, event.submitter);
  }
  if (event.target.matches('[data-logout]')) forget();
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
    for (const p of $$('.problem[data-passing]', article)) p.remove();
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

function unhide() { for (const el of $$('[data-help], [data-copy]')) el.hidden = false; }

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
