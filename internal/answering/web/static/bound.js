// Pages below a bound path, in a browser that does not find the inbox's own
// host: everything that they load, send and lead to stays below it. The path is
// a secret of this origin, and the cookie is valid only with it.
const kept = 'askbus-bound';
const bound = /^\/~([\w-]{22,64})(?=\/)/.exec(location.pathname);

// secret returns the path's secret, which this browser makes up once.
export const secret = () => {
  let key = localStorage.getItem(kept);
  if (!/^[\w-]{22,64}$/.test(key ?? '')) {
    key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
    localStorage.setItem(kept, key);
  }
  return key;
};

const under = (at) => {
  const url = new URL(at, location.href);
  if (url.origin !== location.origin || /^\/(~|static\/)/.test(url.pathname)) return at;
  url.pathname = bound[0] + url.pathname;
  return url.href;
};

// A path that another page made up is not this browser's.
if (bound && bound[1] !== secret()) location.replace(location.origin + location.pathname.slice(bound[0].length) + location.search);
else if (bound) {
  const send = window.fetch, Stream = window.EventSource;
  window.fetch = (at, options) => send(under(at), options);
  window.EventSource = class extends Stream { constructor(at, options) { super(under(at), options); } };
  addEventListener('click', ({ target }) => {
    const link = target.closest?.('a[href]');
    if (link) link.href = under(link.href);
  }, true);
  addEventListener('submit', ({ target, submitter }) => {
    if (target.hasAttribute('action')) target.setAttribute('action', under(target.getAttribute('action')));
    if (submitter?.hasAttribute('formaction')) submitter.setAttribute('formaction', under(submitter.getAttribute('formaction')));
  }, true);
}

export const isBound = Boolean(bound);
