// Alone: it starts the upstream of the benchmark.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const entry = join(import.meta.dirname, '../../../ops/bench/upstream.ts')

async function startUpstream(t: Test): Promise<number> {
  const child = fork(entry)
  t.teardown(() => child.disconnect())
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return port
}

/** The chunks of the response to a streamed chat, as the wire has them. */
async function readChunks(port: number, model: string): Promise<string[]> {
  const body = JSON.stringify({ model, messages: [], stream: true })
  const socket = connect(port, '127.0.0.1')
  const head = `POST /chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`
  socket.write(head + body)
  const received = Buffer.concat(await socket.toArray()).toString('latin1')
  const chunks: string[] = []
  let at = received.indexOf('\r\n\r\n') + 4
  for (;;) {
    const lineEnd = received.indexOf('\r\n', at)
    const length = Number.parseInt(received.slice(at, lineEnd), 16)
    if (!(length > 0)) return chunks
    chunks.push(received.slice(lineEnd + 2, lineEnd + 2 + length))
    at = lineEnd + 2 + length + 2
  }
}

const countEvents = (chunk: string) => chunk.split('\n\n').length - 1

t.test('every event of a stream is a chunk of its own, also in one turn of the event loop', async t => {
  const port = await startUpstream(t)
  // The last event of the text, the usage and the end are one chunk.
  t.same((await readChunks(port, 'bench-L0-N5-G0')).map(countEvents), [1, 1, 1, 1, 1, 2])
  t.same((await readChunks(port, 'bench-L0-N3-G1')).map(countEvents), [1, 1, 1, 2])
})

t.test('a model with -P has so many events in a chunk', async t => {
  const port = await startUpstream(t)
  t.same((await readChunks(port, 'bench-L0-N8-G0-P3')).map(countEvents), [1, 3, 3, 1, 2])
})
