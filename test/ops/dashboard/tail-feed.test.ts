import t from 'tap'
import { ApiError } from '../../../ops/dashboard/src/data/api.ts'
import { followTail } from '../../../ops/dashboard/src/data/tail-feed.ts'

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(text))
      controller.close()
    }
  })
}

/** A page in a tab that a test hides and shows. */
class Page extends EventTarget {
  hidden = false

  turn(hidden: boolean): void {
    this.hidden = hidden
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

t.test('after a loss it continues behind the last record, and stops where the key is refused', async t => {
  const calls: Array<string | undefined> = []
  const answers = [
    () =>
      streamOf('event: log\nid: a\ndata: 1\n\nevent: skipped\ndata: {"skipped":7}\n\nevent: log\nid: b\ndata: 2\n\n'),
    () => {
      throw new ApiError('store', 'query_store_unavailable', 'The store is unavailable.')
    },
    () => streamOf('event: other\ndata: x\n\nevent: skipped\ndata: nothing\n\nevent: log\nid: c\ndata: 3\n\n'),
    () => {
      throw new ApiError('key', 'invalid_admin_key', 'The admin key is wrong.')
    }
  ]
  const records: string[] = []
  const states: string[] = []
  let skipped = 0
  await followTail({
    api: {
      async openTail(_signal, lastId) {
        calls.push(lastId)
        return answers[calls.length - 1]!()
      }
    },
    signal: new AbortController().signal,
    page: new Page(),
    onRecord: text => records.push(text),
    onSkipped: count => {
      skipped += count
    },
    onState: state => states.push('message' in state ? `${state.kind}: ${state.message}` : state.kind),
    wait: async () => undefined
  })
  t.same(records, ['1', '2', '3'])
  t.same(calls, [undefined, 'b', 'b', 'c'])
  t.equal(skipped, 7)
  t.same(states, [
    'connecting',
    'live',
    'waiting: The gateway ended the stream.',
    'connecting',
    'waiting: The store is unavailable.',
    'connecting',
    'live',
    'waiting: The gateway ended the stream.',
    'connecting',
    'refused'
  ])
})

t.test('it ends when the view is left', async t => {
  const closing = new AbortController()
  const followed = followTail({
    api: {
      async openTail(signal) {
        return new ReadableStream({
          start: controller => signal.addEventListener('abort', () => controller.error(signal.reason))
        })
      }
    },
    signal: closing.signal,
    page: new Page(),
    onRecord: () => undefined,
    onSkipped: () => undefined,
    onState: state => {
      if (state.kind === 'live') setImmediate(() => closing.abort())
    }
  })
  await followed
  t.pass('the loop has ended')
})

t.test('a hidden page has no stream, and continues behind the last record when it is seen', async t => {
  const closing = new AbortController()
  const page = new Page()
  page.hidden = true
  const calls: Array<string | undefined> = []
  const states: string[] = []
  let open = 0
  const followed = followTail({
    api: {
      async openTail(signal, lastId) {
        calls.push(lastId)
        open += 1
        return new ReadableStream({
          start(controller) {
            controller.enqueue(Buffer.from(`event: log\nid: ${calls.length}\ndata: x\n\n`))
            signal.addEventListener('abort', () => {
              open -= 1
              controller.error(signal.reason)
            })
          }
        })
      }
    },
    signal: closing.signal,
    page,
    // Each record is followed by another tab, and then by this one again.
    onRecord() {
      setImmediate(() => {
        page.turn(true)
        setImmediate(() => {
          t.equal(open, 0)
          if (calls.length < 3) page.turn(false)
          else closing.abort()
        })
      })
    },
    onSkipped: () => undefined,
    onState: state => states.push(state.kind)
  })
  t.same(calls, [], 'a page that was opened in the background asks for nothing')
  page.turn(false)
  await followed
  t.same(calls, [undefined, '1', '2'])
  t.same(states, ['connecting', 'live', 'connecting', 'live', 'connecting', 'live'], 'it is no failure')
})
