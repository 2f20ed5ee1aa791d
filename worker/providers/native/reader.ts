// Which provider face reads the answers of which wire.

import type { ProviderWire } from '../../bridge/plan.ts'
import { assertNever } from '../../normalized/assert.ts'
import type { ResponseReader } from '../../protocols/face.ts'
import type { ReaderDependencies } from '../../protocols/native/reading.ts'
import { createNativeV1Reader } from '../../protocols/native/v1/face.ts'
import { createNativeV2Reader } from '../../protocols/native/v2/face.ts'

export type CreateReader = (wire: ProviderWire, dependencies: ReaderDependencies) => ResponseReader

/** The reader of one answer on a native wire. */
export const createNativeReader: CreateReader = (wire, dependencies) => {
  switch (wire) {
    case 'native-v1':
      return createNativeV1Reader(dependencies)
    case 'native-v2':
      return createNativeV2Reader(dependencies)
    default:
      return assertNever(wire)
  }
}
