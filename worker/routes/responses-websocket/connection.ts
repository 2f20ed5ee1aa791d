// One WebSocket of a client: one response at a time, pings, and the bounds of its life (memory.md 5).

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { LocalFacts } from '../../http/connections/local-connection.ts'
import { createResponseId } from '../../memory/new-ids.ts'
import { GatewayError, toGatewayError } from '../../normalized/index.ts'
import { Exchange } from './exchange.ts'
import {
  addStreamId,
  type CreateMessage,
  continueBody,
  prepareBody,
  type ResponseEnd,
  readMessage,
  writeErrorEvent
} from './messages.ts'
import { RecentResponses } from './recent-responses.ts'

export interface ConnectionTimes {
  /** Between two pings; a client that has not responded to one is gone at the next. */
  readonly pingMs: number
  /** Without a message, and without a running response. */
  readonly idleMs: number
  readonly lifetimeMs: number
}

/** The lifetime is that of the public service. */
export const CONNECTION_TIMES: ConnectionTimes = { pingMs: 30_000, idleMs: 15 * 60_000, lifetimeMs: 60 * 60_000 }

export interface ConnectionOptions {
  readonly webSocket: WebSocket
  /** The request that was upgraded. */
  readonly upgraded: IncomingMessage
  readonly connect: (facts: LocalFacts) => Duplex
  /** Of the responses that are kept for the client. */
  readonly keptBytesMax: number
  readonly times: ConnectionTimes
  readonly onClosed: () => void
}

/** The server goes away, or the connection has lived long enough. */
const GOING_AWAY = 1001
/** More waits in memory for a client that reads slowly. */
const BUFFERED_BYTES_MAX = 1024 * 1024

const BUSY = {
  code: 'response_in_progress',
  message: 'A response is still being created on this connection. Wait for its end, or open another connection.'
}
const TOO_OLD = {
  code: 'websocket_connection_limit_reached',
  message: 'This connection has reached its longest lifetime. Open a new one to go on.'
}

export class SocketConnection {
  readonly #options: ConnectionOptions
  readonly #recent: RecentResponses
  readonly #pings: NodeJS.Timeout
  readonly #idle: NodeJS.Timeout
  readonly #lifetime: NodeJS.Timeout
  #exchange: Exchange | undefined
  #isAlive = true
  /** No message is taken any more; the connection closes with the end of the running response. */
  #isEnding = false

  constructor(options: ConnectionOptions) {
    const { webSocket, times } = options
    this.#options = options
    this.#recent = new RecentResponses(options.keptBytesMax)
    this.#pings = setInterval(() => this.#ping(), times.pingMs)
    this.#idle = setTimeout(() => this.#onIdle(), times.idleMs)
    this.#lifetime = setTimeout(() => this.#onTooOld(), times.lifetimeMs)
    webSocket.on('pong', () => {
      this.#isAlive = true
    })
    webSocket.on('message', data => void this.#receive(data))
    // What is wrong with a frame closes the connection with the code of the protocol.
    webSocket.on('error', () => undefined)
    webSocket.once('close', () => this.#onClose())
  }

  /** Closes the connection, after the running response if there is one. */
  drain(): void {
    this.#isEnding = true
    if (this.#exchange === undefined) this.#options.webSocket.close(GOING_AWAY)
  }

  /** Closes the connection now. */
  destroy(): void {
    this.#options.webSocket.terminate()
  }

  async #receive(data: RawData): Promise<void> {
    if (this.#isEnding) return
    this.#idle.refresh()
    if (this.#exchange !== undefined) {
      await this.#send(writeErrorEvent(409, BUSY))
      return
    }
    let message: CreateMessage
    let exchange: Exchange
    let history: readonly Uint8Array[]
    try {
      message = readMessage(toBuffer(data))
      history = this.#findHistory(message)
      exchange = this.#start(message, history)
    } catch (thrown) {
      const { status, code, message: text, param } = toGatewayError(thrown)
      await this.#send(writeErrorEvent(status, { code, message: text, param: param ?? null }))
      return
    }
    this.#exchange = exchange
    const end = await exchange.ended
    this.#exchange = undefined
    this.#idle.refresh()
    if (end === undefined || end.isFailed) this.#forgetContinued(message)
    if (end !== undefined) this.#keep(message, history, end)
    if (this.#isEnding) this.#options.webSocket.close(GOING_AWAY)
  }

  /** The items that a message continues; none for a response that this connection does not keep, which may be a stored one. */
  #findHistory({ previousResponseId: id }: CreateMessage): readonly Uint8Array[] {
    return (id === undefined ? undefined : this.#recent.find(id)) ?? []
  }

  #start(message: CreateMessage, history: readonly Uint8Array[]): Exchange {
    const { previousResponseId, streamId, isPreparation } = message
    const isContinued = previousResponseId !== undefined && this.#recent.find(previousResponseId) !== undefined
    const turn =
      isContinued || isPreparation
        ? { id: createResponseId(), isStored: false, ...(previousResponseId !== undefined && { previousResponseId }) }
        : undefined
    if (isPreparation && previousResponseId !== undefined && !isContinued) throw unknownResponse(previousResponseId)
    const body = isPreparation ? prepareBody(message) : isContinued ? continueBody(message, history) : message.body
    return new Exchange({
      upgraded: this.#options.upgraded,
      connection: this.#options.connect({ turn, isPreparation }),
      body,
      historyLength: isContinued ? history.length : 0,
      send: data => this.#send(addStreamId(data, streamId))
    })
  }

  /** A client that goes on after a failed continuation has to send its whole input: so the Open Responses specification has it. */
  #forgetContinued({ previousResponseId }: CreateMessage): void {
    if (previousResponseId !== undefined) this.#recent.forget(previousResponseId)
  }

  #keep(
    { items }: CreateMessage,
    history: readonly Uint8Array[],
    { id, isStored, isFailed, output }: ResponseEnd
  ): void {
    if (isStored || isFailed || id === '') return
    this.#recent.keep(id, [...history, ...items, ...output])
  }

  /** Resolves when there is room for more, or when the connection is closed. */
  #send(data: string): Promise<void> {
    const { webSocket } = this.#options
    if (webSocket.readyState !== webSocket.OPEN) return Promise.resolve()
    return new Promise(resolve => {
      webSocket.send(data, () => resolve())
      if (webSocket.bufferedAmount < BUFFERED_BYTES_MAX) resolve()
    })
  }

  #ping(): void {
    if (!this.#isAlive) {
      this.destroy()
      return
    }
    this.#isAlive = false
    this.#options.webSocket.ping()
  }

  #onIdle(): void {
    if (this.#exchange === undefined) this.drain()
    else this.#idle.refresh()
  }

  #onTooOld(): void {
    if (this.#exchange === undefined) void this.#send(writeErrorEvent(400, TOO_OLD))
    this.drain()
  }

  #onClose(): void {
    clearInterval(this.#pings)
    clearTimeout(this.#idle)
    clearTimeout(this.#lifetime)
    this.#isEnding = true
    this.#exchange?.abort()
    this.#options.onClosed()
  }
}

function unknownResponse(id: string): GatewayError {
  return new GatewayError('previous_response_not_found', {
    param: 'previous_response_id',
    message: `Previous response with id '${id.slice(0, SHOWN_ID_CHARACTERS_MAX)}' not found.`
  })
}

const SHOWN_ID_CHARACTERS_MAX = 128

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
