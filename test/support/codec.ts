// Helpers for the tests of all client faces: a request id, a raised error, the events of a response.

import { EventAssembler, GatewayError, type NormalizedEvent } from '../../worker/normalized/index.ts'

export const requestId = '6f3f0f0e-9d5e-4c1b-8a53-1f2b7f6c0d11'

/** The error that `run` raises; fails when it raises nothing. */
export function catchError(run: () => unknown): GatewayError {
  try {
    run()
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
  throw new Error('Nothing was raised.')
}

/** Code, field and status of the error that `run` raises; fails when it raises nothing. */
export function failure(run: () => unknown): { code: string; param: string | undefined; status: number } {
  const { code, param, status } = catchError(run)
  return { code, param, status }
}

/** The events of a response with the content that `build` adds. It ends with the reason `stop`, unless `build` ends it. */
export function eventsOf(build: (assembler: EventAssembler) => void): NormalizedEvent[] {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: 'GigaChat-2:1.0', metadata: {} })
  build(assembler)
  assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: {} }, null)
  return assembler.take()
}
