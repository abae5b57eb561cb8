// Drafts: what somebody has typed or chosen, and not sent, is kept in the
// browser's storage.
import { $, $$ } from './page.js';
import { say } from './words.js';

const all = 'askbus:draft:';
const prefix = `${all}${encodeURIComponent(document.documentElement.dataset.person)}:`; // another person of this browser has their own
// Each tab has its own drafts, so that tabs do not overwrite each other's. The session has the tab's id only between two
// pages, because a tab that is duplicated takes the session along.
const tab = (() => {
  try {
    const id = sessionStorage.getItem('askbus:tab') ?? Math.random().toString(36).slice(2);
    addEventListener('pagehide', () => sessionStorage.setItem('askbus:tab', id));
    addEventListener('pageshow', () => sessionStorage.removeItem('askbus:tab'));
    return id;
  } catch { return 'only'; }
})();
const draftsOf = (article) => `${prefix}${article.dataset.key}:${article.dataset.life}:`;
const draftKey = (article) => draftsOf(article) + tab;
const secret = new Set(['answer_id', 'life', 'me']);
const pristine = new WeakMap();
export const acted = new WeakSet(); // articles in which somebody has chosen or typed something

// contents caches the values of forms, because they are read often and reading
// is slow. Code that changes a form dispatches change.
const contents = new WeakMap();
export const changed = (el) => contents.delete(el.closest('article'));
for (const name of ['input', 'change', 'reset']) document.addEventListener(name, ({ target }) => { if (target.closest?.('article')) changed(target); }, { capture: true });

// An answer that is being changed is no longer the refused one. The words about
// it keep their place: what the person types into must not move.
document.addEventListener('input', ({ target }) => {
  const question = target.closest('.question.fault') ?? (target.ariaInvalid && $('.question.fault', target.closest('article')));
  if (!question) return;
  question.classList.replace('fault', 'mended');
  for (const field of [target, ...$$('[aria-invalid]', question)]) field.ariaInvalid = null;
});

function content(article) {
  if (!contents.has(article)) contents.set(article, read(article));
  return contents.get(article);
}

function read(article) {
  const forms = $$('form[data-send]', article);
  return JSON.stringify(forms.map((form) => [...new FormData(form)].filter(([name, value]) => !secret.has(name) && value !== '')));
}

// begin remembers what the forms of an article hold before somebody touches them.
export const begin = (article) => pristine.set(article, article.hasAttribute('data-kept') ? '' : content(article));

export const touched = (article) => Boolean(article) && pristine.has(article) && content(article) !== pristine.get(article);

// answering reports whether somebody has begun to answer an ask, in this tab or another.
export const answering = (article) => touched(article) || Boolean(find(draftsOf(article)));

// remember stores the draft of an article. Sent is the id of the answer as which it is about to be sent: the draft has
// such ids until it is changed.
export function remember(article, sent) {
  const name = draftKey(article);
  try {
    if (!touched(article)) { localStorage.removeItem(name); return; }
    const forms = content(article);
    const before = JSON.parse(localStorage.getItem(name));
    const ids = before?.forms === forms ? before.ids ?? [] : [];
    if (sent) ids.push(sent);
    localStorage.setItem(name, JSON.stringify({ at: Date.now(), forms, ids: ids.slice(-8) }));
  } catch { /* no storage: the page itself still holds the words */ }
}

document.addEventListener('submit', ({ target }) => {
  const article = target.matches('[data-send]') && target.closest('article');
  if (article) remember(article, target.elements.answer_id?.value);
}, { capture: true });

export function forget(key) {
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

// leave shows what somebody typed for an ask that has ended and did not send. What ended it may be theirs from another
// surface; only the draft that became the answer is forgotten.
export function leave(article) {
  const draft = find(`${prefix}${article.dataset.key}:`);
  const typed = draft ? JSON.parse(draft.forms).flat().filter(([name, value]) => !/^(select|boolean):/.test(name) && value.trim()) : [];
  if (typed.length === 0 || draft.ids?.includes($('[data-verdict]', article)?.dataset.answer)) { forget(article.dataset.key); return; }
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

export function restore(article) {
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

export function sweep() {
  try {
    for (const name of Object.keys(localStorage).filter((n) => n.startsWith(all))) {
      if (Date.now() - JSON.parse(localStorage.getItem(name)).at > 30 * 86400e3) localStorage.removeItem(name);
    }
  } catch { /* nothing stored, or not ours */ }
}
