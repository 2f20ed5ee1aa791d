// Small words for the tests of every client codec: an id, an error caught, the events of an answer.

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

/** What `run` raises, in the words that a client sees; fails when it raises nothing. */
export function failure(run: () => unknown): { code: string; param: string | undefined; status: number } {
  const { code, param, status } = catchError(run)
  return { code, param, status }
}

/** The events of an answer that `build` makes; it begins and ends by itself unless `build` ends it. */
export function eventsOf(build: (assembler: EventAssembler) => void): NormalizedEvent[] {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: 'GigaChat-2:1.0', metadata: {} })
  build(assembler)
  assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: {} }, null)
  return assembler.take()
}
