// The first SDK: versions with initialize, answers by tool.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { answerByTool, clientInfo, database, facts, headers, liveOn, url } from './life.mjs';

const client = new Client(clientInfo);
const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
await client.connect(transport);
assert.equal(transport.protocolVersion, '2025-11-25');
await client.listTools(); // from then on it checks results against the tools' schemas

const call = (request) => client.callTool(request);
const job = await facts(call, 'start_provision', database('sdk-1'));
await liveOn(call, await answerByTool(call, job, { region: 'eu' }));
await client.close();
