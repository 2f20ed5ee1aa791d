import t from 'tap'
import { EventAssembler, GatewayError, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import type { ResponseReader } from '../../../../../worker/protocols/provider-face.ts'
import { EditingReader } from '../../../../../worker/protocols/shared/stream/editing-reader.ts'
import { createSseParser } from '../../../../../worker/protocols/shared/stream/sse.ts'

/** Reads texts as they are, `END` as the end, and `BAD` as an error. */
function createReader(): ResponseReader {
  const assembler = new EventAssembler()
  const parser = createSseParser({
    onEvent(data) {
      if (assembler.isTerminated) return
      assembler.start({ providerModel: 'm', metadata: {} })
      if (data === 'BAD') assembler.fail(new GatewayError('provider_failure', { message: 'bad' }))
      else if (data === 'END') assembler.finish({ reason: 'stop', providerReason: 'END', metadata: {} }, null)
      else assembler.text(data)
    }
  })
  return {
    readBody: () => [],
    push(bytes) {
      parser.push(bytes)
      return assembler.take()
    },
    end() {
      parser.end()
      if (!assembler.isTerminated) assembler.fail(new GatewayError('provider_protocol_error'))
      return assembler.take()
    }
  }
}

function open(frameBytesMax?: number): EditingReader {
  const editFrame = (frame: Uint8Array) => Buffer.from(Buffer.from(frame).toString().replaceAll('old', 'new'))
  return new EditingReader(createReader(), { editBody: bytes => bytes, editFrame }, frameBytesMax)
}

/** What a client and an observer get of the reads. */
function pass(
  reads: readonly string[],
  { isEnded = true, frameBytesMax }: { isEnded?: boolean; frameBytesMax?: number } = {}
): { frames: string; events: NormalizedEvent[] } {
  const reader = open(frameBytesMax)
  const passed = reads.map(read => reader.push(Buffer.from(read)))
  if (isEnded) passed.push(reader.end())
  return {
    frames: Buffer.concat(passed.map(({ frames }) => frames)).toString(),
    events: passed.flatMap(({ events }) => events)
  }
}

const textOf = (events: readonly NormalizedEvent[]) =>
  events.map(event => (event.type === 'text-delta' ? event.text : '')).join('')

t.test('frames go on whole and in order, renamed, with the events that were read in them', async t => {
  const stream = ': hello\n\nevent: x\ndata: a old\n\nid: 1\ndata: b\r\n\r\ndata: END\n\n'
  for (let cut = 0; cut <= stream.length; cut++) {
    const { frames, events } = pass([stream.slice(0, cut), stream.slice(cut)])
    t.equal(frames, stream.replace('old', 'new'), `cut at ${cut}`)
    t.equal(textOf(events), 'a oldb')
    t.equal(events.at(-1)?.type, 'finish')
  }
})

t.test('a frame that has not ended is kept back', async t => {
  const reader = open()
  const first = reader.push(Buffer.from('data: a\n\ndata: b'))
  t.equal(Buffer.from(first.frames).toString(), 'data: a\n\n')
  t.equal(textOf(first.events), 'a')
  const second = reader.push(Buffer.from('c'))
  t.same([second.frames.length, second.events], [0, []])
  t.equal(Buffer.from(reader.push(Buffer.from('\n\n')).frames).toString(), 'data: bc\n\n')
})

t.test('an error ends the frames before it: its own frame and everything behind it stay back', async t => {
  const { frames, events } = pass(['data: a\n\ndata: BAD\n\ndata: c\n\n', 'data: d\n\n'])
  t.equal(frames, 'data: a\n\n')
  t.equal(textOf(events), 'a')
  t.match(events.at(-1), { type: 'error', error: { code: 'provider_failure' } })
  t.equal(events.filter(({ type }) => type === 'error').length, 1)
})

t.test('a stream that is cut ends with an error, without the half of a frame', async t => {
  const { frames, events } = pass(['data: a\n\ndata: b'])
  t.equal(frames, 'data: a\n\n')
  t.match(events.at(-1), { type: 'error', error: { code: 'provider_protocol_error' } })
})

t.test('the last frame needs no blank line', async t => {
  for (const end of ['', '\n', '\r\n']) {
    const { frames, events } = pass([`data: a\n\ndata: END${end}`])
    t.equal(frames, `data: a\n\ndata: END${end}\n\n`)
    t.equal(events.at(-1)?.type, 'finish')
  }
})

t.test('nothing goes on behind the end', async t => {
  const { frames, events } = pass(['data: END\n\ndata: b\n\n', 'data: c\n\n'])
  t.equal(frames, 'data: END\n\n')
  t.equal(events.at(-1)?.type, 'finish')
})

t.test('a frame without end becomes an error when it grows beyond the bound', async t => {
  const { frames, events } = pass(['data: a\n\n', 'data: ', 'x'.repeat(1025)], { isEnded: false, frameBytesMax: 1024 })
  t.equal(frames, 'data: a\n\n')
  t.match(events.at(-1), { type: 'error', error: { code: 'provider_protocol_error' } })
})

t.test('a stream that ends well without the end of its wire gets one', async t => {
  const reader = createReader()
  const end = () => reader.end()
  const ended: ResponseReader = {
    ...reader,
    end() {
      reader.push(Buffer.from('data: END\n\n'))
      return end()
    }
  }
  const read = (one: ResponseReader) => {
    const editing = new EditingReader(one, {
      editBody: bytes => bytes,
      editFrame: frame => frame,
      end: () => Buffer.from('END')
    })
    return [editing.push(Buffer.from('data: a\n\n')), editing.end()].map(({ frames }) => Buffer.from(frames).toString())
  }
  t.same(read(createReader()), ['data: a\n\n', ''])
  t.same(read(ended), ['data: a\n\n', ''])
})
