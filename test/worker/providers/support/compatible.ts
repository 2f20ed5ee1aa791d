// Builds executors of kinds whose calls are a face and a header, with the made-up face of `http.ts`.

import type { Test } from 'tap'
import type { ProfileSet, ProviderProfile } from '../../../../shared/profile.ts'
import { Secret } from '../../../../shared/secret.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import { createChatCompatibleKind } from '../../../../worker/providers/compatible/chat.ts'
import type { CompatibleKindOptions } from '../../../../worker/providers/compatible/kind.ts'
import { createExecutors } from '../../../../worker/providers/registry.ts'
import type { ChatCall, Executor } from '../../../../worker/providers/types.ts'
import { wordCall, wordFace } from './http.ts'
import { readsInline } from './large-answers.ts'
import { createMemoryLog, type MemoryLog } from './log.ts'

export interface CompatibleProfile {
  baseUrl: string
  /** Without one the profile is keyless. */
  credential?: string
  /** True unless given: stubs are on loopback. */
  allowLoopback?: boolean
}

/** A profile of a file with the kind `chat_compatible`. */
export function profileOf(profileId: string, { baseUrl, allowLoopback = true }: CompatibleProfile): ProviderProfile {
  return {
    profileId,
    providerKind: 'chat_compatible',
    baseUrl,
    networkPolicyRef: allowLoopback ? 'loopback-development' : 'public-openai',
    tlsPolicyRef: 'system-default',
    allowLoopback,
    models: []
  }
}

export interface TestExecutors {
  /** The executor of a profile. */
  executorOf(profileId: string): Executor
  close(): Promise<void>
  destroy(): Promise<void>
  memory: MemoryLog
}

/** The executors of these profiles, destroyed with the test. */
export function startCompatible(
  t: Test,
  profiles: Record<string, CompatibleProfile>,
  options: CompatibleKindOptions & { env?: Record<string, string> } = {}
): TestExecutors {
  const { env = {}, ...kindOptions } = options
  const memory = createMemoryLog()
  const set: ProfileSet = {
    schemaVersion: 'gateway.provider-profiles.v3',
    origin: 'file',
    profiles: Object.entries(profiles).map(([id, profile]) => profileOf(id, profile))
  }
  const credentials = Object.entries(profiles).flatMap(([id, { credential }]) =>
    credential === undefined ? [] : [[id, new Secret(credential)] as const]
  )
  const executors = createExecutors({
    profiles: set,
    credentials: Object.fromEntries(credentials),
    kinds: { chat_compatible: createChatCompatibleKind(kindOptions) },
    faces: { chat_compatible: { v1: wordFace, v2: wordFace } },
    largeAnswers: readsInline,
    settings: parseSettings(env),
    log: memory.log,
    version: '1.2.3'
  })
  t.teardown(() => executors.destroy())
  return {
    executorOf: profileId => executors.acquire(profileId, { type: 'server' }).executor,
    close: executors.close,
    destroy: executors.destroy,
    memory
  }
}

/** A chat for such an executor, with the headers of the wire. */
export function compatibleCall(options: { isStream?: boolean } = {}): ChatCall {
  const headers = ['accept', 'text/event-stream, application/json', 'content-type', 'application/json']
  const call = wordCall({ ...options, headers })
  return { ...call, plan: { ...call.plan, providerKind: 'chat_compatible', profileId: 'p1' } }
}
