// A complete worker in the test's process with the profiles of a file, so that a test can replace how names are resolved and look at the
// log, and a provider on loopback that answers as the test says.

import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import type { Test } from 'tap'
import { FEATURE_NAMES, type ProviderProfile } from '../../../shared/profile/profile.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../shared/settings.ts'
import type { WorkerApp } from '../../../worker/app.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createChatCompatibleKind } from '../../../worker/providers/compatible/chat.ts'
import type { CompatibleKindOptions } from '../../../worker/providers/compatible/kind.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { aliasOf, edgeProfile, fileOf } from '../../support/profile-sets.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

const declared = { features: FEATURE_NAMES, limits: { contextWindow: 32_768, maxOutputTokens: 4096 } }

/** A profile of the kind `chat_compatible` on loopback, unless `more` says otherwise; its aliases declare everything. */
export function chatProfile(
  profileId: string,
  baseUrl: string,
  aliases: Record<string, string>,
  more: Partial<ProviderProfile> = {}
): ProviderProfile {
  const models = Object.entries(aliases).map(([alias, model]) => aliasOf(alias, model, declared))
  return edgeProfile(models, { profileId, baseUrl, ...more })
}

export interface BridgeOptions {
  profiles: readonly ProviderProfile[]
  /** By profile id; a profile without one is keyless. */
  credentials?: Record<string, string>
  env?: Record<string, string>
  kind?: CompatibleKindOptions
}

export interface StartedBridge {
  app: WorkerApp
  url: string
  /** Every line that was logged, parsed. */
  lines: Array<Record<string, unknown>>
}

/** Starts a worker with the profiles of a file; it closes with the test. */
export async function startBridge(t: Test, options: BridgeOptions): Promise<StartedBridge> {
  const { profiles, credentials = {}, env = {}, kind = {} } = options
  const settings = parseSettings(env)
  const lines: StartedBridge['lines'] = []
  const { app, url } = await startWorker(
    t,
    {
      ...workerOptions(settings, fileOf(profiles)),
      credentials: Object.fromEntries(Object.entries(credentials).map(([id, text]) => [id, new Secret(text)])),
      log: pino({ level: 'info' }, { write: (text: string) => void lines.push(JSON.parse(text)) })
    },
    { faces: providerFaces, kinds: { ...providerKinds, chat_compatible: createChatCompatibleKind(kind) } }
  )
  return { app, url, lines }
}

/** A whole answer on the wire of chat completions. */
export function chatAnswer(content: string): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-id',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }
  }
}

/** One chunk of a streamed answer. */
export function chunkOf(delta: object, finishReason: string | null = null): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'upstream-id',
    choices: [{ index: 0, delta, finish_reason: finishReason }]
  }
}

/** Begins a stream and writes these chunks. */
export function beginStream(response: ServerResponse, ...chunks: object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  writeChunks(response, ...chunks)
}

function writeChunks(response: ServerResponse, ...chunks: object[]): void {
  response.write(chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join(''))
}
