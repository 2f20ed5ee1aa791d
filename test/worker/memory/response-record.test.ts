import t from 'tap'
import { readMemoryWish } from '../../../worker/memory/read-wish.ts'
import { findResponse, listFinishedItems, splitAtEnd } from '../../../worker/memory/response-frames.ts'
import { listOwnItems, readWrittenResponse } from '../../../worker/memory/response-record.ts'

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString()

t.test('items of a response are stored byte for byte, and its body without them', async t => {
  const response =
    ' {"id":"resp_1", "status":"incomplete","output":[ {"id":"msg_1","type":"message","n":1.0},{"type":"function_call"} ],"usage":{"output":[1]}} '
  const parts = readWrittenResponse(Buffer.from(response))
  t.equal(parts?.status, 'incomplete')
  t.equal(text(parts?.body), ' {"id":"resp_1", "status":"incomplete","output":[],"usage":{"output":[1]}}')
  const [first, second] = parts?.output ?? []
  t.equal(first?.id, 'msg_1')
  t.equal(text(first?.json), '{"id":"msg_1","type":"message","n":1.0}')
  t.match(second?.id, /^fc_[\w-]{32}$/)
  t.equal(text(second?.json), '{"type":"function_call"}')
  t.equal(readWrittenResponse(Buffer.from('[]')), undefined)
  t.equal(readWrittenResponse(Buffer.from('{"status":"queued"}'))?.status, 'completed')
})

t.test('own items keep their ids and get those that they lack, of their type', async t => {
  const list = (body: string) => {
    const bytes = Buffer.from(body)
    const wish = readMemoryWish(bytes)
    if (wish === undefined) throw new Error('The body was not read.')
    return listOwnItems(bytes, wish, new Map([[1, 'in-history' as const]]))
  }
  const items = list(
    '{"input":[{"id":"x1","role":"user"},{"id":"x2"},{"role":"user"},{"type":"function_call_output"}]}'
  )
  t.equal(items.length, 3)
  t.equal(items[0]?.id, 'x1')
  t.match(items[1]?.id, /^msg_/)
  t.match(items[2]?.id, /^fco_/)
  t.equal(text(items[1]?.json), '{"role":"user"}')
  const [message] = list('{"input":"a\\"b"}')
  t.same(JSON.parse(text(message?.json)), {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: 'a"b' }]
  })
  t.same(list('{"input":null}'), [])
})

t.test('the terminal frame of a stream is found, and what was sent before it', async t => {
  const delta =
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"\\"type\\":\\"response.completed\\""}\n\n'
  const done = 'data: {"type":"response.output_item.done","item":{"id":"m","n":1}}\n\n'
  const end =
    'data: {"type":"response.completed","sequence_number":7,"response":{"status":"completed","output":[]}}\n\n'
  const { sent, held } = splitAtEnd(Buffer.from(delta + done + end))
  t.equal(text(sent), delta + done)
  t.equal(text(held), end)
  t.match(findResponse(held), { sequenceNumber: 7, parts: { status: 'completed' } })
  t.same(
    listFinishedItems(sent).map(({ id, json }) => [id, text(json)]),
    [['m', '{"id":"m","n":1}']]
  )
  t.equal(text(splitAtEnd(Buffer.from(delta)).held), delta, 'nothing is sent where no end is found')
})
