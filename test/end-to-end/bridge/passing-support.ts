// A gateway whose provider speaks the client's own protocol and answers as the test says.

import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { ProviderProfile } from '../../../shared/profile.ts'
import { Secret } from '../../../shared/secret.ts'
import { parseSettings } from '../../../shared/settings.ts'
import type { WorkerAppParts } from '../../../worker/app.ts'
import { fileOf } from '../../support/profile-sets.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { type StubHandler, type StubServer, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { chatProfile } from './executor-support.ts'

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
}

/** Starts both; they close with the test. */
export async function startPassing(
  t: Test,
  { kind, env = {}, upstreamModel = UPSTREAM_MODEL }: PassingOptions,
  handler: StubHandler
): Promise<PassingGateway> {
  const stub = await startStub(handler)
  t.teardown(() => stub.close())
  const vendor = chatProfile(
    'vendor',
    stub.origin,
    { [ALIAS]: upstreamModel },
    { providerKind: 'temp_kind' as typeof kind }
  )
  const lines: PassingGateway['lines'] = []
  const finished: PassingGateway['lines'] = []
  const finishes = new EventEmitter()
  const { url } = await startWorker(
    t,
    {
      ...workerOptions(parseSettings({ GATEWAY_ACCESS_LOG: 'true', ...env }), fileOf([vendor])),
      credentials: { vendor: new Secret(CREDENTIAL) },
      log: pino({ level: 'info' }, { write: (text: string) => void lines.push(JSON.parse(text)) }),
      writePlainLine(members) {
        finished.push(JSON.parse(`{${members}}`))
        finishes.emit('line')
      }
    },
    makeParts(kind === 'messages_compatible')
  )
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

import { contentCompatibleFace } from '../../../worker/protocols/content/provider/face.ts'
// TEMP
import { messagesCompatibleFace } from '../../../worker/protocols/messages/provider/face.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createCompatibleKind } from '../../../worker/providers/compatible/kind.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'

function makeParts(isMessages: boolean): WorkerAppParts {
  const temp = 'temp_kind' as ProviderProfile['providerKind']
  const face = (isMessages ? messagesCompatibleFace : contentCompatibleFace) as never
  return {
    faces: { ...providerFaces, [temp]: { v1: face, v2: face } },
    kinds: {
      ...providerKinds,
      [temp]: createCompatibleKind({
        providerKind: temp,
        writeCredential: secret => ({ name: isMessages ? 'x-api-key' : 'x-goog-api-key', prefix: '', secret }),
        readOptions: () =>
          isMessages
            ? { messagesPath: '/v1/messages', countTokensPath: '/v1/messages/count_tokens', modelsPath: '/v1/models' }
            : { modelsPath: '/v1beta/models' }
      })
    }
  }
}
