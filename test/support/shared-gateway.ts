// One emulator and one gateway for all cases of a folder that need no settings of their own: the folder's test file imports the files
// with its cases into one process, where this module exists once. A file of cases that is run alone gets a gateway of its own. Such a
// file awaits nothing else at its top level: the test runner ends when the cases that are registered so far have run.

import t from 'tap'
import type { Emulator, EmulatorOptions } from '../../ops/emulator/server.ts'
import { emulatorVariables, type ServingGateway, startEmulator, startGateway } from './in-process-gateway.ts'

export interface SharedGateway {
  emulator: Emulator
  gateway: ServingGateway
}

let shared: Promise<SharedGateway> | undefined

/** Starts the pair at the first call, with the emulator options of the folder, and gives the same pair from then on. */
export function startSharedGateway(options: EmulatorOptions = {}): Promise<SharedGateway> {
  shared ??= start(options)
  return shared
}

async function start(options: EmulatorOptions): Promise<SharedGateway> {
  const emulator = await startEmulator(t, options)
  return { emulator, gateway: await startGateway(t, { env: emulatorVariables(emulator) }) }
}
