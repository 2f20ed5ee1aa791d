// Streams that fail behind their first text: what every client family receives from every kind of
// provider, byte by byte, so that no client takes the text for a whole response.

import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { endsWithError } from '../../support/client.ts'
import { emulatorVariables, readLog, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { readEnd } from '../system/support.ts'
import { type Family, families } from './families.ts'
import { NATIVE_ALIAS, providers, startBridge } from './providers/index.ts'

const bridge = await startBridge(t, { env: { GATEWAY_ACCESS_LOG: 'true' } })
const { emulator, gateway } = bridge
const models = [NATIVE_ALIAS, ...providers.map(({ aliases }) => aliases.keyless)]
const routes = families.flatMap(family => models.map(model => ({ family, model })))
const PROMPT = '[[chunks:one|two|three]]'

interface Exchange {
  received: string
  /** The server has ended the connection with FIN. */
  hasEnd: boolean
  /** The code of the connection's error, such as that of a reset. */
  error: string | undefined
}

function writeRequest(family: Family, model: string, prompt: string, path?: string): string {
  const question = { model, prompt, isStream: true }
  const body = JSON.stringify(family.body(question))
  return (
    `POST ${path ?? family.path(question)} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

function open(t: Test, url: string): Socket {
  const { protocol, port } = new URL(url)
  const place = { port: Number(port), host: '127.0.0.1', allowHalfOpen: true }
  const socket = protocol === 'https:' ? connectTls({ ...place, rejectUnauthorized: false }) : connectTcp(place)
  t.teardown(() => socket.destroy())
  return socket
}

/**
 * Sends a request over a connection of its own and reads until the gateway ends the connection. `onData`
 * may write more, or close the connection.
 */
function exchange(socket: Socket, request: string, onData?: (socket: Socket, text: string) => void): Promise<Exchange> {
  return new Promise(resolve => {
    let received = ''
    let hasEnd = false
    let error: string | undefined
    socket.on('data', bytes => {
      received += bytes.toString('utf8')
      onData?.(socket, received)
    })
    socket.on('error', thrown => {
      error = (thrown as NodeJS.ErrnoException).code
    })
    socket.on('end', () => {
      hasEnd = true
      socket.end()
    })
    socket.on('close', () => resolve({ received, hasEnd, error }))
    socket.write(request)
  })
}

/** The text in the chunks of a response. */
function readChunks(received: string): { text: string; isComplete: boolean } {
  let rest = Buffer.from(received).subarray(Buffer.from(received).indexOf('\r\n\r\n') + 4)
  const pieces: Buffer[] = []
  while (rest.length > 0) {
    const lineEnd = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.subarray(0, lineEnd).toString('latin1'), 16)
    if (size === 0) return { text: Buffer.concat(pieces).toString('utf8'), isComplete: true }
    pieces.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size))
    rest = rest.subarray(lineEnd + 4 + size)
  }
  return { text: Buffer.concat(pieces).toString('utf8'), isComplete: false }
}

function checkFailed(t: Test, family: Family, { received, hasEnd, error }: Exchange, about: string): void {
  const { text, isComplete } = readChunks(received)
  t.match(received, /^HTTP\/1\.1 200 OK\r\n/, about)
  t.notOk(isComplete, `${about}: the body is unfinished`)
  t.ok(hasEnd, `${about}: the connection ends with FIN`)
  t.equal(error, undefined, `${about}: there is no reset`)
  t.match(text, 'one', about)
  t.notMatch(text, '[DONE]', about)
  t.ok(endsWithError(text), `${about}: ${text.slice(-300)}`)
  t.equal(readEnd(family.name, text), 'error', about)
}

for (const { family, model } of routes) {
  t.test(`decisions.md 108: ${family.name} from ${model}: a failed stream has its error and no end`, async t => {
    await Promise.all(
      ['[[errframe]]', '[[die]]', '[[noeof]]', '[[badframe]]'].map(async fault => {
        const exchanged = await exchange(open(t, gateway.url), writeRequest(family, model, `${fault}${PROMPT}`))
        checkFailed(t, family, exchanged, fault)
      })
    )
  })
}

t.test('decisions.md 108: both contracts of the native upstream', async t => {
  const [completions, responses, messages, content] = families
  for (const [family, path] of [
    [completions, '/v2/chat/completions'],
    [responses, '/v2/responses'],
    [messages, '/v2/messages'],
    [content, '/v2/v1beta/models/GigaChat-2-Max:streamGenerateContent?alt=sse']
  ] as const) {
    if (family === undefined) continue
    const request = writeRequest(
      family,
      NATIVE_ALIAS,
      `[[errframe]]${PROMPT}`,
      path.replace('GigaChat-2-Max', NATIVE_ALIAS)
    )
    checkFailed(t, family, await exchange(open(t, gateway.url), request), path)
  }
})

t.test('decisions.md 108: the same over TLS', async t => {
  const fixtures = new URL('../../ops/emulator/fixtures/', import.meta.url).pathname
  const secure = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_USE_HTTPS: 'true',
      GATEWAY_HTTPS_KEY_FILE: `${fixtures}server.key`,
      GATEWAY_HTTPS_CERT_FILE: `${fixtures}server.pem`
    }
  })
  for (const family of families) {
    const request = writeRequest(family, 'GigaChat-2-Max', `[[errframe]]${PROMPT}`)
    checkFailed(t, family, await exchange(open(t, secure.url.replace('http:', 'https:')), request), family.name)
  }
})

t.test('decisions.md 108: a failed stream behind other requests of its connection', async t => {
  for (const family of families) {
    const socket = open(t, gateway.url)
    const ready = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'
    const exchanged = await exchange(
      socket,
      ready + ready + writeRequest(family, NATIVE_ALIAS, `[[errframe]]${PROMPT}`)
    )
    const [, first, second, failed] = exchanged.received.split('HTTP/1.1 200 OK')
    t.match(first, /x-request-id/)
    t.match(second, /x-request-id/)
    checkFailed(t, family, { ...exchanged, received: `HTTP/1.1 200 OK${failed}` }, family.name)
  }
})

t.test('decisions.md 108: a request behind a failed stream is not answered', async t => {
  for (const family of families) {
    const before = emulator.requests.length
    let isSent = false
    const exchanged = await exchange(
      open(t, gateway.url),
      writeRequest(family, NATIVE_ALIAS, `[[errframe]]${PROMPT}`),
      (socket, text) => {
        if (isSent || !/"error"|response\.failed/.test(text)) return
        isSent = true
        socket.write(writeRequest(family, NATIVE_ALIAS, 'late'))
      }
    )
    t.equal(exchanged.received.split('HTTP/1.1 ').length, 2, family.name)
    t.equal(readEnd(family.name, readChunks(exchanged.received).text), 'error')
    t.notOk(emulator.requests.slice(before).some(({ body }) => JSON.stringify(body)?.includes('"late"')))
  }
})

t.test('decisions.md 108: a client that leaves at the error, or before it, is no fault of the log', async t => {
  const ids: string[] = []
  for (const family of families) {
    const exchanged = await exchange(
      open(t, gateway.url),
      writeRequest(family, NATIVE_ALIAS, `[[errframe]]${PROMPT}`),
      (socket, text) => {
        if (/"error"|response\.failed/.test(text)) socket.destroy()
      }
    )
    ids.push(/x-request-id: (\S+)/.exec(exchanged.received)?.[1] ?? '')
  }
  const findLine = (id: string) => readLog(gateway).find(line => line.event === 'http_access' && line.request_id === id)
  await waitUntil(() => ids.every(id => findLine(id) !== undefined), 'every stream has its line')
  for (const id of ids) t.match(findLine(id), { status: 200, lifecycle: 'streaming_aborted' })
  // By their ids: lines of the tests before may still be on their way.
  const lines = readLog(gateway).filter(line => ids.includes(String(line.request_id)))
  t.notOk(lines.some(line => line.status === 499 || line.event === 'unhandled_fault'))
})

t.test('decisions.md 108: a stream that ends well keeps its connection', async t => {
  for (const { family, model } of routes) {
    const socket = open(t, gateway.url)
    let isSent = false
    const exchanged = await exchange(socket, writeRequest(family, model, PROMPT), (socket, text) => {
      if (isSent || !text.endsWith('\r\n0\r\n\r\n')) return
      isSent = true
      socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    })
    t.equal(exchanged.received.split('HTTP/1.1 200 OK').length, 3, `${family.name} ${model}`)
    const { text, isComplete } = readChunks(exchanged.received)
    t.ok(isComplete)
    t.equal(readEnd(family.name, text), 'success')
  }
})
