// The reader shows a preview or a diff on the full screen, or two side by side.
// It copies them from the card and fetches nothing.

import { $, $$ } from './page.js';
import { say } from './words.js';

let previews = []; // of the question, in the order of its options
let at = 0;
let two = false;
let from; // the element that had the focus

const dialog = () => $('#reader');

function draw() {
  const d = dialog();
  const shown = two && previews.length > 1 ? [at, (at + 1) % previews.length] : [at];
  $('#reader-title', d).textContent = shown.map((i) => previews[i].dataset.preview).join(' · ');
  $('.two', d).replaceChildren(...shown.map((i) => {
    const pane = document.createElement('section');
    pane.className = 'pane';
    const name = document.createElement('h3');
    name.textContent = previews[i].dataset.preview;
    name.dir = 'auto';
    name.hidden = shown.length === 1;
    const body = document.createElement('div');
    body.tabIndex = 0;
    body.role = 'group';
    body.ariaLabel = say('Preview of %s', previews[i].dataset.preview);
    body.append(...[...previews[i].childNodes].filter((n) => !n.matches?.('.whose')).map((n) => n.cloneNode(true)));
    pane.append(name, body);
    return pane;
  }));
  for (const name of ['previous', 'next', 'two']) $(`[data-reader=${name}]`, d).hidden = previews.length < 2;
  $('[data-reader=two]', d).ariaPressed = String(shown.length === 2);
  $('[data-reader=wrap]', d).ariaPressed = String('wrap' in d.dataset);
}

// openReader opens the reader at the chosen preview, else at the visible one.
export function openReader(question) {
  previews = $$('.preview[data-preview]', question ?? document);
  if (previews.length === 0) return false;
  const chosen = $('.option:has(> label > :checked) > .preview', question) ?? $('.shown > .preview', question);
  at = Math.max(0, previews.indexOf(chosen));
  two = false;
  from = document.activeElement;
  draw();
  dialog().showModal();
  $('.pane > div', dialog()).focus();
  return true;
}

function act(name) {
  const d = dialog();
  const focused = document.activeElement?.dataset?.reader;
  switch (name) {
    case 'close': d.close(); return;
    case 'previous': at = (at + previews.length - 1) % previews.length; break;
    case 'next': at = (at + 1) % previews.length; break;
    case 'two': two = !two && previews.length > 1; break;
    case 'wrap': d.toggleAttribute('data-wrap'); break;
    default: return;
  }
  draw();
  if (!focused) $('.pane > div', d).focus();
}

const keys = { w: 'wrap', v: 'two', n: 'next', p: 'close', ']': 'next', '[': 'previous' };

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-reader], [data-read]');
  if (!button) return;
  if (button.matches('[data-read]')) openReader(button.closest('.question')); else act(button.dataset.reader);
});

dialog().addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  event.stopPropagation();
  act(keys[event.key]);
});
dialog().addEventListener('close', () => { if (from?.isConnected) from.focus(); });
