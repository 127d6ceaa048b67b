// The steps that the clients share. A client is a function that calls a tool and returns its result.
import assert from 'node:assert/strict';

export const url = new URL(process.env.MCP_URL);
export const headers = { Authorization: `Bearer ${process.env.MCP_KEY}` };
export const clientInfo = { name: 'e2e', version: '1' };

/** A tool's structured content; a tool's error is one of the script. */
export async function facts(call, name, args) {
  const result = await call({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content?.[0]?.text}`);
  return result.structuredContent;
}

/** Starts a database; the name lets a host's form ask at once. */
export const database = (name) => ({ service: 'postgres', plan: 'small', name });

export const accept = (content) => ({ action: 'accept', content });

/** Polls until the job is over. */
export async function untilDone(call, job, more = {}) {
  while (job.state === 'pending') {
    job = await facts(call, 'get_job', { job_id: job.id, wait_seconds: 20, ...more });
  }
  return job;
}

/** Answers the only open question by tool. */
export async function answerByTool(call, job, content) {
  const open = job.questions.filter((q) => q.state === 'open');
  assert.equal(open.length, 1, `open questions of a job that is ${job.state}`);
  return facts(call, 'answer_question', { job_id: job.id, question_id: open[0].id, ...accept(content) });
}

/** The life after the answer: done, credentials, and all gone again. */
export async function liveOn(call, job) {
  job = await untilDone(call, job);
  assert.equal(job.state, 'succeeded');
  const { credentials } = await facts(call, 'get_credentials', { binding_id: job.binding_id });
  assert.match(credentials.uri, /^postgres/);
  const removal = await untilDone(call, await facts(call, 'deprovision_instance', { instance_id: job.instance_id }));
  assert.equal(removal.state, 'succeeded');
  report('postgres', job);
}

/** Tells the test what was made. */
export function report(service, job) {
  console.log(JSON.stringify({ service, instance_id: job.instance_id }));
}
