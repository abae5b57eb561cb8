// The list of pending asks, kept up to date by the event stream, and the stream
// itself. Unchanged rows are not redrawn, and nothing moves where somebody
// types, reads or has the focus.

import { complained, meanwhile, redraw, replaceCard, takeCard } from './card.js';
import { remember, touched } from './drafts.js';
import { $, $$, adjust, adopt, card, cut, now, parse, request, tick } from './page.js';
import * as undo from './undo.js';
import { say } from './words.js';

const root = document.documentElement;
const rowOf = (key) => document.getElementById(`wait-${key}`);
const query = () => $('#list').dataset.query;

// ---- the list ---------------------------------------------------------------

// held applies a change to a part of the page, and restores the focus to the
// element that replaces the focused one.
function held(el, change) {
  const focused = el.contains(document.activeElement) ? document.activeElement : undefined;
  const [href, key] = [focused?.getAttribute('href'), focused?.closest('[data-key]')?.dataset.key];
  change();
  if (!focused || focused === document.activeElement) return;
  const again = focused.isConnected ? focused : (key && $('a', rowOf(key) ?? document.createElement('p'))) || $$('a', el).find((a) => a.getAttribute('href') === href);
  again?.focus({ preventScroll: true });
}

// drop removes a row. The focus moves to its neighbour.
function drop(li) {
  const next = li.nextElementSibling ?? li.previousElementSibling;
  const had = li.contains(document.activeElement);
  li.remove();
  if (had) (next ? $('a', next) : $('#focus')).focus({ preventScroll: true });
}

// put places a row below another, and returns it if it is new.
function put({ key, after, drawn }) {
  const ol = $('#list');
  let li = rowOf(key);
  const fresh = !li && drawn;
  if (fresh) li = adopt(drawn);
  else if (li && drawn && li.dataset.v !== drawn.dataset.v) {
    held(li, () => li.replaceChildren(...[...drawn.childNodes].map(adopt)));
    li.dataset.v = drawn.dataset.v;
  }
  if (!li) return undefined;
  const above = after ? rowOf(after) : null;
  const place = above ? above.nextElementSibling : ol.firstElementChild;
  if (place !== li) held(li, () => ol.insertBefore(li, place));
  if (fresh || drawn) tick(li);
  return fresh ? li : undefined;
}

// announce tells screen readers and notify.js about new asks.
function announce(fresh) {
  if (fresh.length === 0) return;
  document.dispatchEvent(new CustomEvent('askbus:fresh', { detail: fresh.map((li) => li.dataset.key) }));
  $('#news').textContent = fresh.length === 1 ? say('New ask: %s', $('.heading', fresh[0]).textContent) : say('%d new asks', fresh.length);
}

const body = (html) => parse(html).body;

// take applies an event of the stream.
function take(d, mark) {
  const rows = d.rows ?? [];
  const drawn = new Map([...body(rows.map((r) => r.html ?? '').join('')).children].map((li) => [li.dataset.key, li]));
  const keys = new Set(rows.map((r) => r.key));
  const gone = d.all ? [...$('#list').children].map((li) => li.dataset.key).filter((key) => !keys.has(key)) : d.gone ?? [];
  for (const key of gone) { const li = rowOf(key); if (li) drop(li); }
  const came = rows.map((r) => put({ ...r, drawn: drawn.get(r.key) })).filter(Boolean);
  for (const [name, html] of Object.entries(d.parts ?? {})) {
    const el = document.getElementById(name);
    if (el) held(el, () => el.replaceChildren(...[...body(html).childNodes].map(adopt)));
    if (el) tick(el);
  }
  $('#waiting > h2').hidden = !$('#list').firstElementChild;
  $('#list').dataset.mark = mark;
  document.title = d.waiting > 0 ? `(${d.waiting}) askbus` : 'askbus';
  if (document.hidden) others?.postMessage(document.title);
  mine();
  const named = new Set(d.touched);
  announce(came.filter((li) => d.all || d.any || named.has(li.dataset.key))); // others only moved up from the next page
  document.dispatchEvent(new CustomEvent('askbus:rows', { detail: gone.filter((key) => named.has(key)) }));
  const at = card()?.dataset.key;
  if (!meanwhile(d) && (d.all || d.any || !at || named.has(at))) refresh();
}

// takeFrame replaces the frame by that of a fetched page, or of what is drawn of it.
export function takeFrame(doc) {
  if (doc.documentElement.dataset.person !== root.dataset.person) { location.reload(); return; } // somebody else has signed in here
  adjust(doc);
  const list = $('#list', doc);
  if (!list) return;
  const same = list.dataset.query === query();
  document.title = doc.title;
  document.dispatchEvent(new CustomEvent('askbus:frame', { detail: doc }));
  const next = [...list.children];
  const keys = new Set(next.map((li) => li.dataset.key));
  for (const li of [...$('#list').children]) if (!keys.has(li.dataset.key)) drop(li);
  const came = next.map((li, i) => put({ key: li.dataset.key, after: next[i - 1]?.dataset.key, drawn: li })).filter(Boolean);
  Object.assign($('#list').dataset, { query: list.dataset.query, mark: list.dataset.mark });
  for (const selector of ['#problem', '#count', '#more', '#ended', '#waiting > h2']) {
    const [here, there] = [$(selector), $(selector, doc)];
    if (here.innerHTML !== there.innerHTML || here.hidden !== there.hidden) here.replaceWith(adopt(there));
  }
  undo.draw();
  if (same) announce(came); // also those that came while the stream was interrupted: it does not name them again
  if (stream && stays) connect(); // the current stream is of another list
}

// mine marks the row of the ask in focus.
export function mine() {
  const key = card()?.dataset.key;
  for (const a of $$('#list a[aria-current]')) if (a.parentElement.dataset.key !== key) a.removeAttribute('aria-current');
  if (key) $('a', rowOf(key) ?? document.createElement('p'))?.setAttribute('aria-current', 'true');
  redraw();
}

// ---- the ask in focus -------------------------------------------------------

// part makes the server draw only the ask in focus; the stream keeps the list
// up to date.
let synced = false;
export const part = (href) => ({ ...undo.header(), ...(synced && (!href || new URL(href, location.href).search === query()) ? { 'Askbus-Part': 'card' } : {}) });

let fetching = false;
let stale = false;

// refresh fetches the ask in focus again, or the next one if none is in focus.
export async function refresh() {
  if (fetching) { stale = true; return; }
  fetching = true;
  try {
    const path = card()?.dataset.path ?? '/';
    const at = $('#card').dataset.query;
    const headers = part();
    let answer = await request(path + at, { headers });
    if (answer.status === 401) { signedOut(); return; }
    $('#signedout').hidden = true;
    const gone = answer.status === 404; // its record has expired: only the list is used
    if (gone) answer = await request(`/${at}`, { headers });
    const doc = parse(await answer.text());
    if (!$('#card', doc) || (card()?.dataset.path ?? '/') !== path || $('#card').dataset.query !== at) { stale ||= answer.ok; return; }
    takeFrame(doc);
    if (gone && card()?.dataset.state === 'pending' && !touched(card())) replaceCard(doc);
    else takeCard(doc);
    mine();
    tick();
  } catch { /* the stream says when the inbox is back */ } finally {
    await new Promise((done) => setTimeout(done, 100));
    fetching = false;
    if (stale) { stale = false; refresh(); }
  }
}

let again; // the next check of whether somebody is signed in again

// signedOut keeps what somebody has typed on the page, and checks whether they
// are signed in again; otherwise it opens the sign-in page. It stays if an answer was
// held: its person is told that it is not sent.
function signedOut() {
  const typed = card() && touched(card());
  if (!typed && !undo.any() && !$('#done .unsent')) { location.reload(); return; }
  if (typed) remember(card());
  $('#signedout').hidden = false;
  $('#lost').hidden = true; // it is reached
  stream?.close();
  clearTimeout(again);
  again = setTimeout(async () => {
    const back = await request('/events', { method: 'HEAD' }).then((r) => r.status !== 401, () => false);
    if (back) { $('#signedout').hidden = true; complained(); listen(); } else signedOut();
  }, 2000);
}

// ---- the stream -------------------------------------------------------------

// The stream stays open while the tab is hidden, because a person with
// notifications counts as present. Browsers allow six connections to a server:
// only one of several hidden tabs has a stream, and the others copy its count;
// of several visible windows four have one, and the others open theirs for a
// moment with every beat.
let stream;
let stays = true; // whether the stream stays open
const beat = Number(root.dataset.beat); // interval of the server's heartbeats
let heard = Date.now(); // when the stream last said something
let looked = Date.now();
let others;

// address returns the stream's URL, with the page's listing and mark.
function address() {
  const { query: listing, mark } = $('#list').dataset;
  const fields = new URLSearchParams(listing);
  fields.set('mark', mark);
  if (document.hidden) {
    let told = false;
    try { told = localStorage.getItem('askbus:notify') === 'on' && Notification.permission === 'granted'; } catch { /* no notifications */ }
    fields.set('hidden', 1);
    fields.set('notify', told ? 1 : 0);
    fields.set('looked', Math.floor((looked + now() - Date.now()) / 1000));
  }
  return `/events?${fields}`;
}

function listen() {
  if (!stream || stream.readyState === EventSource.CLOSED) connect();
}

// silent opens another stream once the current one says nothing any more: after
// a laptop slept or changed its network, a browser can wait for minutes.
function silent() {
  if (!stream || stream.readyState === EventSource.CLOSED || Date.now() - heard < 2 * beat) return;
  stream.close();
  lost();
  cut();
  connect();
}

// doubt opens another stream a while after something could not be sent. The current
// one may have lived through it, and then nothing else says when the inbox is back.
function doubt() {
  const own = stream;
  setTimeout(() => { if (own && own === stream && own.readyState === EventSource.OPEN) connect(); }, 3000);
}

export function lost() {
  synced = false;
  root.dataset.live = 'off';
  $('#lost').hidden = false;
}

// connect opens a stream, and closes the previous one once the new one is open.
// The new one sends what happens in between.
function connect() {
  const before = stream;
  const own = new EventSource(address());
  stream = own;
  heard = Date.now();
  for (const name of ['rows', 'hello', 'beat']) own.addEventListener(name, () => { if (stream === own) heard = Date.now(); });
  own.addEventListener('rows', (event) => { if (stream === own) take(JSON.parse(event.data), event.lastEventId); });
  own.addEventListener('hello', () => {
    before?.close();
    if (stream !== own) return;
    synced = stays;
    if (!stays) own.close();
    $('#lost').hidden = true;
    complained();
    document.dispatchEvent(new CustomEvent('askbus:back'));
    refresh().then(() => { if (stream === own) root.dataset.live = 'on'; });
  });
  own.addEventListener('error', () => {
    if (stream !== own) return;
    before?.close();
    lost();
    if (own.readyState !== EventSource.CLOSED) return;
    refresh(); // who is signed out sees it at once
    setTimeout(() => { if (stream === own && $('#signedout').hidden) listen(); }, 3000);
  });
}

let release; // releases the lock of this page's stream, or the wait for it

// hide takes the hidden tabs' lock, or waits for the tab that holds it.
function hide() {
  looked = Date.now();
  release?.();
  stays = true;
  if (!navigator.locks) { connect(); return; }
  const waiting = new AbortController();
  let done = () => {};
  release = () => { waiting.abort(); done(); };
  const duty = (lock) => {
    if (!lock) {
      stream?.close();
      synced = false;
      root.dataset.live = 'off';
      navigator.locks.request('askbus:hidden', { signal: waiting.signal }, duty).catch(() => {});
      return undefined;
    }
    if (waiting.signal.aborted) return undefined;
    connect();
    return new Promise((end) => { done = end; });
  };
  navigator.locks.request('askbus:hidden', { ifAvailable: true }, duty).catch(() => {});
}

// place takes one of the visible windows' locks, and tells whether this page has one.
function place(told, n = 1) {
  navigator.locks.request(`askbus:shown:${n}`, { ifAvailable: true }, (lock) => {
    if (!lock && !release && n < 4) { place(told, n + 1); return undefined; }
    told(Boolean(lock ?? release));
    return lock && !release ? new Promise((end) => { release = end; }) : undefined;
  }).catch(() => told(true));
}

async function show() {
  release?.();
  release = undefined;
  stays = !navigator.locks || await new Promise((told) => { place(told); });
  if (!document.hidden) connect();
}

// start opens the stream. It runs after the page is drawn.
export function start() {
  others = 'BroadcastChannel' in globalThis ? new BroadcastChannel('askbus') : undefined;
  others?.addEventListener('message', ({ data }) => { if (document.hidden && stream?.readyState !== EventSource.OPEN) document.title = data; });
  const begin = () => { if (document.hidden) hide(); else show(); };
  document.addEventListener('visibilitychange', begin);
  document.addEventListener('askbus:away', doubt);
  document.addEventListener('askbus:notify', () => { if (document.hidden) connect(); });
  addEventListener('pagehide', () => { stream?.close(); release?.(); });
  addEventListener('online', () => { if (stream?.readyState === EventSource.CONNECTING) connect(); else silent(); }); // not when the browser tries again
  setInterval(silent, beat / 4);
  setInterval(() => { if (!stays && stream.readyState === EventSource.CLOSED && $('#signedout').hidden) show(); }, beat);
  addEventListener('pageshow', (event) => { if (event.persisted) begin(); });
  begin();
}
