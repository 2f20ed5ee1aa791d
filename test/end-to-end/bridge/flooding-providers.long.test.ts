// Providers that send more than a response may have: what is read of them once a bound is met.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { waitUntil } from '../../support/processes.ts'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { type Family, families, send } from './families.ts'
import { type Kind, startProvider, starts } from './streaming-providers.ts'

const MEBIBYTE = 1024 * 1024
/** What the kernels and the connections hold on the way: it leaves the provider although nothing of it is read. */
const ON_THE_WAY_MAX = 24 * MEBIBYTE

async function flood(response: ServerResponse, start: string, piece: string): Promise<void> {
  response.write(start)
  while (!response.destroyed) if (!response.write(piece)) await once(response, 'drain')
}

const floods: Record<string, string> = {
  'one endless frame': 'x'.repeat(64 * 1024),
  'frames that break the wire': `data: {"a":\n\n${': comment\n\n'.repeat(4096)}`
}

for (const kind of Object.keys(starts) as Kind[]) {
  t.test(`a response of a ${kind} provider that fails at a bound ends its call at once`, async t => {
    let piece = ''
    const { origin, sockets } = await startProvider(t, response => flood(response, starts[kind], piece))
    const baseUrl = kind === 'chat_compatible' ? `${origin}/v1` : origin
    const gateway = await startProfileGateway(t, {
      profiles: [writeChatProfile({ id: 'p', kind, baseUrl, aliases: [{ alias: 'flood/a' }] })]
    })
    const check = async (family: Family, name: string) => {
      sockets.clear()
      const response = await send(gateway.url, family, { model: 'flood/a', prompt: 'hi', isStream: true })
      t.ok(family.readStreamFailure(response.text), `${family.name}: ${name}`)
      await waitUntil(() => [...sockets].every(socket => socket.destroyed), 'the connection is closed', 5000)
      const sent = [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0)
      t.ok(sent < 64 * MEBIBYTE + ON_THE_WAY_MAX, `${family.name}: ${name}: ${sent} bytes`)
    }
    for (const [name, text] of Object.entries(floods)) {
      piece = text
      for (const family of families) await check(family, name)
    }
  })
}
