// Responses of the upstream that were made to be expensive, through a started gateway: within the bounds they are delivered, beyond
// them they end with the family's error.

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { HttpResponse } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { askIn, type Family, families, readEnd, readError, readEvents } from '../system/support.ts'

const MEBIBYTE = 1024 * 1024
const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })

type Version = 'v1' | 'v2'

const tools = {
  completions: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] },
  responses: { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] },
  messages: { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
  content: { tools: [{ functionDeclarations: [{ name: 'f' }] }] }
}

interface Expensive {
  family: Family
  version?: Version
  stream: boolean
  more?: object
}

function ask({ family, version = 'v2', stream, more }: Expensive, at = gateway): Promise<HttpResponse> {
  const prefix = version === 'v2' ? '/v2' : family === 'content' ? '/v1beta' : '/v1'
  const options = { prefix, stream, query: stream ? '?alt=sse' : '', more: { ...tools[family], ...more } }
  return askIn(at, family, 'hi', options)
}

/** Gives the next chat these frames; they arrive in one write. */
function respondWithFrames(frames: readonly object[]): void {
  const text = frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')
  emulator.respondNext({ headers: { 'content-type': 'text/event-stream' }, chunks: [`${text}data: [DONE]\n\n`] })
}

const message = (content: object[], more: object = {}) => ({ messages: [{ role: 'assistant', content, ...more }] })
const finish = { messages: [], finish_reason: 'stop' }
const isRefused = (response: HttpResponse) => response.status === 502

/** The provider's failure in the family's form: a status, or the end of a started stream. */
function isProvidersFailure(family: Family, response: HttpResponse): boolean {
  if (response.status === 200) return readEnd(family, response.text) === 'error'
  readError(family, response)
  return isRefused(response)
}

const call = (index: number) => ({ function_call: { name: 'f', arguments: { index } }, id: `p${index}` })

for (const family of families) {
  t.test(`cost 7: ${family}: twenty thousand calls end the response, a thousand do not`, async t => {
    const many = Array.from({ length: 20_000 }, (_, index) => call(index))
    const state = { tool_state_id: 's' }
    emulator.respondNext({ body: { ...message(many, state), finish_reason: 'function_call' } })
    t.ok(isRefused(await ask({ family, stream: false })), 'whole')
    respondWithFrames([message(many, state), finish])
    t.ok(isProvidersFailure(family, await ask({ family, stream: true })), 'in one frame')
    respondWithFrames([...many.map(part => message([part], state)), finish])
    t.ok(isProvidersFailure(family, await ask({ family, stream: true })), 'in many frames')
    const asV1 = many.map(({ function_call }) => ({ choices: [{ index: 0, delta: { function_call } }] }))
    respondWithFrames(asV1)
    t.ok(isProvidersFailure(family, await ask({ family, version: 'v1', stream: true })), 'of the other contract')
    respondWithFrames([message(many.slice(0, 1000), state), finish])
    const { text } = await ask({ family, stream: true })
    t.equal(readEnd(family, text), 'success')
    t.match(text, /index\\?":999\}/, 'the last call is delivered')
  })

  t.test(`cost 8: ${family}: hosted tool runs and files have a bound`, async t => {
    const runs = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        ['searching', 'success'].map(status => message([{ tool_execution: { name: `tool_${index}`, status } }]))
      ).flat()
    respondWithFrames([...runs(3000), finish])
    t.ok(isProvidersFailure(family, await ask({ family, stream: true })), '3000 runs')
    respondWithFrames([...runs(1000), message([{ text: 'done' }]), finish])
    const { text } = await ask({ family, stream: true })
    t.equal(readEnd(family, text), 'success')
    t.ok(text.length < 2 * MEBIBYTE, `1000 runs are written in ${text.length} characters`)
    if (family === 'completions') {
      const lists = readEvents(text).flatMap(({ data }) => data.choices?.[0]?.delta.tool_executions ?? [])
      const names = new Set(lists.map(({ name }: { name: string }) => name))
      t.equal(names.size, 1000)
      const last = readEvents(text).findLast(({ data }) => data.choices?.[0]?.delta.tool_executions !== undefined)
      const shown = last?.data.choices[0].delta.tool_executions
      t.equal(shown.length, 1000, 'the last list is complete')
      t.ok(shown.every(({ status }: { status: string }) => status === 'completed'))
    }
    const images = Array.from({ length: 2000 }, (_, index) => ({ id: `i${index}`, target: 'image' }))
    respondWithFrames([message([{ files: images }]), finish])
    t.ok(isProvidersFailure(family, await ask({ family, stream: true })), '2000 images')
  })

  t.test(`cost 11: ${family}: a response that nests too deeply is the provider's failure`, async t => {
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`
    const places = [
      `{"function_call":{"name":"f","arguments":${deep}}}`,
      `{"function_call":{"name":"f","arguments":${JSON.stringify(deep)}}}`,
      `{"inline_data":{"images":[],"x":${deep}}}`,
      `{"function_result":{"name":"g","result":${deep}}},{"function_call":{"name":"g"}}`,
      `{"text":"a","unknown":${deep}}`
    ]
    for (const part of places) {
      const payload = `{"messages":[{"role":"assistant","tool_state_id":"s","content":[${part}]}],"finish_reason":"stop"}`
      emulator.respondNext({ headers: { 'content-type': 'application/json' }, chunks: [payload] })
      const whole = await ask({ family, stream: false })
      t.equal(whole.status, 502, part.slice(0, 60))
      readError(family, whole)
      const started = `data: ${JSON.stringify(message([{ text: 'a' }]))}\n\n`
      emulator.respondNext({
        headers: { 'content-type': 'text/event-stream' },
        chunks: [started, { text: `data: ${payload}\n\n`, delayMs: 20 }]
      })
      const streamed = await ask({ family, stream: true })
      t.equal(streamed.status, 200)
      t.equal(readEnd(family, streamed.text), 'error', part.slice(0, 60))
    }
  })
}

t.test('cost 11: nesting within the bound is delivered', async t => {
  const deep = `${'{"a":'.repeat(800)}1${'}'.repeat(800)}`
  for (const family of families) {
    const part = `{"function_call":{"name":"f","arguments":${deep}}}`
    const payload = `{"messages":[{"role":"assistant","tool_state_id":"s","content":[${part}]}],"finish_reason":"function_call"}`
    emulator.respondNext({ headers: { 'content-type': 'application/json' }, chunks: [payload] })
    t.equal((await ask({ family, stream: false })).status, 200, family)
  }
})

/** An upstream of our own: it streams without end, or serves images. */
async function startUpstream(serve: (path: string, response: ServerResponse) => void): Promise<string> {
  const upstream = createServer((request, response) => {
    request.resume()
    const path = request.url ?? ''
    if (/\/chat\/completions$|\/files\//.test(path)) return serve(path, response)
    response.setHeader('content-type', 'application/json')
    response.end('{"data":[]}')
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => upstream.close().closeAllConnections())
  return `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`
}

function startGatewayAt(baseUrl: string) {
  return startGateway(t, { env: { UPSTREAM_BASE_URL: baseUrl, UPSTREAM_ACCESS_TOKEN: 'token' } })
}

/** The highest resident memory of any process of the gateway so far. */
function readPeak(pid: number | undefined): number {
  const peaks = listChildren(pid).map(
    child => /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1]
  )
  return Math.max(...peaks.map(peak => Number(peak) * 1024))
}

/** Begins a new peak of each child's memory and returns the largest. */
function restartPeak(pid: number | undefined): number {
  for (const child of listChildren(pid)) writeFileSync(`/proc/${child}/clear_refs`, '5')
  return readPeak(pid)
}

function listChildren(pid: number | undefined): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
}

t.test('cost 9: a stream without end ends with the error of each family, and memory stays small', async t => {
  const deltas = (...list: object[]) => list.map(delta => ({ choices: [{ index: 0, delta }] }))
  const piece = (text: string) => ({ function_call: { name: 'f', arguments: text } })
  // A text that is short beside its frame, and long enough for the engine to keep it as a part of the frame.
  const [textFrame] = deltas({ content: 'я'.repeat(400) })
  for (const [name, frames, asked] of [
    ['text', [{ ...textFrame, object: 'x'.repeat(1000) }], families],
    ['reasoning', deltas({ reasoning_content: 'я'.repeat(500) }), families],
    ['arguments', deltas(piece('я'.repeat(500)), piece('"}')), families],
    ['a call that is repeated', deltas(piece('{"a":1}')), ['completions']],
    ['nothing', deltas({ content: '' }), ['completions']]
  ] as const) {
    const text = frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')
    const bytes = Buffer.from(text.repeat(20))
    const baseUrl = await startUpstream(async (_path, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const isClosed = once(response, 'close')
      while (!response.destroyed) if (!response.write(bytes)) await Promise.race([once(response, 'drain'), isClosed])
    })
    const endless = await startGatewayAt(baseUrl)
    for (const family of asked) {
      // The first exchange of a worker also grows its young generation, which stays.
      if (family === 'responses') await ask({ family, version: 'v1', stream: true }, endless)
      const before = restartPeak(endless.process.pid)
      const { status, text } = await ask({ family, version: 'v1', stream: true }, endless)
      t.equal(status, 200)
      t.equal(readEnd(family, text), 'error', `${family}: ${name}`)
      const grown = Math.round((readPeak(endless.process.pid) - before) / MEBIBYTE)
      t.ok(grown < 200, `${family}: the worker grew by ${grown} MiB`)
    }
    await endless.stop()
  }
})

t.test('cost 8: the bytes of images are fetched a few at a time and have a bound', async t => {
  const image = Buffer.alloc(MEBIBYTE)
  /** Each response has counts of its own: a fetch of one that has failed may still arrive while the next one is read. */
  interface Run {
    name: string
    images: number
    running: number
    most: number
    served: number
  }
  const runs = new Map<string, Run>()
  let current: Run | undefined
  function startRun(name: string, images: number): Run {
    const run: Run = { name, images, running: 0, most: 0, served: 0 }
    runs.set(name, run)
    current = run
    return run
  }
  const baseUrl = await startUpstream((path, response) => {
    const [, name = ''] = /\/files\/(\w+)-/.exec(path) ?? []
    const fetched = runs.get(name)
    if (fetched !== undefined) {
      fetched.running += 1
      fetched.served += 1
      fetched.most = Math.max(fetched.most, fetched.running)
      void setTimeout(20).then(() => {
        fetched.running -= 1
        response.writeHead(200, { 'content-type': 'image/jpeg' }).end(image)
      })
      return
    }
    const files = Array.from({ length: current?.images ?? 0 }, (_, index) => ({
      id: `${current?.name}-${index}`,
      target: 'image'
    }))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      [message([{ text: 'a' }]), message([{ files }]), finish]
        .map(frame => `data: ${JSON.stringify(frame)}\n\n`)
        .join('')
    )
  })
  const started = await startGatewayAt(baseUrl)
  for (const family of ['completions', 'responses', 'content'] as const) {
    const few = startRun(`${family}few`, 12)
    const { text } = await ask({ family, stream: true }, started)
    t.equal(readEnd(family, text), 'success', family)
    t.equal(few.served, 12)
    const many = startRun(`${family}many`, 200)
    t.ok(isProvidersFailure(family, await ask({ family, stream: true }, started)), family)
    await waitUntil(() => many.running === 0, 'no image is fetched any more')
    t.ok(many.served < 40, `${many.served} images were fetched`)
    t.ok(Math.max(few.most, many.most) <= 4, `${few.most} and ${many.most} at the same time`)
  }
})
