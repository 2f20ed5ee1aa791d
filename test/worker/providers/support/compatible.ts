// Builds executors of kinds whose calls are a face and a header, with the made-up face of `http.ts`.

import type { Test } from 'tap'
import { type ProviderProfile, secretKey } from '../../../../shared/profile.ts'
import { Secret } from '../../../../shared/secret.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import { createChatCompatibleKind } from '../../../../worker/providers/compatible/chat.ts'
import type { CompatibleKindOptions } from '../../../../worker/providers/compatible/kind.ts'
import { createExecutors, type ExecutorsOptions } from '../../../../worker/providers/registry.ts'
import type { ChatCall, Executor } from '../../../../worker/providers/types.ts'
import { edgeProfile, fileOf } from '../../../support/profile-sets.ts'
import { wordCall, wordFace } from './http.ts'
import { readsInline } from './large-responses.ts'
import { createMemoryLog, type MemoryLog } from './log.ts'

export interface CompatibleProfile {
  baseUrl: string
  /** Without one the profile is keyless. */
  credential?: string
  /** True unless given: stubs are on loopback. */
  allowLoopback?: boolean
  /** Further members of the profile. */
  more?: Partial<ProviderProfile>
  /** The values of the variables that those name. */
  variables?: Record<string, string>
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
  options: CompatibleKindOptions & Pick<ExecutorsOptions, 'onConnectionChange'> & { env?: Record<string, string> } = {}
): TestExecutors {
  const { env = {}, onConnectionChange, ...kindOptions } = options
  const memory = createMemoryLog()
  const listed = Object.entries(profiles).map(([profileId, { baseUrl, allowLoopback = true, more }]) =>
    edgeProfile([], { profileId, baseUrl, allowLoopback, ...more })
  )
  const credentials = Object.entries(profiles).flatMap(([id, { credential, variables = {} }]) => [
    ...(credential === undefined ? [] : [[id, new Secret(credential)] as const]),
    ...Object.entries(variables).map(([name, value]) => [secretKey(id, name), new Secret(value)] as const)
  ])
  const executors = createExecutors({
    profiles: fileOf(listed),
    credentials: Object.fromEntries(credentials),
    kinds: { chat_compatible: createChatCompatibleKind(kindOptions) },
    faces: { chat_compatible: { v1: wordFace, v2: wordFace } },
    largeResponses: readsInline,
    settings: parseSettings(env),
    log: memory.log,
    version: '1.2.3',
    onConnectionChange
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
