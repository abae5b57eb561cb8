// Several questions: which are answered, how keys move between them, and the
// review before sending.

import { $, $$ } from './page.js';
import { say } from './words.js';

const questions = (article) => $$('.question', article);
const several = (article) => questions(article).length > 1;

// said returns the answer to a question, as the review shows it.
function said(question) {
  const words = $$('.option:has(> label > :checked)', question).map((o) => (o.matches('.other') ? $('input[type=text]', o).value.trim() : o.matches('.none') ? '' : $('.label', o).textContent));
  for (const el of $$('.typed', question)) words.push(el.value.trim());
  return words.filter(Boolean).join(say(', '));
}

// words returns what a form sends, in short.
export function words(article, form) {
  const all = questions(article);
  const own = $('[name=response]', article)?.value.trim();
  const text = form.matches('#decline') ? say('Decline') : own || (all.length === 1 ? said(all[0]) : $('.title', article)?.textContent) || '…';
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

const required = (question) => !question.hasAttribute('data-optional');

// mark updates the steps.
export function mark(article) {
  const steps = $('.steps', article);
  if (!steps) return;
  const here = document.activeElement?.closest('.question');
  if (here) here.dataset.seen = '';
  for (const a of $$('a', steps)) {
    const q = document.getElementById(a.dataset.stepTo);
    a.toggleAttribute('data-done', Boolean(q && said(q)));
    if (q && q === here) {
      a.setAttribute('aria-current', 'step');
      steps.scrollLeft = a.offsetLeft - (steps.clientWidth - a.offsetWidth) / 2; // on a phone they are one row
    } else a.removeAttribute('aria-current');
  }
  const hint = $('.send-hint', article);
  if (hint) hint.hidden = several(article) && !('review' in article.dataset); // Enter goes on until everything is ready to send
  const button = $('.send', article);
  if (button && several(article)) button.textContent = 'review' in article.dataset ? say('Send answers') : say('Review');
}

function go(question) {
  if (!question) return false;
  question.focus({ preventScroll: true });
  question.scrollIntoView({ block: 'nearest' });
  $('.typed', question)?.focus({ preventScroll: true });
  mark(question.closest('article'));
  return true;
}

// move moves by a number of questions from the focused one.
export function move(article, by) {
  if (!article || !several(article) || 'review' in article.dataset) return false;
  const all = questions(article);
  const at = all.indexOf(document.activeElement?.closest('.question'));
  return go(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by]);
}

// next handles Enter with several questions: it moves to the next question that
// needs an answer, then to the review. It returns false if the review can be
// sent.
export function next(article) {
  if (!several(article) || 'review' in article.dataset) return false;
  const all = questions(article);
  const at = all.indexOf(document.activeElement?.closest('.question'));
  const open = (q) => required(q) && !said(q);
  const to = all.slice(at + 1).find(open) ?? all.find(open);
  if (to && to !== all[at]) return go(to);
  if (to) return false; // the current question needs an answer: the server reports it
  review(article);
  return true;
}

// whole reports whether every required question has an answer and the review
// was not shown yet.
export function whole(article) {
  return several(article) && !('review' in article.dataset) && !questions(article).some((q) => required(q) && !said(q));
}

// unseen goes to the first required question without an answer that nobody has
// looked at yet, and reports whether there is one: nothing is wrong there so far.
export function unseen(article) {
  if (!several(article) || 'review' in article.dataset) return false;
  return go(questions(article).find((q) => required(q) && !said(q) && !('seen' in q.dataset)));
}

export function review(article) {
  leave(article);
  $('#fault', article)?.remove(); // everything has an answer again
  const box = document.createElement('section');
  box.className = 'review';
  box.tabIndex = -1;
  const heading = document.createElement('h2');
  heading.textContent = say('Your answers');
  const list = document.createElement('dl');
  for (const q of questions(article)) {
    const row = document.createElement('div');
    const dt = document.createElement('dt');
    dt.dir = 'auto';
    dt.textContent = $('.text', q).textContent;
    const dd = document.createElement('dd');
    dd.dir = 'auto';
    const words = said(q);
    dd.textContent = words || say('No answer');
    dd.classList.toggle('left', !words);
    const note = $('.note textarea', q)?.value.trim();
    row.append(dt, dd);
    if (note) {
      const noted = document.createElement('dd');
      noted.className = 'noted left';
      noted.dataset.lead = say('Note: ');
      noted.dir = 'auto';
      noted.textContent = note;
      row.append(noted);
    }
    const change = document.createElement('button');
    change.type = 'button';
    change.className = 'second';
    change.textContent = say('Change');
    change.ariaLabel = say('Change the answer to: %s', dt.textContent);
    change.addEventListener('click', () => { leave(article); go(q); });
    row.append(change);
    list.append(row);
  }
  box.append(heading, list);
  $('.act', article).before(box);
  article.dataset.review = '';
  mark(article);
  box.focus({ preventScroll: true });
  article.scrollIntoView({ block: 'nearest' });
}

// leave returns from the review to the questions.
export function leave(article) {
  if (!article || !('review' in article.dataset)) return false;
  delete article.dataset.review;
  $('.review', article)?.remove();
  mark(article);
  return true;
}

document.addEventListener('focusin', (event) => { const article = event.target.closest('article.ask'); if (article) mark(article); });
document.addEventListener('click', (event) => {
  const to = event.target.closest('[data-step-to]');
  if (!to) return;
  event.preventDefault();
  leave(to.closest('article'));
  go(document.getElementById(to.dataset.stepTo));
});
