// A host that declares forms and loses each of them: its agent goes on by tools alone.
import assert from 'node:assert/strict';
import { connect } from './connect.mjs';
import { answerByTool, database, facts, liveOn } from './life.mjs';

let lost = 0;
const client = await connect('auto', { elicitation: { form: {} } }, () => {
  lost++;
  throw new Error('no window to show a form in');
});
const call = (request) => client.callTool(request);
const start = database('dropped');

await assert.rejects(facts(call, 'start_provision', start));
assert.equal(lost, 1);
// The job's ID is lost with the call. The same start finds the job again, with its question as data.
const found = await facts(call, 'start_provision', start);
await assert.rejects(facts(call, 'get_job', { job_id: found.id }));
assert.equal(lost, 2);

const job = await facts(call, 'get_job', { job_id: found.id, elicit: false });
await liveOn(call, await answerByTool(call, job, { region: 'eu' }));
assert.equal(lost, 2);
await client.close();
