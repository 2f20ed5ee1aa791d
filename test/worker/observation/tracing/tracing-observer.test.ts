import t from 'tap'
import type { RequestView } from '../../../../worker/observation/observer.ts'
import { createTracingObserver } from '../../../../worker/observation/tracing/tracing-observer.ts'
import { endedRequest, NOTHING } from './support.ts'

/** An observer whose writer keeps the ids of the requests that it was given, and refuses those that are named. */
function observe({ refuses = '' } = {}) {
  const written: string[] = []
  const failed: Array<[unknown, number]> = []
  const observer = createTracingObserver({
    capture: NOTHING,
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
  return { end, written, failed }
}

const ids = Array.from({ length: 8 }, (_, index) => `request-${index}`)

t.test('the spans of each request are written when the request has ended, in order', async t => {
  const { end, written } = observe()
  end('request-0')
  t.same(written, ['request-0'])
  for (const id of ids.slice(1)) end(id)
  t.same(written, ids)
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
