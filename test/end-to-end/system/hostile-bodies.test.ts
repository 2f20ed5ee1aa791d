// For every body the client gets a response or an error in its family's form, and the gateway keeps running.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import * as fc from '../../support/properties.ts'
import { oddVersionsOf } from './odd-documents.ts'
import { readError } from './support.ts'
import { wholeBodies } from './whole-bodies.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })

for (const [family, path, body] of wholeBodies) {
  t.test(`${path}: no body makes a worker exit, and every error has the form of its family`, async t => {
    await fc.assert(
      fc.asyncProperty(oddVersionsOf(body), async odd => {
        const response = await post(gateway.url + path, odd)
        if (response.status === 200) return
        if (response.status >= 500) throw new Error(`${response.status} ${response.text}`)
        readError(family, response)
      }),
      { numRuns: 60 }
    )
    t.equal((await get(`${gateway.url}/health`)).status, 200)
  })
}

t.test('a model name that is too long is refused with its field and appears in no log line', async t => {
  const long = 'm'.repeat(1025)
  for (const [family, path, body] of wholeBodies) {
    if (!('model' in body)) continue
    const response = await post(gateway.url + path, { ...body, model: long })
    t.equal(response.status, 400, path)
    t.match(readError(family, response).message, /model.*must have at most 1024 characters\./, path)
  }
  t.notMatch(readFileSync(join(gateway.folder, 'gateway.log'), 'utf8'), long)
})
