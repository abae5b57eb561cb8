// Passkeys: the two steps of a sign-in and of an invitation.
import { say } from './words.js';

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

const post = async (path, body) => {
  const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.problem || say('This inbox does not answer just now. Try again in a few seconds.'));
  return said;
};

const named = (list) => (list || []).map((c) => ({ ...c, id: bytes(c.id) }));

// spoken returns an authenticator's response as JSON.
const spoken = (made) => {
  const r = made.response, response = { clientDataJSON: text(r.clientDataJSON) };
  if (r.attestationObject) { response.attestationObject = text(r.attestationObject); response.transports = r.getTransports ? r.getTransports() : []; }
  if (r.authenticatorData) response.authenticatorData = text(r.authenticatorData);
  if (r.signature) response.signature = text(r.signature);
  if (r.userHandle) response.userHandle = text(r.userHandle);
  return { id: made.id, rawId: text(made.rawId), type: made.type, response, clientExtensionResults: made.getClientExtensionResults(), authenticatorAttachment: made.authenticatorAttachment };
};

const ways = {
  'sign-in': async (button) => {
    const { options, kept } = await post('/login/passkey/options', { to: button.dataset.to });
    const made = await navigator.credentials.get({ publicKey: { ...options, challenge: bytes(options.challenge), allowCredentials: named(options.allowCredentials) } });
    return post('/login/passkey', { kept, answer: spoken(made) });
  },
  'join': async (button) => {
    const t = button.dataset.token;
    const { options, kept } = await post('/join/options', { t });
    const made = await navigator.credentials.create({ publicKey: {
      ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) }, excludeCredentials: named(options.excludeCredentials),
    } });
    return post('/join', { t, kept, answer: spoken(made) });
  },
};

// there returns this page's address at the host at which passkeys are valid, if that is another one. Only the browser knows: a
// proxy may tell the server another host.
const there = ({ passkey, to, origin }) => {
  if (new URL(origin).hostname === location.hostname) return undefined;
  return origin + (passkey === 'join' ? `/join${location.search}` : `/login?to=${encodeURIComponent(to)}`);
};

const problem = document.querySelector('#problem');
for (const button of document.querySelectorAll('[data-passkey]')) {
  const at = there(button.dataset);
  if (at && button.dataset.passkey === 'join') location.replace(at);
  button.hidden = false;
  button.addEventListener('click', async () => {
    if (at) { location.assign(at); return; }
    problem.hidden = true;
    button.disabled = true;
    try {
      if (!window.PublicKeyCredential) throw new Error(say('This browser has no passkeys, or this address is not secure. Use https or localhost.'));
      const { to } = await ways[button.dataset.passkey](button);
      location.assign(to);
    } catch (e) {
      problem.textContent = e.name === 'NotAllowedError' ? say('No passkey was used. Try again, or choose another way.') : e.name === 'InvalidStateError' ? say('This device has a passkey of yours already. Sign in with it.') : e.message;
      problem.hidden = false;
      button.disabled = false;
      button.focus();
    }
  });
}
