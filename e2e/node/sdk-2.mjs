// The second SDK, in the mode given: legacy answers by tool, auto by a form within the call.
import assert from 'node:assert/strict';
import { connect } from './connect.mjs';
import { accept, answerByTool, database, facts, liveOn } from './life.mjs';

const mode = process.argv[2];
const forms = [];
const client = await connect(mode, { elicitation: { form: {} } }, (request) => {
  forms.push(request.params);
  return accept({ region: 'eu' });
});

const call = (request) => client.callTool(request);
let job = await facts(call, 'start_provision', database(`sdk-2-${mode}`));
if (mode === 'auto') {
  assert.equal(forms.length, 1);
  assert.deepEqual(forms[0].requestedSchema.required, ['region']);
  assert.notEqual(job.state, 'awaiting_input');
} else {
  assert.equal(forms.length, 0);
  job = await answerByTool(call, job, { region: 'eu' });
}
await liveOn(call, job);
await client.close();
