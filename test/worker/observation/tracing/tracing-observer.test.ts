import t from 'tap'
import type { RequestView } from '../../../../worker/observation/observer.ts'
import { createTracingObserver } from '../../../../worker/observation/tracing/tracing-observer.ts'
import { EVERYTHING, endedRequest, NOTHING } from './support.ts'

/** An observer whose writer keeps the ids of the requests that it was given, and refuses those that are named. */
function observe({ capture = NOTHING, refuses = '' } = {}) {
  const written: string[] = []
  const failed: Array<[unknown, number]> = []
  const observer = createTracingObserver({
    capture,
    profiles: { profiles: [] } as never,
    isSampledAtHead: () => true,
    writer: {
      write(_trace, { attributes }) {
        const id = String(attributes.request_id)
        if (id === refuses) throw new Error('the writer refuses it')
        written.push(id)
      }
    },
    onFailed: (error, spans) => failed.push([error, spans])
  })
  function end(requestId: string): void {
    const ended = endedRequest({ view: { requestId, remoteParent: undefined } })
    const request: RequestView = { ...ended.request }
    observer.opened?.(request)
    observer.closed?.(request, ended.closed)
  }
  return { observer, end, written, failed }
}

const ids = Array.from({ length: 8 }, (_, index) => `request-${index}`)

t.test('spans of eight requests are written together, in order, and what is left when the worker closes', async t => {
  const { observer, end, written } = observe()
  for (const id of ids.slice(0, 7)) end(id)
  t.same(written, [])
  end('request-7')
  t.same(written, ids)
  end('the last')
  await observer.close?.()
  t.same(written, [...ids, 'the last'])
})

t.test('with captured content each request is written at once', async t => {
  const { end, written } = observe({ capture: EVERYTHING })
  end('request-0')
  t.same(written, ['request-0'])
})

t.test('a request whose spans cannot be written is reported, and the others are written', async t => {
  const { end, written, failed } = observe({ refuses: 'request-3' })
  for (const id of ids) end(id)
  t.same(
    written,
    ids.filter(id => id !== 'request-3')
  )
  t.match(failed, [[{ message: 'the writer refuses it' }, 1]])
})
