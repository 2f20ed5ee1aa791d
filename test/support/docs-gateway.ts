// A complete worker in this process, in front of the emulator, and the OpenAPI document that it serves.
import type { Test } from 'tap'
import type { Emulator } from '../../ops/emulator/server.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { parseSettings } from '../../shared/settings.ts'
import type { OpenApiDocument } from '../../worker/docs/document.ts'
import { emulatorVariables, startEmulator } from './serving-gateway.ts'
import { startWorker, workerOptions } from './worker-app.ts'

export interface DocumentedGateway {
  emulator: Emulator
  url: string
  document: OpenApiDocument
}

/** Starts both, with the native profile unless others are given; they close with the test. */
export async function startDocumentedGateway(
  t: Test,
  env: Record<string, string> = {},
  makeProfiles?: (emulator: Emulator) => ProfileSet
): Promise<DocumentedGateway> {
  const emulator = await startEmulator(t)
  const settings = parseSettings({ ...emulatorVariables(emulator), ...env })
  const { url } = await startWorker(t, workerOptions(settings, makeProfiles?.(emulator)))
  const response = await fetch(`${url}/openapi.json`)
  return { emulator, url, document: (await response.json()) as OpenApiDocument }
}
