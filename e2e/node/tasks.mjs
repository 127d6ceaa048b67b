// The tasks extension: the start and the end are tasks, and the form is asked while the first runs.
import assert from 'node:assert/strict';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { connect } from './connect.mjs';
import { accept, clientInfo, database, facts, headers, report, url } from './life.mjs';

const protocolVersion = '2026-07-28';
const clientCapabilities = { elicitation: { form: {} } };
const client = await connect('auto', clientCapabilities, () => assert.fail('a form beside the task'));

let lastID = 0;
async function rawDispatch(request, { signal, context } = {}) {
  const { method, params } = request;
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: {
      ...headers,
      ...context?.headers,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': protocolVersion,
      'Mcp-Method': method,
      'Mcp-Name': params.taskId ?? params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++lastID, ...request }),
  });
  const { result, error } = await response.json();
  return error ? { kind: 'error', error } : { kind: 'result', result };
}

let forms = 0;
const session = createTaskSessionFromClient(client, {
  endpointId: 'e2e',
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
  onInputRequest(request) {
    assert.equal(request.kind, 'elicitation');
    forms++;
    return accept({ region: 'eu' });
  },
});

async function jobByTask(tool, args) {
  const execution = await session.callTool(tool, args);
  assert.equal(execution.kind, 'task', tool);
  const { outcome } = await execution.settle();
  assert.equal(outcome.status, 'completed', tool);
  return resultFromTaskOutcome(outcome).structuredContent;
}

const job = await jobByTask('start_provision', database('tasks'));
assert.equal(job.state, 'succeeded');
assert.equal(forms, 1);
const { credentials } = await facts((r) => client.callTool(r), 'get_credentials', { binding_id: job.binding_id });
assert.match(credentials.uri, /^postgres/);
const removal = await jobByTask('deprovision_instance', { instance_id: job.instance_id });
assert.equal(removal.state, 'succeeded');
report('postgres', job);
await session.close();
await client.close();
