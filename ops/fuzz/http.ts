// Cases of raw HTTP: heads, targets, headers, body framing and chunks that are changed, several requests in one write, slow bytes, and
// connections that the client closes early or half.

import { applyEdits, type ByteEdit, createEdits, cutIntoPieces } from './bytes.ts'
import { type ByteExchange, ExchangeError, exchangeBytes } from './client.ts'
import { createMessages, type Message } from './http-bases.ts'
import { type RawResponse, readResponses } from './http-responses.ts'
import { createRandom, type Random } from './random.ts'
import { type FuzzTarget, GATEWAY_KEY } from './target.ts'
import type { FuzzKind } from './types.ts'

interface HttpCase {
  messages: Message[]
  /** How many changes were made; without any, each request must get its response. */
  changeCount: number
  edits: ByteEdit[]
  ending: ByteExchange['ending']
  pauseMs: number
  piecesMax: number
  /** Decides where the bytes are cut into pieces. */
  cuts: number
}

export function createHttpKind(): FuzzKind<HttpCase> {
  const bases = createMessages()
  return {
    name: 'http',
    concurrency: 24,
    create(random) {
      const count = random.chance(0.25) ? 2 + random.below(9) : 1
      const messages = Array.from({ length: count }, () => copyMessage(random.pick(bases)))
      const changeCount = random.below(4)
      for (let change = 0; change < changeCount; change++) changeMessage(random.pick(messages), random)
      return {
        messages,
        changeCount,
        edits: random.chance(0.25) ? createEdits(random) : [],
        ending: random.pick(['half-close', 'half-close', 'wait', 'wait', 'destroy'] as const),
        pauseMs: random.below(8),
        piecesMax: random.chance(0.3) ? 12 : 1,
        cuts: random.below(2 ** 31)
      }
    },
    run,
    *listSmaller(fuzzed) {
      const { messages, edits, piecesMax } = fuzzed
      if (piecesMax > 1) yield { ...fuzzed, piecesMax: 1 }
      for (const index of edits.keys()) yield { ...fuzzed, edits: edits.toSpliced(index, 1) }
      for (const index of messages.keys()) {
        if (messages.length > 1) yield { ...fuzzed, messages: messages.toSpliced(index, 1) }
      }
      for (const [index, message] of messages.entries()) {
        for (const smaller of listSmallerMessages(message)) {
          yield { ...fuzzed, changeCount: 1, messages: messages.with(index, smaller) }
        }
      }
    },
    describe(fuzzed) {
      const { messages, edits, ...summary } = fuzzed
      const counts = { requests: messages.length, edits: edits.length }
      return { summary: { ...summary, ...counts }, bytes: writeBytes(fuzzed) }
    }
  }
}

async function run(fuzzed: HttpCase, target: FuzzTarget): Promise<string | undefined> {
  const { messages, edits, ending, pauseMs, piecesMax, cuts } = fuzzed
  const pieces = cutIntoPieces(writeBytes(fuzzed), createRandom(cuts), piecesMax)
  const methods = messages.map(({ lines }) => lines[0]?.split(' ')[0] ?? '')
  const isChanged = fuzzed.changeCount > 0 || edits.length > 0
  const expected = countExpected(messages)
  // A changed request may have no end, so that only silence tells that no response comes.
  const silenceMs = isChanged ? CHANGED_SILENCE_MS : WHOLE_SILENCE_MS
  const isComplete = (bytes: Buffer): boolean => countResponses(bytes, methods) >= expected
  let received: Buffer
  try {
    received = await exchangeBytes(target.port, { pieces, pauseMs, ending, silenceMs, isComplete })
  } catch (error) {
    if (error instanceof ExchangeError) return error.message
    throw error
  }
  try {
    const mayBreakOff = isChanged || ending !== 'wait'
    const responses = readResponses(received, methods, mayBreakOff)
    const broken = responses.map(response => findFault(response, target)).find(fault => fault !== undefined)
    if (broken !== undefined) return broken
    const [first] = messages
    if (edits.length === 0 && first !== undefined && mustBeRefused(first) && responses.some(isAccepted)) {
      return 'a request with ambiguous framing is accepted'
    }
    if (isChanged || ending !== 'wait') return undefined
    if (responses.length > messages.length) return 'more responses than requests'
    return findMissing(messages.slice(0, expected), responses)
  } catch (error) {
    // A change can make the request one of HEAD, or a response may follow one without a body.
    return edits.length > 0 && received.includes('HTTP/1.1') ? undefined : `the connection carries no HTTP: ${error}`
  }
}

const CHANGED_SILENCE_MS = 300
const WHOLE_SILENCE_MS = 10_000

function countResponses(bytes: Buffer, methods: readonly string[]): number {
  try {
    return readResponses(bytes, methods, true).length
  } catch {
    return 0
  }
}

function findFault({ status, head, body }: RawResponse, target: FuzzTarget): string | undefined {
  if (status === 500) return `an internal error: ${body.toString('utf8').slice(0, 500)}`
  if (/[^\t\r\n\x20-\x7e]/.test(head)) return 'a head is not ASCII'
  if (!/\r\nx-request-id: [!-~]/.test(head)) return `a response without x-request-id: ${head.slice(0, 300)}`
  if (status < 400) return undefined
  const text = body.toString('utf8')
  if (target.listSecrets().some(secret => text.includes(secret))) return 'an error has a secret'
  // A response to HEAD has no body; a refused preflight is a text.
  if (body.length === 0 || /\r\ncontent-type: text\/plain/.test(head)) return undefined
  try {
    if (typeof JSON.parse(text).error.message === 'string') return undefined
  } catch {
    // The text is shown below.
  }
  return `an error without an envelope: ${status} ${text.slice(0, 500)}`
}

/** How many requests must get a response, where none is changed. */
function countExpected(messages: readonly Message[]): number {
  // What follows the last request of a connection is no HTTP, and a CONNECT behind others closes the connection.
  if (messages.slice(0, -1).some(({ lines }) => /^CONNECT|HTTP\/1\.0$/.test(lines[0] ?? ''))) return 0
  if (messages.slice(1).some(({ lines }) => lines[0]?.startsWith('CONNECT'))) return 0
  // Node reads nothing behind a request to upgrade that is in the same segment.
  const upgrade = messages.findIndex(({ lines }) => lines.some(line => line.startsWith('upgrade:')))
  return upgrade === -1 ? messages.length : upgrade + 1
}

/** Every request of an unchanged connection gets its response, in order, until one closes the connection. */
function findMissing(messages: readonly Message[], responses: readonly RawResponse[]): string | undefined {
  const isClosed = responses.some(({ head }) => /\r\nconnection: close/.test(head))
  if (responses.length >= messages.length || (isClosed && responses.length > 0)) return undefined
  const missing = messages.slice(responses.length)
  return `no response to ${missing.map(({ lines }) => lines[0]).join(', ')}`
}

const isAccepted = ({ status }: RawResponse): boolean => status < 400

/** Whether two readers could disagree on where the body of the first request ends (RFC 9112, section 6). */
function mustBeRefused({ lines, eol }: Message): boolean {
  if (eol !== '\r\n') return false
  const values = (name: string): string[] =>
    lines
      .slice(1)
      .filter(line => line.toLowerCase().startsWith(`${name}:`))
      .map(line =>
        line
          .slice(name.length + 1)
          .trim()
          .toLowerCase()
      )
  const encodings = values('transfer-encoding')
  const lengths = values('content-length')
  if (encodings.length > 0) return encodings.join() !== 'chunked' || lengths.length > 0
  return new Set(lengths).size > 1 || lengths.some(length => !/^\d+$/.test(length))
}

function writeBytes({ messages, edits }: Pick<HttpCase, 'messages' | 'edits'>): Buffer {
  const text = messages.map(({ lines, eol, body }) => `${lines.join(eol)}${eol}${eol}${body}`).join('')
  return applyEdits(Buffer.from(text, 'latin1'), edits)
}

function copyMessage({ lines, eol, body }: Message): Message {
  return { lines: [...lines], eol, body }
}

function* listSmallerMessages(message: Message): Generator<Message> {
  const { lines, body } = message
  for (let index = 1; index < lines.length; index++) yield { ...message, lines: lines.toSpliced(index, 1) }
  for (const [index, line] of lines.entries()) {
    if (line.length > 200) yield { ...message, lines: lines.with(index, line.slice(0, line.length >> 1)) }
  }
  if (body !== '') yield { ...message, body: '' }
}

const METHODS = ['get', 'G ET', 'POST', 'HEAD', 'PRI', 'PATCH', 'PURGE', 'M-SEARCH', 'X'.repeat(300), '', '\x00']
const VERSIONS = ['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 ', '', 'ICE/1.0']
const TARGETS = [
  '//',
  '/..%2f..%2fetc/passwd',
  '/v1/../v1/models',
  '/./health',
  '/%zz',
  '/%00',
  '/%ff%fe',
  '/v1//models',
  '/v1/models/%F0%9F%98%80',
  '/health?%',
  `/v1/models?key=${GATEWAY_KEY}&key=x`,
  '/v1/models?__proto__[x]=1&constructor=2',
  '/health#x',
  'health',
  '*',
  'http://',
  'http://[::1/health',
  'https://user:pw@x/health',
  `/${'a'.repeat(20_000)}`,
  `/v1/${'v1/'.repeat(3000)}models`,
  `/v1/models/${'%61'.repeat(3000)}`,
  '/h\xe4lth',
  '/v1beta/models/:generateContent',
  '/v1beta/models/a:b:countTokens',
  '/__proto__',
  '/constructor/models'
]
const HEADERS = [
  'content-length: 0',
  'content-length: 5',
  'content-length: +5',
  'content-length: -1',
  'content-length: 5, 5',
  'content-length: 99999999999999999999',
  'content-length: 0x10',
  'content-length : 5',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding: identity',
  'transfer-encoding: chunked, chunked',
  'transfer-encoding: ,chunked',
  'transfer-encoding: xchunked',
  'transfer-encoding: chunked;q=1',
  'Transfer-Encoding:\x0bchunked',
  'te: trailers',
  'trailer: x-a',
  'expect: 100-continue',
  'expect: 200-ok',
  'connection: close',
  'connection: keep-alive, host, x-api-key',
  'connection: upgrade',
  'upgrade: h2c',
  'host: a, b',
  'host:',
  ' folded',
  '\tfolded',
  'no colon',
  ': no name',
  'b\xe4d: x',
  'x-nul: \x00',
  'x-del: \x7f',
  'x-utf8: \xc3\xa4\xff',
  'x y: z',
  '__proto__: x',
  'constructor: x',
  'cookie: a=b',
  'content-encoding: gzip',
  'content-encoding: identity, gzip, br',
  'content-type: \xff',
  'authorization: Bearer \xff',
  'authorization: Basic',
  'x-api-key:',
  'origin: null',
  'origin: http://\xe4',
  'x-request-id: \xff',
  'traceparent: 00',
  'access-control-request-method: \xe4',
  'accept-encoding: *;q=0',
  'range: bytes=0-',
  'forwarded: for=x'
]
const CHUNKS = [
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;ext="x"\r\nhello\r\n0\r\n\r\n',
  `5;${'e'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`,
  'zz\r\nhello\r\n',
  '-5\r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  '5\r\nhelloX0\r\n\r\n',
  'fffffffffffffffff\r\nx',
  '7fffffff\r\nx',
  `${'0'.repeat(5000)}5\r\nhello\r\n0\r\n\r\n`,
  '0\r\nx-trailer: a\r\ncontent-length: 5\r\n\r\n',
  `0\r\n${'x-trailer: a\r\n'.repeat(500)}\r\n`,
  '1\r\n{\r\n'.repeat(2000),
  'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'
]

function changeMessage(message: Message, random: Random): void {
  const { lines } = message
  const [method = '', target = '', version = ''] = (lines[0] ?? '').split(' ')
  const index = 1 + random.below(Math.max(lines.length - 1, 1))
  switch (random.below(15)) {
    case 0:
      lines[0] = `${random.pick(METHODS)} ${target} ${version}`
      break
    case 1:
    case 2:
      lines[0] = `${method} ${random.pick(TARGETS)} ${version}`
      break
    case 3:
      lines[0] = `${method} ${target} ${random.pick(VERSIONS)}`
      break
    case 4:
    case 5:
    case 6:
    case 7:
      lines.splice(index, 0, random.pick(HEADERS))
      break
    case 8:
      lines.splice(index, 1)
      break
    case 9:
      lines.splice(index, 0, lines[index] ?? '')
      break
    case 10:
      lines[index] = random.pick(HEADERS)
      break
    case 11:
      lines.splice(index, 0, ...writeMany(random))
      break
    case 12:
      message.eol = random.pick(['\n', '\r', '\r\r\n', '\n\r'])
      break
    case 13:
      message.body = random.chance(0.5) ? random.pick(CHUNKS) : message.body + random.pick(CHUNKS)
      break
    default:
      message.body = message.body.slice(0, random.below(message.body.length + 1))
  }
}

/** Headers in number or size beyond every bound. */
function writeMany(random: Random): string[] {
  if (random.chance(0.5)) return [`x-long: ${'v'.repeat(random.pick([8000, 17_000, 70_000, 300_000]))}`]
  return Array.from({ length: random.pick([50, 500, 3000]) }, (_, number) => `x-${number}: v`)
}
