// Entry of a pool thread: bytes in, bytes out. Bodies that are sent here are never parsed on the event loop.

import { move, transferableSymbol, valueSymbol, workerData } from 'piscina'
import { assertNever, toGatewayError } from '../normalized/index.ts'
import { providerFaces } from '../protocols/registry.ts'
import { decodeTokens } from './token-decoding.ts'
import { type TranslationSettings, translateChat } from './translate.ts'
import type { PoolResult, PoolTask, TransferredError } from './types.ts'

const { settings } = workerData as { settings: TranslationSettings }

export default async function run(task: PoolTask): Promise<unknown> {
  try {
    switch (task.type) {
      case 'translate': {
        const translated = translateChat(task.job, settings, providerFaces)
        // Copied, because small Node buffers share one ArrayBuffer, and transferring it would detach the others.
        const body = new Uint8Array(translated.body)
        const value = { ...translated, request: { ...translated.request, messages: [] }, body }
        return move({ [transferableSymbol]: [body.buffer], [valueSymbol]: { ok: true, value } })
      }
      case 'decode-tokens':
        return { ok: true, value: await decodeTokens(task.job) }
      default:
        return assertNever(task)
    }
  } catch (thrown) {
    return { ok: false, error: writeTransferredError(thrown) } satisfies PoolResult<never>
  }
}

function writeTransferredError(thrown: unknown): TransferredError {
  const error = toGatewayError(thrown)
  // An internal error is rethrown unchanged, because its stack is needed.
  if (error.code === 'internal_error') throw thrown
  const transferred: TransferredError = { code: error.code, message: error.message }
  if (error.param !== undefined) transferred.param = error.param
  if (error.reason !== undefined) transferred.reason = error.reason
  return transferred
}
