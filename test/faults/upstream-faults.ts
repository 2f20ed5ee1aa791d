// How a provider may answer wrongly, one entry for each way. The word in a question is the name of its entry.

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export interface FaultyAnswer {
  readonly response: ServerResponse
  readonly isStream: boolean
  /** The right answer, whole and as the events of a stream. */
  readonly whole: object
  readonly frames: readonly string[]
}

interface UpstreamFault {
  readonly done: string
  /** What clients get: a right answer, or an error of their family. */
  readonly expected: 'right' | 'refused'
  answer(answer: FaultyAnswer): void | Promise<void>
  /** What becomes of the text of a right answer. */
  change?(text: string): string
}

const EVENT_STREAM = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }
/** Longer than the gateway of the suite waits for anything. */
const FOREVER_MS = 15_000

/** The bytes of the right answer, in the form that was asked for. */
const bytesOf = ({ isStream, whole, frames }: FaultyAnswer): Buffer =>
  Buffer.from(isStream ? frames.join('') : JSON.stringify(whole))
const typeOf = ({ isStream }: FaultyAnswer) => (isStream ? EVENT_STREAM : JSON_TYPE)

/** Sends the head and the first half of the right answer. */
function writeHalf(answer: FaultyAnswer): void {
  const bytes = bytesOf(answer)
  answer.response.writeHead(200, typeOf(answer))
  answer.response.write(bytes.subarray(0, bytes.length / 2))
}

/** Ends the connection in the middle of the answer, after the gateway has had time to read the first half. */
async function breakInTheMiddle(answer: FaultyAnswer, end: (socket: Socket) => void): Promise<void> {
  writeHalf(answer)
  await wait(20)
  if (answer.response.socket !== null) end(answer.response.socket)
}

async function hang({ response }: FaultyAnswer): Promise<void> {
  await wait(FOREVER_MS, undefined, { ref: false })
  response.destroy()
}

export const upstreamFaults = {
  'never-answers': { done: 'the provider takes the request and sends no byte', expected: 'refused', answer: hang },
  'stops-in-the-middle': {
    done: 'the provider sends half of the answer and then nothing, with the connection open',
    expected: 'refused',
    async answer(answer) {
      writeHalf(answer)
      await hang(answer)
    }
  },
  drips: {
    done: 'the provider sends the right answer in pieces of three bytes, which cut letters',
    expected: 'right',
    async answer(answer) {
      const bytes = bytesOf(answer)
      answer.response.writeHead(200, typeOf(answer))
      for (let at = 0; at < bytes.length && !answer.response.destroyed; at += 3) {
        answer.response.write(bytes.subarray(at, at + 3))
        if (at % 60 === 0) await wait(1)
      }
      answer.response.end()
    }
  },
  'cut-chunked': {
    done: 'the connection closes in the middle of a chunked answer',
    expected: 'refused',
    answer: answer => breakInTheMiddle(answer, socket => socket.end())
  },
  'reset-in-the-middle': {
    done: 'the connection is reset in the middle of the answer',
    expected: 'refused',
    answer: answer => breakInTheMiddle(answer, socket => socket.resetAndDestroy())
  },
  'reset-at-once': {
    done: 'the connection is reset before the head of the answer',
    expected: 'refused',
    answer: ({ response }) => void response.socket?.resetAndDestroy()
  },
  'no-end-mark': {
    done: 'a stream ends in order without its last event; a whole answer lacks its last bytes',
    expected: 'refused',
    answer(answer) {
      answer.response.writeHead(200, typeOf(answer))
      const { isStream, frames } = answer
      answer.response.end(isStream ? frames.slice(0, 4).join('') : bytesOf(answer).subarray(0, -5))
    }
  },
  'huge-headers': {
    done: 'the head of the answer has a megabyte',
    expected: 'refused',
    answer({ response }) {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${'x-filler: '.padEnd(1000, 'y')}\r\n`
      response.socket?.write(head + `${'x-filler: '.padEnd(1000, 'y')}\r\n`.repeat(1000))
    }
  },
  'invalid-utf-8': {
    done: 'the text of the answer holds bytes that are no UTF-8',
    // As every decoder of the web does, and the SDKs of providers with them.
    expected: 'right',
    change: text => text.replace('日', '\ufffdA\ufffd'),
    answer(answer) {
      const bytes = bytesOf(answer)
      // Inside the first letter of three bytes.
      bytes[bytes.indexOf('日') + 1] = 0x41
      answer.response.writeHead(200, typeOf(answer))
      answer.response.end(bytes)
    }
  },
  'no-json': {
    done: 'the answer is 200 with bytes that are no JSON',
    expected: 'refused',
    answer(answer) {
      answer.response.writeHead(200, typeOf(answer))
      answer.response.end(answer.isStream ? 'data: {"choices": [}\n\ndata: [DONE]\n\n' : '{"choices": [}')
    }
  },
  'wrong-content-type': {
    done: 'the answer is 200 with a page of HTML',
    expected: 'refused',
    answer({ response }) {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<html><body>It works!</body></html>')
    }
  },
  'no-http': {
    done: 'the answer is not HTTP',
    expected: 'refused',
    answer: ({ response }) => void response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n')
  },
  'error-503': {
    done: 'the provider answers 503 with a page of HTML',
    expected: 'refused',
    answer({ response }) {
      response.writeHead(503, { 'content-type': 'text/html' })
      response.end('<html><body>maintenance</body></html>')
    }
  }
} satisfies Record<string, UpstreamFault>

export type FaultName = keyof typeof upstreamFaults

/** The entry that a question names. */
export function findFault(question: string): UpstreamFault | undefined {
  const name = /\[fault ([a-z0-9-]+)\]/.exec(question)?.[1]
  return name === undefined ? undefined : upstreamFaults[name as FaultName]
}
