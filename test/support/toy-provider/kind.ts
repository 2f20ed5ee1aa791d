// The registration of the toy kind: what a further provider kind adds to the product, outside of the product.

import { randomUUID } from 'node:crypto'
import { asBuffer, joinBytes } from '../../../shared/bytes.ts'
import type { ProviderFaces } from '../../../worker/protocols/registry.ts'
import type { ProviderKindRegistration } from '../../../worker/providers/registry.ts'
import type { ChatCall, Executor, ExecutorPool, ResponseSink } from '../../../worker/providers/types.ts'
import { toyFace } from './face.ts'
import { answerToyRequest, TOY_MARK, type ToyRequest } from './wire.ts'

/** The face's line in the table of faces. */
export const toyFaces: ProviderFaces = { toy: toyFace }

/** The kind's line in the table of executors. Every request that reaches the toy provider is added to `received`. */
export function createToyKind(received: ToyRequest[]): ProviderKindRegistration {
  return {
    readOptions: () => ({ base: '/toy' }),
    createPool: () => createToyPool(received)
  }
}

function createToyPool(received: ToyRequest[]): ExecutorPool {
  const executor: Executor = {
    async chat(call, context, sink) {
      const body = asBuffer(joinBytes(call.body)).toString('utf8')
      if (!body.startsWith(TOY_MARK)) throw new Error('The body is not on the wire of the toy.')
      const request = JSON.parse(body.slice(TOY_MARK.length)) as ToyRequest
      received.push(request)
      const lines = answerToyRequest(request).map(line => `${JSON.stringify(line)}\n`)
      if (isRelayed(call)) relay(lines, sink)
      else deliver(call, lines, sink)
      context.onUpstreamCall?.({ operation: 'chat', attempt: 0, status: '200', httpStatus: 200, durationMs: 1 })
    },
    close: async () => undefined,
    destroy: async () => undefined
  }
  const nothing = async (): Promise<void> => undefined
  return { acquire: () => ({ executor, release: () => undefined }), close: nothing, destroy: nothing }
}

function deliver(call: ChatCall, lines: string[], sink: ResponseSink): void {
  const reader = toyFace.createReader(null, { status: 200, headers: {} }, { createNonce: randomUUID })
  if (!call.isStream) {
    sink.push(reader.readBody(Buffer.from(lines.join(''))))
    return
  }
  let hasEvents = false
  for (const line of lines) {
    const events = reader.push(Buffer.from(line))
    const failure = hasEvents ? undefined : events.find(event => event.type === 'error')
    if (failure?.type === 'error') throw failure.error
    hasEvents = true
    sink.push(events)
  }
}

/** The toy model `toy-relay` speaks the client's own protocol, whatever that is: its bytes are passed on as they are. */
function isRelayed(call: ChatCall): boolean {
  return call.plan.upstreamModel === 'toy-relay'
}

function relay(lines: string[], sink: ResponseSink): void {
  const bytes = sink.relay({ contentType: 'application/x-toy' })
  for (const line of lines) bytes.write(Buffer.from(line))
  bytes.end()
}
