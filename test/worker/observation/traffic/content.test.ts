import t from 'tap'
import type { ClosedFacts, RequestView } from '../../../../worker/observation/observer.ts'
import { createContentCapture, type WrittenContent } from '../../../../worker/observation/traffic/content.ts'

const rules = { isRedacted: true, extraKeys: [], knownSecrets: [], bytesMax: 1000 }
const request = { protocol: 'openai', isStreaming: false } as RequestView
const closed = { status: 200, errorType: undefined } as ClosedFacts

/** A capture whose bodies are written when the test says so, and what it has handed over. */
function createCapture() {
  const waiting: Array<PromiseWithResolvers<{ body: string; isShortened: boolean }>> = []
  const records: WrittenContent[] = []
  const capture = createContentCapture({
    rules,
    writeBody() {
      const writing = Promise.withResolvers<{ body: string; isShortened: boolean }>()
      waiting.push(writing)
      return writing.promise
    }
  })
  const end = (body: string) => {
    const content = capture.begin(request, {})
    content.takeRequestBody(Buffer.from(body))
    capture.finish(content, { request, closed }, written => records.push(written))
  }
  return { capture, waiting, records, end }
}

t.test('a capture that closes waits for what is being redacted', async t => {
  const { capture, waiting, records, end } = createCapture()
  end('first')
  const closing = capture.close(60_000)
  waiting[0]?.resolve({ body: 'redacted', isShortened: false })
  await closing
  t.match(records, [{ members: { request_body_redacted: 'redacted' } }])
  t.same(records[0]?.metadata, {})
})

t.test('what is not redacted in time is left out of its record, and the record is handed over', async t => {
  const { capture, waiting, records, end } = createCapture()
  end('first')
  end('second')
  await capture.close(1)
  t.same(
    records.map(({ metadata }) => metadata),
    [{ content_lost: ['request_body'] }, { content_lost: ['request_body'] }]
  )
  waiting[0]?.resolve({ body: 'late', isShortened: false })
  waiting[1]?.reject(new Error('late'))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(records.length, 2, 'each is handed over once')
})

t.test('a capture that has nothing to do closes at once', async t => {
  const { capture, records } = createCapture()
  await capture.close(60_000)
  t.same(records, [])
})
