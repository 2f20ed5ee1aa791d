// What is kept of a request's content where the operator asked for it: headers, bodies, and the
// message that a stream adds up to (operations.md 8.2). Bodies are copied when they pass and
// redacted after the request has ended.
import type { IncomingHttpHeaders } from 'node:http'
import { asBuffer } from '../../../shared/bytes.ts'
import type { NormalizedEvent } from '../../normalized/index.ts'
import {
  boundText,
  type CapturedBody,
  type CaptureRules,
  createCaptureRedactor,
  type WrittenBody
} from '../../translation/captured-body.ts'
import { describeFailure } from '../failure.ts'
import type { ClosedFacts, RequestView } from '../observer.ts'
import { redactHeaders } from './headers.ts'
import type { RecordMembers } from './record.ts'
import { StreamMessage } from './stream-message.ts'

/** What a record has of a request's content. */
export interface WrittenContent {
  readonly members: RecordMembers
  /** Facts about the capture, without content. */
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface ContentCapture {
  /** A request has begun. */
  begin(request: RequestView, headers: IncomingHttpHeaders): RequestContent
  /** Redacts what was captured, then calls `done`, exactly once and perhaps at once. */
  finish(
    content: RequestContent,
    ended: { request: RequestView; closed: ClosedFacts },
    done: (content: WrittenContent) => void
  ): void
  /** Resolves when every record is handed over. What is not redacted in time is left out of its record. */
  close(withinMs: number): Promise<void>
}

export interface ContentCaptureOptions {
  readonly rules: CaptureRules
  /** Writes a captured body; large ones in a thread. */
  readonly writeBody: (body: CapturedBody) => Promise<Pick<WrittenBody, 'isShortened'> & { body: string | Uint8Array }>
}

/** The content of one request until its end. */
export class RequestContent {
  readonly headers: IncomingHttpHeaders
  requestBody: KeptBody | undefined
  responseBody: KeptBody | undefined
  message: StreamMessage | undefined
  readonly #request: RequestView
  readonly #bytesMax: number

  constructor(request: RequestView, headers: IncomingHttpHeaders, bytesMax: number) {
    this.#request = request
    this.headers = headers
    this.#bytesMax = bytesMax
  }

  takeRequestBody(body: Uint8Array): void {
    if (body.byteLength > 0) this.requestBody = keepBody(body, this.#bytesMax)
  }

  /** The responses of system routes are not kept: those of the admin API hold other records, those of the log routes the log. */
  takeResponseBody(body: string | Uint8Array): void {
    if (body.length > 0 && this.#request.protocol !== 'system') this.responseBody = keepBody(body, this.#bytesMax)
  }

  takeEvents(events: readonly NormalizedEvent[], atMs: number): void {
    // A whole response is kept as its body.
    if (!this.#request.isStreaming) return
    this.message ??= new StreamMessage(this.#bytesMax)
    this.message.take(events, atMs)
  }
}

interface KeptBody {
  readonly bytes: Uint8Array
  readonly isCut: boolean
}

/** A copy of the beginning: the bytes themselves may be moved to a thread or belong to a larger block of memory. */
function keepBody(body: string | Uint8Array, bytesMax: number): KeptBody {
  if (typeof body !== 'string') {
    return { bytes: Buffer.from(body.subarray(0, bytesMax)), isCut: body.byteLength > bytesMax }
  }
  // A character has one byte at least.
  const bytes = Buffer.from(body.slice(0, bytesMax))
  return { bytes: bytes.subarray(0, bytesMax), isCut: body.length > bytesMax || bytes.length > bytesMax }
}

const NO_BODY: WrittenBody = { body: '', isShortened: false }

/** Creates the capture of a worker. */
export function createContentCapture({ rules, writeBody }: ContentCaptureOptions): ContentCapture {
  const redactor = createCaptureRedactor(rules)
  const { bytesMax } = rules
  let running = 0
  let closed: (() => void) | undefined
  /** Each ends the wait for one body. */
  const cuts = new Set<() => void>()

  /** undefined where it could not be written: too many large bodies wait for a thread, or the worker closes. */
  function write(body: KeptBody | undefined, keepsText: boolean): Promise<WrittenBody | undefined> | WrittenBody {
    if (body === undefined) return NO_BODY
    return new Promise(resolve => {
      const cut = () => end(undefined)
      const end = (written: WrittenBody | undefined) => {
        cuts.delete(cut)
        resolve(written)
      }
      cuts.add(cut)
      const readText = (written: string | Uint8Array) =>
        typeof written === 'string' ? written : asBuffer(written).toString('utf8')
      writeBody({ ...body, keepsText, rules })
        .then(({ body: written, isShortened }) => end({ body: readText(written), isShortened }))
        .catch(cut)
    })
  }

  async function writeContent(content: RequestContent, failureText: string | undefined): Promise<WrittenContent> {
    const { message } = content
    const answer = message === undefined ? content.responseBody : keepBody(message.write(), Number.MAX_SAFE_INTEGER)
    const [requestBody, responseBody] = await Promise.all([write(content.requestBody, false), write(answer, true)])
    const bodies = Object.entries({ request_body: requestBody, response_body: responseBody })
    const lost = bodies.filter(([, written]) => written === undefined).map(([name]) => name)
    const shortened = bodies.filter(([, written]) => written?.isShortened === true).map(([name]) => name)
    return {
      members: {
        error_message:
          failureText === undefined ? undefined : JSON.stringify(boundText(redactor.redactText(failureText))),
        request_headers_redacted: JSON.stringify(redactHeaders(content.headers, redactor)),
        request_body_redacted: requestBody?.body || undefined,
        response_body_redacted: responseBody?.body || undefined
      },
      metadata: {
        ...(message !== undefined && { stream: message.timings }),
        ...(lost.length > 0 && { content_lost: lost }),
        ...(shortened.length > 0 && { content_shortened: shortened })
      }
    }
  }

  return {
    begin: (request, headers) => new RequestContent(request, headers, bytesMax),
    finish(content, ended, done) {
      running += 1
      void writeContent(content, describeFailure(ended.closed)?.contentMessage).then(written => {
        done(written)
        running -= 1
        if (running === 0) closed?.()
      })
    },
    async close(withinMs) {
      if (running === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      closed = resolve
      const timer = setTimeout(() => {
        for (const cut of cuts) cut()
      }, withinMs)
      await promise
      clearTimeout(timer)
    }
  }
}
