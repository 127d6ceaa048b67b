// Connects the second SDK.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { clientInfo, headers, url } from './life.mjs';

const versions = { legacy: '2025-11-25', auto: '2026-07-28' };

/** A client whose elicitations, if it has any capability for them, go to the handler. */
export async function connect(mode, capabilities = {}, onElicitation = undefined) {
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode } });
  if (onElicitation) {
    client.setRequestHandler('elicitation/create', onElicitation);
  }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  assert.equal(client.getNegotiatedProtocolVersion(), versions[mode]);
  await client.listTools(); // from then on it checks results against the tools' schemas
  return client;
}
