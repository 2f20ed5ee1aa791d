// Requests over a message channel: gives each an id, waits for the reply with that id, and ends every wait that gets none.

/** What ends a wait from outside; an `AbortSignal` is one. */
export interface AskSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

interface Numbered {
  readonly kind: string
  readonly requestId: number
}

/** How a wait ended without a reply: the signal aborted, the deadline passed, or the channel closed. */
export interface Unanswered {
  readonly kind: 'unanswered'
  readonly reason: 'aborted' | 'timeout' | 'closed'
}

export interface AskOptions<Interim> {
  readonly signal?: AskSignal
  /** Absent where only a reply, the signal or the closed channel ends the wait. */
  readonly timeoutMs?: number
  /** Called when the signal or the deadline ended the wait, so that the other end can be informed. */
  readonly onAbandoned?: (requestId: number) => void
  /** Called for each message that carries the id and does not end the request. */
  readonly onInterim?: (message: Interim) => void
}

/** For each kind of request the kinds of reply that end it. */
export type RequestPairs<Request extends Numbered, Reply extends Numbered> = {
  readonly [Kind in Request['kind']]?: ReadonlyArray<Reply['kind']>
}

type AskKind<Pairs, Request extends Numbered> = keyof Pairs & Request['kind']
type RequestFields<Request, Kind> = Omit<Extract<Request, { kind: Kind }>, 'requestId'>
type ReplyTo<Reply, ReplyKinds> = ReplyKinds extends ReadonlyArray<infer Kind> ? Extract<Reply, { kind: Kind }> : never
type InterimOf<Reply, ReplyKinds> = Exclude<Reply, ReplyTo<Reply, ReplyKinds>>

export interface Asker<Request extends Numbered, Reply extends Numbered, Pairs> {
  /** Sends a request under a new id and resolves with its reply, or with `unanswered`; it never rejects. */
  ask<Kind extends AskKind<Pairs, Request>>(
    request: RequestFields<Request, Kind> & { readonly kind: Kind },
    options?: AskOptions<InterimOf<Reply, Pairs[Kind]>>
  ): Promise<ReplyTo<Reply, Pairs[Kind]> | Unanswered>
  /** Takes in a message with the id of a request. One whose request has ended is ignored. */
  receive(reply: Reply): void
  /** Ends every wait, and each later one at once: the other end has exited or this one exits. */
  close(): void
}

interface Pending<Reply> {
  readonly receive: (reply: Reply) => void
  readonly end: (reason: Unanswered['reason']) => void
}

/** Creates an asker for one channel. `send` is called with each request as soon as its reply can be received. */
export function createAsker<
  Request extends Numbered,
  Reply extends Numbered,
  const Pairs extends RequestPairs<Request, Reply>
>(pairs: Pairs, send: (request: Request) => void): Asker<Request, Reply, Pairs> {
  const pending = new Map<number, Pending<Reply>>()
  let lastRequestId = 0
  let isClosed = false

  function ask<Kind extends AskKind<Pairs, Request>>(
    request: RequestFields<Request, Kind> & { readonly kind: Kind },
    options: AskOptions<InterimOf<Reply, Pairs[Kind]>> = {}
  ): Promise<ReplyTo<Reply, Pairs[Kind]> | Unanswered> {
    const { signal, timeoutMs, onAbandoned, onInterim } = options
    if (isClosed) return Promise.resolve({ kind: 'unanswered', reason: 'closed' })
    if (signal?.aborted) return Promise.resolve({ kind: 'unanswered', reason: 'aborted' })
    lastRequestId += 1
    const requestId = lastRequestId
    const { promise, resolve } = Promise.withResolvers<ReplyTo<Reply, Pairs[Kind]> | Unanswered>()

    function stopWaiting(): void {
      pending.delete(requestId)
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    function end(reason: Unanswered['reason']): void {
      stopWaiting()
      if (reason !== 'closed') onAbandoned?.(requestId)
      resolve({ kind: 'unanswered', reason })
    }
    function receive(reply: Reply): void {
      if (isReplyTo(reply, pairs[request.kind])) {
        stopWaiting()
        resolve(reply)
      } else {
        // What is no reply to the kind of this request is one of its interim messages.
        onInterim?.(reply as InterimOf<Reply, Pairs[Kind]>)
      }
    }
    const onAbort = () => end('aborted')
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), timeoutMs).unref()
    signal?.addEventListener('abort', onAbort, { once: true })
    pending.set(requestId, { receive, end })
    // The id is the one field that the fields of this kind lack.
    send({ ...request, requestId } as unknown as Request)
    return promise
  }

  return {
    ask,
    receive: reply => pending.get(reply.requestId)?.receive(reply),
    close() {
      isClosed = true
      for (const { end } of [...pending.values()]) end('closed')
    }
  }
}

function isReplyTo<Reply extends Numbered, ReplyKinds>(
  reply: Reply,
  replyKinds: ReplyKinds
): reply is Reply & ReplyTo<Reply, ReplyKinds> {
  return Array.isArray(replyKinds) && replyKinds.includes(reply.kind)
}
