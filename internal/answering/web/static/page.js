// What every module of the inbox uses: elements, the ask in focus, and the
// server's clock.
import { language, say } from './words.js';

const policy = globalThis.trustedTypes?.createPolicy('askbus', { createHTML: (s) => s }) ?? { createHTML: (s) => s };
export const parse = (html) => new DOMParser().parseFromString(policy.createHTML(html), 'text/html');
export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
export const adopt = (node) => document.importNode(node, true);
export const card = () => $('#card > article');

let network = new AbortController();

// request is fetch with a limit: in a dead network it would wait for minutes.
export const request = (url, options = {}) => fetch(url, { ...options, signal: AbortSignal.any([network.signal, AbortSignal.timeout(20_000)]) });

// cut ends the requests that are under way in a network that was found dead.
export function cut() {
  network.abort(new TypeError('dead'));
  network = new AbortController();
}

// ---- clocks -----------------------------------------------------------------

let skew;
export const now = () => Date.now() + skew; // the server's time

// adjust takes the server's time from a page: this machine's clock may have been set since the last one.
export function adjust(doc) { skew = Date.parse(doc.documentElement.dataset.now) - Date.now(); }
adjust(document);

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

const weekdayClock = new Intl.DateTimeFormat(clocks, { weekday: 'short', hour: '2-digit', minute: '2-digit' });

// left rounds the time that is left to the unit in which span shows it.
function left(ms) {
  for (const [unit, below] of [[1e3, 60e3], [60e3, 3600e3], [3600e3, 48 * 3600e3]]) {
    const rounded = Math.round(ms / unit) * unit;
    if (rounded < below) return span(rounded);
  }
  return span(Math.round(ms / 86400e3) * 86400e3);
}

function words(style, at, now) {
  switch (style) {
    case 'since': return span(now - at);
    case 'ago': return now - at < 10_000 ? say('just now') : say('%s ago', span(now - at));
    case 'left': return say('%s left', at - now < 3600e3 ? `${Math.floor(Math.max(0, at - now) / 60e3)}:${String(Math.floor(Math.max(0, at - now) / 1e3) % 60).padStart(2, '0')}` : left(at - now));
    case 'until': return at <= now ? say('now') : say('in %s', left(at - now));
    case 'day': return (at - now < 6 * 86400e3 ? weekdayClock : dayClock).format(at);
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
