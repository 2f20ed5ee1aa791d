// A complete worker in this process, in front of the emulator, and the OpenAPI document that it serves.
import type { Test } from 'tap'
import type { Emulator } from '../../ops/emulator/server.ts'
import { parseSettings } from '../../shared/settings.ts'
import type { OpenApiDocument } from '../../worker/docs/document.ts'
import { emulatorVariables, startEmulator } from './gateway.ts'
import { startWorker, workerOptions } from './worker-app.ts'

export interface DocumentedGateway {
  emulator: Emulator
  url: string
  document: OpenApiDocument
}

/** Starts both; they close with the test. */
export async function startDocumentedGateway(t: Test, env: Record<string, string> = {}): Promise<DocumentedGateway> {
  const emulator = await startEmulator(t)
  const settings = parseSettings({ ...emulatorVariables(emulator), ...env })
  const { url } = await startWorker(t, workerOptions(settings))
  const response = await fetch(`${url}/openapi.json`)
  return { emulator, url, document: (await response.json()) as OpenApiDocument }
}
