// The inbox, live. The server draws everything; this module only takes over
// what differs, keeps drafts, listens to keys and ticks the clocks. One rule
// stands above the others: a form that somebody has touched is never replaced.

const policy = globalThis.trustedTypes?.createPolicy('askbus', { createHTML: (s) => s }) ?? { createHTML: (s) => s };
const parse = (html) => new DOMParser().parseFromString(policy.createHTML(html), 'text/html');
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const adopt = (node) => document.importNode(node, true);
const card = () => $('#card > article');
const root = document.documentElement;

// ---- clocks -----------------------------------------------------------------

const skew = Date.parse(root.dataset.now) - Date.now();

function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayClock = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

function words(style, at, now) {
  switch (style) {
    case 'since': return span(now - at);
    case 'ago': return now - at < 10_000 ? 'just now' : `${span(now - at)} ago`;
    case 'until': return at <= now ? 'now' : `in ${span(at - now)}`;
    default: return (new Date(at).toDateString() === new Date(now).toDateString() ? clock : dayClock).format(at);
  }
}

function tick() {
  const now = Date.now() + skew;
  for (const time of $$('time[data-tick]')) {
    const text = words(time.dataset.tick, Date.parse(time.dateTime), now);
    if (time.textContent !== text) time.textContent = text;
  }
}

// ---- drafts -----------------------------------------------------------------

const prefix = 'askbus:draft:';
const draftKey = (article) => `${prefix}${article.dataset.key}:${article.dataset.seq}`;
const secret = new Set(['answer_id', 'seq']);
const pristine = new WeakMap();
const acted = new WeakSet(); // articles that somebody has chosen or typed in since they came

function content(article) {
  const forms = $$('form[data-send]', article);
  return JSON.stringify(forms.map((form) => [...new FormData(form)].filter(([name, value]) => !secret.has(name) && value !== '')));
}

const touched = (article) => Boolean(article) && pristine.has(article) && content(article) !== pristine.get(article);

function remember(article) {
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

function restore(article) {
  let draft;
  try { draft = JSON.parse(localStorage.getItem(draftKey(article))); } catch { return; }
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
}

function sweep() {
  try {
    for (const name of Object.keys(localStorage).filter((n) => n.startsWith(prefix))) {
      if (Date.now() - JSON.parse(localStorage.getItem(name)).at > 30 * 86400e3) localStorage.removeItem(name);
    }
  } catch { /* nothing stored, or not ours */ }
}

// ---- one ask ----------------------------------------------------------------

// mount prepares an article that has just come into the page.
function mount() {
  const article = card();
  if (!article) return;
  for (const el of $$('.filter, .send-hint', article)) el.hidden = false;
  for (const details of $$('.compare', article)) pairs(details);
  pristine.set(article, article.hasAttribute('data-kept') ? '' : content(article));
  if (article.dataset.state === 'pending' && !article.hasAttribute('data-kept')) restore(article);
  if (article.dataset.state === 'resolved') forget(article.dataset.key);
  close(article);
}

// close takes the buttons away from a form that it is too late, or not ours, to send.
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
    select.ariaLabel = 'Which preview';
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

// replaceCard puts another article, or the empty state, in its place.
function replaceCard(doc) {
  $('#card').replaceChildren(...[...$('#card', doc).childNodes].map(adopt));
  document.body.className = doc.body.className;
  mount();
  unhide();
}

// ---- live updates -----------------------------------------------------------

// reconcile takes over the list by key, so that nothing that stays is redrawn.
function reconcile(from, to) {
  const old = new Map([...to.children].map((li) => [li.id, li]));
  let at = to.firstElementChild;
  for (const next of from.children) {
    let li = old.get(next.id);
    old.delete(next.id);
    if (!li) li = adopt(next);
    else if (li.innerHTML !== next.innerHTML) {
      const held = li.contains(document.activeElement);
      li.replaceChildren(...[...next.childNodes].map(adopt));
      if (held) $('a', li)?.focus();
    }
    if (li === at) at = at.nextElementSibling;
    else to.insertBefore(li, at);
  }
  for (const gone of old.values()) gone.remove();
}

function takeFrame(doc) {
  document.title = doc.title;
  reconcile($('#list', doc), $('#list'));
  for (const selector of ['#problem', '#count', '#more', '#ended', '#waiting > h2']) {
    const [now, next] = [$(selector), $(selector, doc)];
    if (now.innerHTML !== next.innerHTML || now.hidden !== next.hidden) now.replaceWith(adopt(next));
  }
}

function current() {
  const key = card()?.dataset.key;
  for (const a of $$('#list a')) {
    if (a.parentElement.dataset.key === key) a.setAttribute('aria-current', 'true');
    else a.removeAttribute('aria-current');
  }
}

function takeCard(doc) {
  const [now, next] = [card(), $('#card > article', doc)];
  if (!now) { if (next) replaceCard(doc); return; }
  if (!next || next.dataset.key !== now.dataset.key || now.dataset.state === 'resolved') return;
  // An ended ask may not say its sequence any more; another one is another life of the id.
  if (next.dataset.seq !== '0' && next.dataset.seq !== now.dataset.seq) { if (!touched(now)) replaceCard(doc); return; }
  if (next.dataset.state === 'pending') {
    const [mine, theirs] = [$('[data-live]', now), $('[data-live]', next)];
    if (mine.innerHTML !== theirs.innerHTML) mine.replaceChildren(...[...theirs.childNodes].map(adopt));
    return;
  }
  if (!touched(now)) { replaceCard(doc); return; }
  // Somebody was faster. What was typed stays to be read and copied.
  now.dataset.state = 'resolved';
  for (const form of $$('form[data-send]', now)) form.dataset.closed = '';
  close(now);
  $('.asker', now).after(adopt($('[data-verdict]', next)));
  forget(now.dataset.key);
}

let fetching = false;
let stale = false;
let sending = false;

async function refresh() {
  if (fetching) { stale = true; return; }
  fetching = true;
  try {
    const path = card()?.dataset.path ?? '/';
    let answer = await fetch(path);
    if (answer.status === 401) { location.reload(); return; }
    const gone = answer.status === 404; // its record is gone: the list still counts
    if (gone) answer = await fetch('/');
    const doc = parse(await answer.text());
    if (!$('#card', doc) || (card()?.dataset.path ?? '/') !== path) { stale ||= answer.ok; return; }
    takeFrame(doc);
    if (gone && card()?.dataset.state === 'pending' && !touched(card())) replaceCard(doc);
    else if (!sending) takeCard(doc);
    current();
    tick();
  } catch { /* the stream says when the inbox is back */ } finally {
    await new Promise((done) => setTimeout(done, 100));
    fetching = false;
    if (stale) { stale = false; refresh(); }
  }
}

let stream;

function listen() {
  if (stream && stream.readyState !== EventSource.CLOSED) return;
  stream = new EventSource('/events');
  stream.addEventListener('hello', () => {
    $('#lost').hidden = true;
    refresh().then(() => { root.dataset.live = 'on'; });
  });
  stream.addEventListener('change', refresh);
  stream.addEventListener('error', () => {
    root.dataset.live = 'off';
    $('#lost').hidden = false;
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden) { refresh(); listen(); } }, 3000);
  });
}

// ---- going from one ask to another ------------------------------------------

function takePage(doc, url, push) {
  takeFrame(doc);
  $('#done').replaceChildren(...[...$('#done', doc).childNodes].map(adopt));
  replaceCard(doc);
  current();
  tick();
  if (push) history.pushState(null, '', url);
}

async function visit(url, push = true) {
  if (card()) remember(card());
  try {
    const answer = await fetch(url);
    const doc = parse(await answer.text());
    if (!$('#card', doc)) { location.assign(url); return; }
    takePage(doc, answer.url, push);
    scrollTo(0, 0);
    $('#focus').focus({ preventScroll: true });
    $('#list a[aria-current]')?.scrollIntoView({ block: 'nearest' });
  } catch { location.assign(url); }
}

async function send(form) {
  if (sending || form.hasAttribute('data-closed')) return;
  sending = true;
  const article = card();
  const button = $('button', form);
  button.ariaBusy = 'true';
  remember(article);
  try {
    const answer = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
    const doc = parse(await answer.text());
    if (!$('#card', doc)) { complain(article, answer.status === 401 ? 'Not sent: you are signed out. Your words are kept. Run askbus login, open the link, and come back.' : 'Not sent: the inbox refused this page. Reload it; your words are kept.'); return; }
    if (answer.redirected) forget(article.dataset.key);
    takePage(doc, answer.redirected ? '/' : location.href, false);
    if (answer.redirected) {
      history.replaceState(null, '', '/');
      scrollTo(0, 0);
      $('#focus').focus({ preventScroll: true });
    } else {
      const fault = $('[aria-invalid]', card()) ?? $('.fault', card()) ?? $('#focus');
      fault.focus();
      fault.select?.();
    }
  } catch {
    complain(article, 'Not sent: the inbox cannot be reached. Your words are kept; send again when it is back.');
  } finally {
    sending = false;
    button.ariaBusy = 'false';
    refresh();
  }
}

function complain(article, sentence) {
  let p = $('.problem', article);
  if (!p) {
    p = document.createElement('p');
    p.className = 'problem';
    p.role = 'alert';
    $('.act', article).before(p);
  }
  p.textContent = sentence;
}

// ---- keys -------------------------------------------------------------------

const typing = (el) => el.matches('textarea, select, input:not([type=radio], [type=checkbox])');
const keysOn = () => { try { return localStorage.getItem('askbus:keys') !== 'off'; } catch { return true; } };
const tickable = 'input[type=radio], input[type=checkbox]';
const options = (question) => $$('.option:not([hidden])', question).filter((o) => !o.matches('.other, .none'));
const answered = (question) => Boolean($('input:checked', question)) || $$('.typed', question).some((el) => el.value.trim() !== '');

// question is the one that keys act on: where the focus is, else the first open one.
function question() {
  const all = $$('.question', card() ?? document);
  return document.activeElement.closest('.question') ?? all.find((q) => !answered(q)) ?? all.at(-1);
}

function choose(input) {
  input.focus();
  input.click();
  if (input.type === 'checkbox') return;
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
  const details = (selector === '.note' ? here && $('.note', here) : null) ?? $(selector, card());
  if (!details) return false;
  details.open = true;
  ($('textarea', details) ?? $('summary', details)).focus();
  return true;
}

function step(by) {
  const links = $$('#list a');
  const at = links.findIndex((a) => a.hasAttribute('aria-current'));
  const next = links[at < 0 ? 0 : at + by];
  if (next) visit(next.href);
  return Boolean(next);
}

// act does what a key says and reports whether it did.
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
      $('input[type=text]', other).focus();
      acted.add(card());
      remember(card());
      return true;
    }
    case 'n': return open('.note');
    case 'r': return open('.own');
    case 'x': return open('.decline');
    case 'c': { const d = card() && $('.context', card()); if (d) d.open = !d.open; return Boolean(d); }
    case 'j': return step(1);
    case 'k': return step(-1);
    case '/': { const f = here && $('[data-filter]', here); f?.focus(); return Boolean(f); }
    case '?': $('#help').showModal(); return true;
    case 'Enter': {
      const form = $('form.answer', card() ?? document);
      // A draft that came back by itself is not sent by an Enter meant for the ask before.
      if (!form || !acted.has(card()) || !touched(card())) return false;
      form.requestSubmit();
      return true;
    }
  }
  return false;
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
    event.preventDefault(); // finding is not sending
    const first = options(el.closest('.question'))[0];
    if (first && el.value) choose($(tickable, first));
    return;
  }
  if (event.key === 'Escape' && typing(el)) { el.blur(); return; }
  if (typing(el)) return;
  // Enter on a button, link or option does by itself what it says.
  if (event.key === 'Enter' && el.matches('button, a, summary, input')) return;
  if (event.key !== 'Enter' && !keysOn()) return;
  if (!act(event.key)) return;
  event.preventDefault();
  pressed = event.key;
});

// A key that opens a field must not write into it, however long it is held.
let pressed = '';
document.addEventListener('keyup', () => { pressed = ''; });
document.addEventListener('beforeinput', (event) => {
  if (pressed !== '' && event.data === pressed) event.preventDefault();
});

// ---- wiring -----------------------------------------------------------------

document.addEventListener('submit', (event) => {
  if (event.target.matches('[data-send]')) { event.preventDefault(); send(event.target); }
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
  }
  if (el.matches('[data-keys]')) { try { localStorage.setItem('askbus:keys', el.checked ? 'on' : 'off'); } catch { /* this page only */ } }
  const article = el.closest('article');
  if (article) { acted.add(article); remember(article); }
});

document.addEventListener('click', async (event) => {
  const el = event.target.closest('a[data-visit], [data-help], [data-copy]');
  if (!el || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (el.matches('[data-help]')) { $('#help').showModal(); return; }
  if (el.matches('[data-copy]')) {
    try { await navigator.clipboard.writeText($('code', el.parentElement).textContent); el.textContent = 'Copied'; } catch { el.textContent = 'Select it by hand'; }
    return;
  }
  event.preventDefault();
  visit(el.href);
});

addEventListener('popstate', () => visit(location.href, false));

document.addEventListener('visibilitychange', () => {
  if (document.hidden) { stream?.close(); root.dataset.live = 'off'; } else listen();
});

addEventListener('pagehide', () => stream?.close());
addEventListener('pageshow', (event) => { if (event.persisted) listen(); });

function unhide() { for (const el of $$('[data-help], [data-copy]')) el.hidden = false; }

sweep();
$('[data-keys]').checked = keysOn();
if (new URLSearchParams(location.search).has('done')) history.replaceState(null, '', '/');
mount();
unhide();
tick();
setInterval(tick, 1000);
if (!document.hidden) listen();
