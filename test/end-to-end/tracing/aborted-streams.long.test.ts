// Every span ends, also that of an aborted stream (field-lessons.md K8).

import t from 'tap'
import { families, openStream } from '../system/support.ts'
import { startTracedGateway } from './support.ts'

t.test('1000 aborted streams have 1000 spans that ended (K8)', async t => {
  const gateway = await startTracedGateway(t, { transport: 'http' })
  const { receiver, emulator } = gateway
  const total = 1000
  let started = 0
  async function abortSome(): Promise<void> {
    while (started < total) {
      const family = families[started % families.length] ?? 'completions'
      started += 1
      const aborted = new AbortController()
      const response = await openStream(gateway, family, '[[tick:100]][[len:50]]', { signal: aborted.signal })
      await response.body?.getReader().read()
      aborted.abort()
    }
  }
  await Promise.all(Array.from({ length: 20 }, abortSome))
  const servers = () => receiver.spans.filter(({ kind }) => kind === 'SERVER')
  await receiver.until(() => servers().length >= total)
  t.equal(await gateway.stop(), 0)
  t.equal(servers().length, total, 'one span for each')
  t.equal(new Set(servers().map(({ attributes }) => attributes.request_id)).size, total)
  t.equal(emulator.stats.activeChatRequests, 0)
  for (const { name, status, endNs, startNs, attributes, events } of servers()) {
    if (endNs <= startNs || status.code !== 'ERROR') t.fail('a span did not end', { name, status, attributes })
    if (events.at(-1)?.name !== 'stream.aborted')
      t.fail('an aborted stream says so', { name, events: events.map(event => event.name) })
    if (attributes.status_code !== 499) t.fail('an aborted stream has the status 499', { name, attributes })
  }
})
