// The CloudEvents SDK asks in both modes and reads the answers.
import { CloudEvent, HTTP } from 'cloudevents';

const { ASKBUS_HTTP_URL: base, ASKBUS_TOKEN: token } = process.env;

for (const mode of ['structured', 'binary']) {
  const event = new CloudEvent({
    id: `event-${mode}`, source: '/interop/cloudevents', type: 'dev.askbus.ask.requested.v1', subject: mode, partitionkey: 'default/events',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    data: { questions: [{ text: `Which in ${mode} mode, 你好?`, options: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] }] },
  });
  const message = HTTP[mode](event);
  const response = await fetch(`${base}/v1/events?wait=60s`, {
    method: 'POST', headers: { ...message.headers, authorization: `Bearer ${token}` }, body: message.body,
  });
  const answer = HTTP.toEvent({ headers: Object.fromEntries(response.headers), body: await response.text() });
  console.log(JSON.stringify({
    mode, status: response.status, contentType: response.headers.get('content-type'), type: answer.type, id: answer.id, subject: answer.subject,
    traceparent: answer.traceparent, authid: answer.authid, answers: answer.data.answers, valid: answer.validate(),
  }));
}
