// The ask in focus: how its article is prepared, replaced and updated. Nothing
// that somebody has touched is replaced.
import { begin, leave, remember, restore, touched } from './drafts.js';
import { $, $$, adopt, card, tick } from './page.js';
import * as steps from './steps.js';
import * as undo from './undo.js';
import { say } from './words.js';

// mount prepares an article that was inserted into the page.
export function mount() {
  const article = card();
  if (!article) return;
  for (const el of $$('.filter, .send-hint, .steps, .read', article)) el.hidden = false;
  thumbs(article);
  if (matchMedia('(max-width: 40rem)').matches && article.dataset.state === 'pending') $('.context:not(.permits)', article)?.removeAttribute('open'); // it is below the options
  for (const details of $$('.compare', article)) pairs(details);
  begin(article);
  if (article.dataset.state === 'pending' && !article.hasAttribute('data-kept')) restore(article);
  if ($('[data-files]', article)) import('./files.js').then((files) => files.show(article), () => {}); // not part of the first load
  if (undo.has(article.dataset.key)) { // its answer is about to be sent
    begin(article);
    for (const form of $$('form[data-send]', article)) form.dataset.closed = '';
  }
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
export function ready() {
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

// replaceCard replaces the card by another article or the empty state. Who had the focus in it keeps a place: the main part.
export function replaceCard(doc) {
  const had = $('#card').contains(document.activeElement);
  $('#card').dataset.query = $('#card', doc).dataset.query;
  $('#card').replaceChildren(...[...$('#card', doc).childNodes].map(adopt));
  document.body.className = doc.body.className;
  mount();
  unhide();
  ready();
  if (had && document.activeElement === document.body) $('#focus').focus({ preventScroll: true });
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
  // An ended ask may have no life; another one is another ask of the
  // id.
  if (next.dataset.life && next.dataset.life !== now.dataset.life) { if (!touched(now)) replaceCard(doc); return; }
  if (next.dataset.state === 'pending') {
    for (const mine of $$('[data-live]', now)) {
      const theirs = $(`[data-live=${mine.dataset.live}]`, next);
      if (!theirs || mine.innerHTML === theirs.innerHTML) continue;
      mine.replaceChildren(...[...theirs.childNodes].map(adopt));
      tick(mine);
      if (mine.dataset.live === 'votes') $('[data-told]', now)?.remove(); // how they stood then
    }
    return;
  }
  if (!touched(now)) { replaceCard(doc); return; }
  // Somebody else answered first. What was typed stays, to be read and copied.
  now.dataset.state = 'resolved';
  $('#turn')?.setAttribute('inert', ''); // nobody is at it any more, and nothing can be handed over
  steps.leave(now);
  for (const form of $$('form[data-send]', now)) form.dataset.closed = '';
  close(now);
  $('.about', now).replaceChildren(...[...$('.about', next).childNodes].map(adopt)); // nothing awaits it any more
  $('.act', now).before(adopt($('[data-verdict]', next))); // below the field, so that nothing moves while the person types
  remember(now);
}

let sending = false;
let told = []; // changes that arrive while a form is being sent

// hold keeps changes from now on; it reports whether nothing was being sent.
export function hold() {
  if (sending) return false;
  [sending, told] = [true, []];
  return true;
}

// release ends hold and returns the changes.
export function release() {
  sending = false;
  return told;
}

// meanwhile keeps a change until the pending request ends, and reports whether
// it did.
export function meanwhile(change) {
  if (sending) told.push(change);
  return sending;
}

// complained removes messages that are no longer true.
export const complained = () => { for (const p of $$('.problem[data-passing]')) p.remove(); };

export function complain(article, sentence) {
  if (!article) return;
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

export function unhide() { for (const el of $$('[data-help], [data-copy]')) el.hidden = false; }
