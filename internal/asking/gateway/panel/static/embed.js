// The panel above another product's chat input. It speaks interact over the
// gateway's WebSocket, and tells its parent when an answer is stored.

const params = new URLSearchParams(location.search);
const session = params.get('session') ?? params.get('sessionId') ?? '';
const panel = document.getElementById('panel');
const lost = document.getElementById('lost');
const waiting = new Map(); // frame id -> { data, sent }
let socket, shown, retry = 0;

function tell(type, data) {
  if (parent === window) return;
  const configured = JSON.parse(document.body.dataset.origins);
  const around = location.ancestorOrigins?.[0];
  const targets = around && configured.includes(around) ? [around] : around ? [] : configured;
  for (const origin of targets) parent.postMessage({ type, sessionId: session, ...data }, origin);
}

function connect() {
  const url = new URL(location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  url.pathname = url.pathname.replace(/embed$/, 'ws');
  url.search = new URLSearchParams({ sessionId: session, by: params.get('by') ?? '', card: 1, lang: document.documentElement.lang });
  socket = new WebSocket(url);
  socket.onopen = () => {
    retry = 0;
    lost.hidden = true;
    document.documentElement.dataset.live = 'on';
    if (waiting.size) socket.send(JSON.stringify({ type: 'hello', data: { open: [...waiting.keys()] } }));
  };
  socket.onmessage = (event) => {
    const { type, data } = JSON.parse(event.data);
    if (type === 'interaction_request') ask(data);
    if (type === 'interaction_closed') close(data);
    if (type === 'error') complain(data);
  };
  socket.onclose = () => {
    delete document.documentElement.dataset.live;
    lost.hidden = false;
    setTimeout(connect, Math.min(10000, 500 * 2 ** retry++));
  };
}

function ask(data) {
  const fresh = !waiting.has(data.id);
  if (fresh) waiting.set(data.id, { data });
  else waiting.get(data.id).sent = undefined; // asked again: what was sent did not count
  if (fresh) tell('askbus:asked', { id: data.id, question: data.question });
  draw();
}

function close({ id, status, by }) {
  const one = waiting.get(id);
  waiting.delete(id);
  if (one?.sent !== undefined && status === 'answered') tell('askbus:answered', { id, question: one.data.question, result: one.sent, by });
  else tell('askbus:closed', { id, status, by });
  draw();
}

function complain({ id, detail, errors }) {
  const one = waiting.get(id);
  if (!one) return;
  one.sent = undefined;
  one.wrong = errors?.map((e) => e.detail).join(' ') || detail;
  if (shown === id) shown = undefined;
  draw();
}

function answer(id, result) {
  const one = waiting.get(id);
  if (!one || one.sent !== undefined || socket.readyState !== WebSocket.OPEN) return;
  one.sent = result;
  one.wrong = undefined;
  socket.send(JSON.stringify({ type: 'interaction_response', data: { id, sessionId: one.data.sessionId, result } }));
  draw();
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((c) => c !== undefined));
  return made;
}

// inline draws the spans of a text: what an agent wrote stays text, and a link
// says its host. Within a button nothing else can be pressed: links are words there.
function inline(spans = [], links = true) {
  return spans.flatMap(({ text, code, bold, link, host }) => {
    let made = code ? element('code', { textContent: text }) : text;
    if (link && links) made = element('a', { href: link, target: '_blank', rel: 'noreferrer nofollow noopener' }, made);
    if (bold) made = element('strong', {}, made);
    return host ? [made, element('span', { className: 'host', textContent: ` (${host})` })] : [made];
  });
}

// words are what stands on an option: label, marks, description and preview.
function words({ label, description, marks = [], note, preview, prose }) {
  return [
    element('span', { className: 'label', dir: 'auto' }, ...inline(label, false), ...marks.flatMap((mark) => [' ', element('span', { className: 'mark', textContent: mark })])),
    description ? element('span', { className: 'description', dir: 'auto' }, ...inline(description, false)) : undefined,
    note ? element('span', { className: 'description', textContent: note }) : undefined,
    preview ? element('span', { className: prose ? 'prose' : 'drawn', dir: prose ? 'auto' : 'ltr', textContent: preview }) : undefined,
  ];
}

// asker says who asks, and what it works on.
function asker({ asker: who, work, link, host, step, priority, urgent, for_them: theirs }) {
  const parts = [
    priority ? element('strong', { className: urgent ? 'urgent' : 'high', textContent: priority }) : undefined,
    element('bdi', { textContent: who }),
    work ? element('bdi', { textContent: work }) : undefined,
    link ? element('a', { href: link, target: '_blank', rel: 'noreferrer nofollow noopener', textContent: host }) : undefined,
    step ? element('span', { textContent: step }) : undefined,
    theirs ? element('span', { textContent: theirs }) : undefined,
  ].filter(Boolean);
  return element('p', { className: 'asker' }, ...parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
}

// draw shows the oldest question that is not answered yet. One that is shown
// already stays as it is, with everything that was typed.
function draw() {
  const open = [...waiting.values()].filter((one) => one.sent === undefined);
  const one = open[0];
  if (one?.data.id === shown && one) {
    count(open.length);
    return;
  }
  shown = one?.data.id;
  panel.hidden = !one;
  panel.replaceChildren(...(one ? card(one) : []));
  count(open.length);
  size();
}

const size = () => tell('askbus:size', { height: document.body.scrollHeight });

function count(n) {
  const at = panel.querySelector('.count');
  if (at) at.textContent = n > 1 ? document.body.dataset.count.replace('##', n).replace('#', 1) : '';
}

// card draws one question as pkg/card says it. What goes back are the
// labels of the frame.
function card({ data, wrong }) {
  const { id, options = [], multiselect, card: shows } = data;
  document.documentElement.lang = shows.lang;
  const title = shows.title ? element('p', { className: 'title', dir: 'auto' }, ...inline(shows.title)) : undefined;
  const marks = (shows.marks ?? []).flatMap((mark) => [' ', element('span', { className: 'mark', textContent: mark })]);
  const parts = [
    element('span', { className: 'count' }), asker(shows), title,
    element('h1', { id: 'question', dir: shows.dir }, ...inline(shows.brief ?? shows.text), ...marks),
    shows.brief ? element('details', { className: 'whole', ontoggle: size }, element('summary', { textContent: shows.words.whole }), element('p', { dir: shows.dir }, ...inline(shows.text))) : undefined,
    shows.permits ? element('p', { className: 'permits', dir: 'auto', textContent: shows.permits }) : undefined,
    shows.hint ? element('p', { className: 'hint', dir: 'auto', textContent: shows.hint }) : undefined,
    shows.files ? element('p', { className: 'hint', dir: 'auto' }, ...shows.files.flatMap((file, i) => (i ? [' · ', ...inline([file])] : inline([file])))) : undefined,
  ].filter(Boolean);
  const list = element('ul', {});
  list.setAttribute('aria-labelledby', 'question');
  options.forEach(({ label }, i) => {
    const says = words(shows.options[i]).filter(Boolean);
    const item = multiselect
      ? element('label', { className: 'option' }, element('input', { type: 'checkbox', value: label }), element('span', {}, ...says))
      : element('button', { className: 'option', type: 'button', onclick: () => answer(id, label) }, ...says);
    list.append(element('li', {}, item));
  });
  if (options.length) parts.push(list);
  const text = element('input', { type: 'text', name: 'own', autocomplete: 'off', dir: 'auto', ariaLabel: shows.field, placeholder: shows.placeholder || (options.length ? `${shows.field}…` : shows.field), hidden: !shows.own });
  const form = element('form', { className: 'own' }, text, element('button', { className: 'send', textContent: shows.words.send }));
  form.onsubmit = (event) => {
    event.preventDefault();
    const own = text.value.trim();
    const chosen = [...list.querySelectorAll(':checked')].map((box) => box.value);
    if (multiselect && options.length) {
      if (own) chosen.push(own);
      if (chosen.length) answer(id, chosen);
    } else if (own) answer(id, own);
  };
  if (shows.own || multiselect) parts.push(form);
  if (wrong) parts.push(element('p', { className: 'wrong', textContent: wrong, role: 'alert' }));
  return parts;
}

connect();
