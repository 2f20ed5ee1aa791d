// A gateway whose provider speaks the client's own protocol and answers as the test says.

import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import type { Test } from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { aliasOf, edgeProfile, fileOf } from '../../support/profile-sets.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { type StubHandler, type StubServer, startStub } from '../../worker/providers/support/stub-upstream.ts'

export const ALIAS = 'team/model'
export const UPSTREAM_MODEL = 'exact-model-1'
export const CREDENTIAL = 'vendor-credential-0123456789'

export interface PassingGateway {
  url: string
  stub: StubServer
  /** Every line that was logged. */
  lines: Array<Record<string, unknown>>
  /** Resolves with the lines of the access log once there are so many. */
  finished(count: number): Promise<Array<Record<string, unknown>>>
  /** The body of the last request that reached the provider, as text. */
  sent(): string
}

export interface PassingOptions {
  kind: 'messages_compatible' | 'content_compatible'
  env?: Record<string, string>
  /** `UPSTREAM_MODEL` unless given. */
  upstreamModel?: string
  /** The features that the alias declares; all unless given. */
  features?: readonly string[]
}

/** Starts both; they close with the test. */
export async function startPassing(
  t: Test,
  { kind, env = {}, upstreamModel = UPSTREAM_MODEL, features = FEATURE_NAMES }: PassingOptions,
  handler: StubHandler
): Promise<PassingGateway> {
  const stub = await startStub(handler)
  t.teardown(() => stub.close())
  const declared = { features, limits: { contextWindow: 32_768, maxOutputTokens: 4096 } }
  const models = [aliasOf(ALIAS, upstreamModel, declared)]
  const vendor = edgeProfile(models, { profileId: 'vendor', providerKind: kind, baseUrl: stub.origin })
  const lines: PassingGateway['lines'] = []
  const finished: PassingGateway['lines'] = []
  const finishes = new EventEmitter()
  const { url } = await startWorker(t, {
    ...workerOptions(parseSettings({ GATEWAY_ACCESS_LOG: 'true', ...env }), fileOf([vendor])),
    credentials: { vendor: new Secret(CREDENTIAL) },
    log: pino({ level: 'info' }, { write: (text: string) => void lines.push(JSON.parse(text)) }),
    writePlainLine(members) {
      finished.push(JSON.parse(`{${members}}`))
      finishes.emit('line')
    }
  })
  return {
    url,
    stub,
    lines,
    sent: () => stub.requests.at(-1)?.body.toString('utf8') ?? '',
    async finished(count) {
      while (finished.length < count) await once(finishes, 'line')
      return finished
    }
  }
}

/** Begins a stream of server-sent events. */
export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

/** Sends a whole stream in pieces of so many bytes, each with a turn of the event loop of its own. */
export async function sendInPieces(response: ServerResponse, text: string, bytes = 7): Promise<void> {
  openStream(response)
  const all = Buffer.from(text)
  for (let at = 0; at < all.length; at += bytes) {
    response.write(all.subarray(at, at + bytes))
    await new Promise(resolve => setImmediate(resolve))
  }
  response.end()
}
