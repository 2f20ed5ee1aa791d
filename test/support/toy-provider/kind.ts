// The registration of the toy kind: what a further provider kind adds to the product, outside of the product.

import { asBuffer, joinBytes } from '../../../shared/bytes.ts'
import type { ProviderProfile } from '../../../shared/profile.ts'
import type { ProviderFaces } from '../../../worker/protocols/registry.ts'
import { createCompatibleKind } from '../../../worker/providers/compatible/kind.ts'
import type { ProviderKindRegistration } from '../../../worker/providers/registry.ts'
import type { ChatCall, Executor, ExecutorPool, ResponseSink } from '../../../worker/providers/types.ts'
import { toyFace } from './face.ts'
import { createToySigner } from './signer.ts'
import { answerToyRequest, TOY_MARK, TOY_WHOLE, type ToyRequest } from './wire.ts'

/** The face's line in the table of faces. */
export const toyFaces: ProviderFaces = { toy: toyFace }

/** The kind over HTTP: a face, a signer and the options of the face. */
const httpKind = createCompatibleKind({
  // The names of the kinds in a profile file are the product's own.
  providerKind: 'toy' as ProviderProfile['providerKind'],
  createSigner: createToySigner,
  readOptions: baseUrl => ({ base: new URL(baseUrl).pathname })
})

/** The kind's line in the table of executors. */
export const toyKind: ProviderKindRegistration = {
  readOptions: httpKind.readOptions,
  createPool: (profile, dependencies) => withRelay(httpKind.createPool(profile, dependencies))
}

/**
 * Adds the toy model `toy-relay` to a pool. It has an executor that makes no call: its response is in
 * the client's own protocol, and its bytes are passed on as they are.
 */
function withRelay(pool: ExecutorPool): ExecutorPool {
  return {
    ...pool,
    acquire(authorization) {
      const { executor, release } = pool.acquire(authorization)
      const chat: Executor['chat'] = async (call, context, sink) =>
        call.plan.upstreamModel === 'toy-relay' ? relay(call, sink) : executor.chat(call, context, sink)
      return { executor: { ...executor, chat }, release }
    }
  }
}

function relay(call: ChatCall, sink: ResponseSink): void {
  const text = asBuffer(joinBytes(call.body)).toString('utf8')
  const request = JSON.parse(text.slice(TOY_MARK.length)) as ToyRequest
  const bytes = sink.relay({ contentType: TOY_WHOLE })
  for (const line of answerToyRequest(request)) bytes.write(Buffer.from(`${JSON.stringify(line)}\n`))
  bytes.end()
}
