// Attachments whose host names are never resolved. A complete worker runs in this process, because its name server is the test's.

import t from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createNameResolver } from '../../../worker/providers/egress/name-resolver.ts'
import { createNativeKind } from '../../../worker/providers/native/index.ts'
import { emulatorVariables, startEmulator } from '../../support/gateway.ts'
import { startNameServer } from '../../support/name-server.ts'
import { waitUntil } from '../../support/processes.ts'
import { createPicture } from '../../support/upstream.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { askIn, bodyOf, families, urlOf } from '../system/support.ts'

const NAMES = 64

const emulator = await startEmulator(t)
const silent = await startNameServer(t, () => undefined)
const variables = emulatorVariables(emulator)
const settings = parseSettings({
  ...variables,
  // A name: each new connection to the upstream is looked up by the system.
  UPSTREAM_BASE_URL: (variables.UPSTREAM_BASE_URL ?? '').replace('127.0.0.1', 'localhost')
})
const { app, ...gateway } = await startWorker(t, workerOptions(settings), {
  faces: providerFaces,
  kinds: {
    native: createNativeKind({
      downloadDependencies: { resolve: createNameResolver({ servers: [silent.address], timeoutMs: 60_000 }) }
    })
  }
})

function withImage(url: string): object {
  return { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }
}

t.test('cost 4: waiting names delay neither new connections to the upstream nor other attachments', async t => {
  const client = new AbortController()
  let ended = 0
  const waiting = Array.from({ length: NAMES }, async (_, index) => {
    const more = withImage(`https://host-${index}.example/a.png`)
    const options = { method: 'POST', body: JSON.stringify(bodyOf('completions', '', { more })), signal: client.signal }
    await fetch(urlOf(gateway, 'completions'), options).catch(() => undefined)
    ended += 1
  })
  await waitUntil(() => silent.names.size === NAMES, 'the name server was asked for every name')
  for (const family of families) t.equal((await askIn(gateway, family, 'hi')).status, 200, family)
  const picture = withImage(`data:image/png;base64,${createPicture()}`)
  t.equal((await askIn(gateway, 'completions', '', { more: picture })).status, 200)
  t.equal(ended, 0, 'all names were still being resolved')
  client.abort()
  await Promise.all(waiting)
  await waitUntil(() => app.activeRequests === 0, 'the requests of the client ended')
})
