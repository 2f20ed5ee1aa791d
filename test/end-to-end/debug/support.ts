// A started gateway with the debugging routes, and calls to them.

import type { Test } from 'tap'
import type { Emulator } from '../../../ops/emulator/server.ts'
import { type HttpResponse, post } from '../../support/client.ts'
import {
  emulatorVariables,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'

export const ADMIN_KEY = 'admin-key-of-the-tests'

/** Variables that switch the debugging routes on. */
export const debugVariables = { GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true', GATEWAY_ADMIN_API_KEY: ADMIN_KEY }

export interface DebugGateway {
  emulator: Emulator
  gateway: ServingGateway
  call(path: string, body: object | string, headers?: Record<string, string>): Promise<HttpResponse>
}

/** Starts a gateway in front of an emulator. */
export async function startDebugGateway(t: Test, env: Record<string, string | undefined> = {}): Promise<DebugGateway> {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...debugVariables, ...env } })
  return { emulator, gateway, call: createCaller(gateway) }
}

/** Calls a debugging route with the admin key. */
export function createCaller({ url }: Pick<ServingGateway, 'url'>): DebugGateway['call'] {
  return (path, body, headers = { 'x-admin-api-key': ADMIN_KEY }) => post(url + path, body, headers)
}
