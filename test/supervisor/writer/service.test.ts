// The service of the writer, with the sinks that a test gives it.
import { mock } from 'node:test'
import { pino } from 'pino'
import t from 'tap'
import { ReopeningSink } from '../../../supervisor/writer/reopening-sink.ts'
import { createTrafficService } from '../../../supervisor/writer/service.ts'
import type { RedactableSink, RelationalStore } from '../../../supervisor/writer/sink.ts'
import { openSqliteQueries } from '../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../supervisor/writer/store/sqlite/sink.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createRecord } from './records.ts'

t.test('a mirror that takes long does not withhold the outcome of a redaction', async t => {
  const opened = openSqliteStore(`${createTemporaryFolder(t)}/traffic.sqlite`, openSqliteQueries)
  t.teardown(() => opened.close())
  const record = createRecord({ request_body_redacted: { text: 'canary' } })
  await opened.write([record])
  const asked = Promise.withResolvers<void>()
  const silent: RedactableSink = {
    name: 'opensearch',
    write: async () => undefined,
    redact: () => {
      asked.resolve()
      return new Promise(() => undefined)
    },
    close: async () => undefined
  }
  const lines: string[] = []
  const service = createTrafficService({
    log: pino({}, { write: line => void lines.push(line) }),
    queues: [],
    store: new ReopeningSink<RelationalStore>('sqlite', async () => opened),
    mirrors: [new ReopeningSink<RedactableSink>('opensearch', async () => silent)]
  })

  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const redactedAt = '2026-01-05T10:00:00.000000+00:00'
  const answer = service.answer('redact', { id: record.id, fields: ['request_body'], redactedAt })
  await asked.promise
  // A turn of the event loop: the deadline begins with the call.
  await new Promise(resolve => setImmediate(resolve))
  mock.timers.tick(10_000)
  t.match(await answer, { emptied: { request_body: true }, mirrors: { opensearch: 'failed' } })
  t.match(lines, [/traffic_redaction_failed/])
})

t.test('only questions of its own are answered: names that every object has are unknown', async t => {
  const service = createTrafficService({ log: pino({ level: 'silent' }), queues: [], store: undefined, mirrors: [] })
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'no-such-question']) {
    const asked = service.answer(name as 'find', { id: 'x' })
    const failure = await asked.catch(error => error.failure)
    t.equal(failure, 'unknown_question', name)
  }
})
