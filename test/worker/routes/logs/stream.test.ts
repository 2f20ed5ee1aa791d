import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemTraits } from '../../../../worker/http/request/route-traits.ts'
import { type LogStreamOptions, streamLog } from '../../../../worker/routes/logs/stream.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { openConnection, startApplication } from '../../http/support.ts'

async function start(t: Test, options: Partial<LogStreamOptions> = {}) {
  const path = join(createTemporaryFolder(t), 'a.log')
  writeFileSync(path, 'old\n')
  const done = Promise.withResolvers<void>()
  const started = await startApplication(t, {
    routes(app) {
      app.get('/tail', { config: { traits: systemTraits('/tail') } }, async (_request, reply) => {
        const clock = { nowMs: () => Date.UTC(2026, 0, 5, 10, 0, 15, 123), monotonicMs: () => 0 }
        const { drainGate } = started
        await streamLog(
          { reply, drainGate, clock, log: pino({ level: 'silent' }) },
          { path, level: undefined, lastId: undefined, ...options }
        )
        done.resolve()
      })
    }
  })
  const connection = await openConnection(t, started.port)
  connection.socket.write('GET /tail HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await connection.waitFor(/\r\n\r\n/)
  return { ...started, ...connection, path, done: done.promise }
}

t.test('a silent stream has comments with the time', async t => {
  const { waitFor } = await start(t, { keepAliveIntervalMs: 20 })
  const text = await waitFor(/ping.*[\s\S]*ping.*\r\n\r\n/)
  t.match(text, '\r\n: ping - 2026-01-05 10:00:15.123000+00:00\r\n\r\n')
})

t.test('a line is one event whose fields end with CRLF', async t => {
  const { path, waitFor } = await start(t)
  appendFileSync(path, '  a \r b  \n')
  const text = await waitFor(/id: .*\r\n\r\n/)
  t.match(text, /\r\nevent: message\r\ndata: a \r\ndata: {2}b\r\nid: [0-9a-z.]+-14\r\n\r\n/)
})

t.test('the stream ends with a drain, and at once when its client leaves', async t => {
  const drained = await start(t)
  drained.drainGate.startDraining()
  await drained.waitFor(/\r\n0\r\n\r\n$/)
  await drained.done
  const left = await start(t)
  left.socket.destroy()
  await left.done
  t.pass('the handler has ended')
})
