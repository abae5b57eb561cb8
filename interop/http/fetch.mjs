// An existing client of the dialect interact: one fetch, with the defaults of Node.
const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: token } = process.env;
const response = await fetch(`${base}/t/${token}/api/interact/ask`, {
  method: 'POST', headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ sessionId: 'slow', question: 'Which?', options: [{ label: 'A' }, { label: 'B', description: 'the second' }] }),
});
console.log(JSON.stringify({ status: response.status, ...(await response.json()) }));
