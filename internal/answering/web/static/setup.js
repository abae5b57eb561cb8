// The page of the first steps: it remembers that this browser has rung.

import './copy.js';

const step = document.querySelector('[data-step-ring]');
const mark = () => { step.dataset.done = ''; };
try { if (localStorage.getItem('askbus:rang') === 'on') mark(); } catch { /* this page only */ }
document.addEventListener('askbus:rang', ({ detail }) => {
  if (!detail) return;
  mark();
  try { localStorage.setItem('askbus:rang', 'on'); } catch { /* this page only */ }
});
document.addEventListener('askbus:visit', ({ detail }) => location.assign(detail));
