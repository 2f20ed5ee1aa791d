// Starts a gateway for tests with libraries that are built on the official SDKs.

import type { Test } from 'tap'
import type { Emulator } from '../../ops/emulator/server.ts'
import { emulatorVariables, type ServingGateway, startEmulator, startGateway } from './in-process-gateway.ts'
import { refuseOtherHosts } from './loopback.ts'

export interface FrameworkGateway {
  emulator: Emulator
  gateway: ServingGateway
  /** Hosts other than this machine to which a connection was attempted; expected to stay empty. */
  strangers: readonly string[]
}

/**
 * Starts an emulator that refuses state ids it did not give out, and a gateway before it, in the process of the test. Its upstream timeout
 * is longer than any wait of a test, so that work which ends early was ended by the client.
 */
export async function startFrameworkGateway(t: Test, env: Record<string, string> = {}): Promise<FrameworkGateway> {
  const strangers = refuseOtherHosts(t)
  const emulator = await startEmulator(t, { strictStateIds: true })
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), UPSTREAM_TIMEOUT: '60', ...env }
  })
  return { emulator, gateway, strangers }
}
