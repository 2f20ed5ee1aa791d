// A worker with the profiles of a file: an external provider and a native upstream on loopback, and what each of them received.

import { pino } from 'pino'
import type { Test } from 'tap'
import { createEmulator, type Emulator } from '../../../ops/emulator/server.ts'
import { createCatalogComposition } from '../../../shared/catalog/catalog-composition.ts'
import type { ProfileSet, ProviderProfile } from '../../../shared/profile/profile.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createLocalControlChannel } from '../../../worker/control/local-control-channel.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { type HttpResponse, post } from '../../support/client.ts'
import { makeNativeProfile, makeProfile, makeProfileSet } from '../../support/profiles.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { type StubServer, sendJson, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { chatAnswer } from './executor-support.ts'

export interface Upstreams {
  /** The base URL of the external provider. */
  external: string
  /** The base URL of the native upstream. */
  native: string
}

export interface AdmissionGateway {
  url: string
  provider: StubServer
  emulator: Emulator
  /** Model calls that left the gateway, to either upstream; the token of the native upstream is none. */
  calls: () => number
  /** The body of the newest call to the external provider. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
  lastBody: () => any
  /** What the external provider answers next. */
  answer: (body: object) => void
  lines: Array<Record<string, unknown>>
}

const CREDENTIALS = Buffer.from('client:secret').toString('base64')

/** Starts the worker and both upstreams; everything closes with the test. */
export async function startAdmission(
  t: Test,
  describeProfiles: (upstreams: Upstreams) => readonly ProviderProfile[],
  options: { schemaVersion?: ProfileSet['schemaVersion']; env?: Record<string, string> } = {}
): Promise<AdmissionGateway> {
  let next: object = chatAnswer('Hello.')
  const provider = await startStub((request, response) => {
    if (!request.url.endsWith('/embeddings')) return sendJson(response, 200, next)
    const { input } = JSON.parse(request.body.toString())
    const data = input.map((_text: string, index: number) => ({ object: 'embedding', index, embedding: [0.5, 1] }))
    sendJson(response, 200, {
      object: 'list',
      data,
      model: 'upstream-id',
      usage: { prompt_tokens: 1, total_tokens: 1 }
    })
  })
  t.teardown(() => provider.close())
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const settings = parseSettings({ UPSTREAM_AUTH_URL: emulator.authUrl, ...options.env })
  const profiles = makeProfileSet(
    describeProfiles({ external: `${provider.origin}/v1`, native: emulator.baseUrl }),
    options.schemaVersion
  )
  const configRevision = computeConfigRevision(profiles)
  const composition = createCatalogComposition(profiles, { configRevision, startedAtMs: Date.now() })
  const lines: AdmissionGateway['lines'] = []
  const { url } = await startWorker(
    t,
    {
      ...workerOptions(settings),
      profiles,
      credentials: Object.fromEntries(profiles.profiles.map(({ profileId }) => [profileId, new Secret(CREDENTIALS)])),
      control: createLocalControlChannel(settings, { composition, profiles: profiles.profiles }),
      log: pino({ level: 'debug' }, { write: (text: string) => void lines.push(JSON.parse(text)) })
    },
    { faces: providerFaces, kinds: providerKinds }
  )
  return {
    url,
    provider,
    emulator,
    calls: () =>
      provider.requests.length +
      emulator.requests.filter(({ path }) => /completions|embeddings|tokens|files/.test(path)).length,
    lastBody: () => JSON.parse(provider.requests.at(-1)?.body.toString() ?? 'null'),
    answer: body => {
      next = body
    },
    lines
  }
}

/** A static external profile of these aliases on the provider of the test. */
export function externalProfile(
  baseUrl: string,
  models: ProviderProfile['models'],
  more: Partial<ProviderProfile> = {}
) {
  return makeProfile('external', models, { baseUrl, ...more })
}

/** A native profile on the emulator. */
export function nativeProfile(baseUrl: string, models: ProviderProfile['models'], more: Partial<ProviderProfile> = {}) {
  return makeNativeProfile('native', models, { baseUrl, ...more })
}

/** An operation without a chat: embeddings of two families, token counts of two. */
export const operations: Record<string, (gateway: { url: string }, model: string) => Promise<HttpResponse>> = {
  embeddings: ({ url }, model) => post(`${url}/v1/embeddings`, { model, input: 'hi' }),
  embedContent: ({ url }, model) =>
    post(`${url}/v1beta/models/${model}:embedContent`, { content: { parts: [{ text: 'hi' }] } }),
  batchEmbedContents: ({ url }, model) =>
    post(`${url}/v1beta/models/${model}:batchEmbedContents`, { requests: [{ content: { parts: [{ text: 'hi' }] } }] }),
  countTokens: ({ url }, model) =>
    post(`${url}/v1beta/models/${model}:countTokens`, { contents: [{ parts: [{ text: 'hi' }] }] }),
  count_tokens: ({ url }, model) =>
    post(`${url}/v1/messages/count_tokens`, { model, messages: [{ role: 'user', content: 'hi' }] })
}

/** The family whose error form an operation has. */
export function familyOfOperation(name: string): 'completions' | 'messages' | 'content' {
  if (name === 'embeddings') return 'completions'
  return name === 'count_tokens' ? 'messages' : 'content'
}
