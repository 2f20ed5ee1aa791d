// The resources of a gateway stay bounded when clients disconnect within streams, stop reading, or
// receive large responses (field-lessons.md H4, H6, H7, H8).

import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t from 'tap'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { askIn, bodyOf, type Family, families, model, textIn, urlOf } from './support.ts'

const MEBIBYTE = 1024 * 1024

function workerOf(gateway: StartedGateway): number {
  const [worker = 0] = readChildPids(gateway.process.pid ?? 0)
  return worker
}

/** The number of files and sockets that the worker has open. */
function countDescriptors(gateway: StartedGateway): number {
  return readdirSync(`/proc/${workerOf(gateway)}/fd`).length
}

/** The memory of the worker in bytes, without memory that it shares with other processes. */
function readMemory(gateway: StartedGateway): number {
  const kibibytes = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${workerOf(gateway)}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}

/** Sends a request over a new connection and returns the connection unread. */
async function send(gateway: StartedGateway, family: Family, prompt: string, stream = true): Promise<Socket> {
  const options = { stream, query: stream ? '?alt=sse' : '' }
  const { hostname, port, pathname, search } = new URL(urlOf(gateway, family, options))
  const body = JSON.stringify(bodyOf(family, prompt, options))
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const length = Buffer.byteLength(body)
  socket.write(`POST ${pathname}${search} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n${body}`)
  return socket
}

t.test('thousands of client disconnects free every connection and slot (H4)', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      UPSTREAM_MAX_CONNECTIONS: '40',
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 60 })
    }
  })
  t.equal((await askIn(gateway, 'completions', 'warm')).status, 200)
  const before = countDescriptors(gateway)
  const total = 2000
  const prompts = ['[[tick:5]][[len:5000]]', '[[hang]]', '[[hang:1]]', '[[slow:30000]]'] as const
  let started = 0
  async function leaveStreams(): Promise<void> {
    while (started < total) {
      const index = started++
      const prompt = prompts[index % prompts.length] ?? '[[hang]]'
      // More clients than connections and slots: some disconnect while they wait for one.
      const socket = await send(gateway, families[index % 4] ?? 'completions', prompt, index % 8 < 6)
      const isHeard = prompt.startsWith('[[tick') && index % 8 < 6 && index % 16 < 8
      if (isHeard) await Promise.race([once(socket, 'data'), once(socket, 'close')])
      else await new Promise(setImmediate)
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: 80 }, leaveStreams))
  t.comment(`${started} clients disconnected`)
  await emulator.waitFor(({ stats }) => stats.activeRequests === 0, 30_000)
  // All connections and slots are free again: the maximum number of requests runs concurrently.
  const headers = { connection: 'close' }
  const ask = () => askIn(gateway, 'completions', '[[slow:50]]', { headers })
  const responses = await Promise.all(Array.from({ length: 40 }, ask))
  t.ok(responses.every(({ status }) => status === 200))
  await waitUntil(() => countDescriptors(gateway) <= before + 5, 'the worker has closed its unused connections')
  t.ok(countDescriptors(gateway) <= before + 5, `${countDescriptors(gateway)} descriptors, ${before} before`)
  t.equal(await gateway.stop(), 0)
  t.notMatch(readFileSync(`${gateway.folder}/gateway.log`, 'utf8'), /"level":"(ERROR|CRITICAL)"/)
})

t.test(
  'when a client stops reading, the gateway stops reading from the upstream and buffers little (H6, H7)',
  async t => {
    // The text of a response is bounded, and must not end before all buffers are full: each character has six on either wire. The kernel
    // takes several megabytes for the client, and up to 36 of the upstream, whose frames have a member that no client gets: so these are few.
    const content = '\u0001'.repeat(600)
    const padding = 'x'.repeat(60_000)
    /** A little less than the most text of a response. */
    const frames = 2500
    const frame = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }], padding })}\n\n`
    const end = 'data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    let sentFrames = 0
    let closed = 0
    async function writeFrames(response: ServerResponse): Promise<void> {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const isClosed = once(response, 'close')
      for (let index = 0; index < frames && !response.destroyed; index++) {
        sentFrames += 1
        if (!response.write(frame)) await Promise.race([once(response, 'drain'), isClosed])
      }
      response.end(end)
    }
    const upstream = createServer((request, response) => {
      request.resume()
      if (request.url?.endsWith('/chat/completions') !== true) {
        response.setHeader('content-type', 'application/json')
        response.end('{"data":[]}')
        return
      }
      response.setMaxListeners(0).once('close', () => {
        closed += 1
      })
      void writeFrames(response)
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    t.teardown(() => upstream.close().closeAllConnections())
    const { port } = upstream.address() as AddressInfo
    const gateway = await startGateway(t, {
      env: { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`, UPSTREAM_ACCESS_TOKEN: 'token' }
    })
    /** Requests all frames, reads none of them, and resolves when the upstream's writing has paused for a while. */
    async function openPaused(family: Family): Promise<Socket> {
      sentFrames = 0
      closed = 0
      const socket = await send(gateway, family, 'much')
      socket.pause()
      let seen = 0
      let quietRounds = 0
      await waitUntil(() => {
        quietRounds = sentFrames > 0 && sentFrames === seen ? quietRounds + 1 : 0
        seen = sentFrames
        return quietRounds > 40
      }, 'the upstream waits')
      t.ok(sentFrames < frames, `${family}: ${sentFrames} of ${frames} frames were sent`)
      t.equal(closed, 0, 'the upstream call is not over')
      return socket
    }
    for (const family of families) {
      const socket = await openPaused(family)
      t.ok(readMemory(gateway) < 300 * MEBIBYTE, `${family}: ${Math.round(readMemory(gateway) / MEBIBYTE)} MiB in use`)
      socket.destroy()
      await waitUntil(() => closed === 1, 'the upstream call was closed')
    }
    const socket = await openPaused('completions')
    let bytes = 0
    socket.on('data', chunk => {
      bytes += chunk.length
    })
    socket.resume()
    await waitUntil(() => bytes > frames * 3600 && closed === 1, 'after reading continues, the rest arrives')
    t.equal(sentFrames, frames)
    socket.destroy()
    t.equal((await fetch(`${gateway.url}/health`)).status, 200)
  }
)

t.test('a large response is relayed completely, and a large request up to its limit (H8)', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
  for (const family of families) {
    const response = await askIn(gateway, family, '[[bigtext:5000000]]')
    t.equal(textIn(family, response).length, 5_000_000, family)
    const long = 'я'.repeat(2_000_000)
    const asked = await askIn(gateway, family, `[[text:read]] ${long}`)
    t.equal(asked.status, 200, family)
    t.equal(textIn(family, asked), 'read', family)
  }
})
