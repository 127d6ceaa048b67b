// A secret asked of a host that can show the modes given. Its form must never ask for it.
import assert from 'node:assert/strict';
import { connect } from './connect.mjs';
import { accept, facts, report, untilDone } from './life.mjs';

const modes = process.argv.slice(2);
const shown = [];
const client = await connect('auto', { elicitation: Object.fromEntries(modes.map((mode) => [mode, {}])) }, ({ params }) => {
  shown.push(params);
  return params.mode === 'url' ? { action: 'accept' } : accept({ token: 'from a form' });
});
const call = (request) => client.callTool(request);

const question = {
  name: 'token', message: 'Which token?', secret: true, after_step: 0,
  schema: { type: 'object', required: ['token'], properties: { token: { type: 'string' } } },
};
const start = { service: 'sandbox', plan: 'tunable', name: `secret-${modes.join('-')}`, parameters: { questions: [question] } };
let job = await untilDone(call, await facts(call, 'start_provision', start));
job = await facts(call, 'get_job', { job_id: job.id }); // asks once more
assert.equal(job.state, 'awaiting_input');
const [asked] = job.questions;

if (modes.includes('url')) {
  assert.ok(shown.length > 0);
}
for (const params of shown) {
  assert.equal(params.mode, 'url');
  assert.equal(params.url, asked.answer_url);
}
assert.ok(job.next_step.includes(asked.answer_url), job.next_step);

// Nor does a tool take it.
const refused = await call({
  name: 'answer_question', arguments: { job_id: job.id, question_id: asked.id, ...accept({ token: 'from a tool' }) },
});
assert.ok(refused.isError);
assert.ok(refused.content[0].text.includes(asked.answer_url), refused.content[0].text);
assert.ok(!refused.content[0].text.includes('from a tool'));

job = await untilDone(call, await facts(call, 'cancel_job', { job_id: job.id }));
assert.equal(job.state, 'canceled');
report('sandbox', job);
await client.close();
