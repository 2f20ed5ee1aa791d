// Builds executors of kinds whose calls are a face and a header, with the made-up face of `http.ts`.

import type { Test } from 'tap'
import { type ProviderProfile, secretKey } from '../../../../shared/profile/profile.ts'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import { createChatCompatibleKind } from '../../../../worker/providers/compatible/chat.ts'
import { createContentCompatibleKind } from '../../../../worker/providers/compatible/content.ts'
import type { CompatibleKindOptions } from '../../../../worker/providers/compatible/kind.ts'
import { createMessagesCompatibleKind } from '../../../../worker/providers/compatible/messages.ts'
import { createExecutors, type ExecutorsOptions } from '../../../../worker/providers/registry.ts'
import type { ChatCall, Executor, Executors } from '../../../../worker/providers/types.ts'
import { edgeProfile, fileOf } from '../../../support/profile-sets.ts'
import { wordCall, wordFace } from './http.ts'
import { readsInline } from './large-responses.ts'
import { createMemoryLog, type MemoryLog } from './log.ts'

export interface CompatibleProfile {
  /** `chat_compatible` unless given. */
  kind?: 'chat_compatible' | 'content_compatible' | 'messages_compatible'
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

type CompatibleOptions = CompatibleKindOptions &
  Pick<ExecutorsOptions, 'onTokenFetched' | 'onConnectionChange' | 'onStaleConnection' | 'draining'> & {
    env?: Record<string, string>
    clocks?: Pick<ExecutorsOptions, 'now' | 'monotonicMs' | 'random'>
  }

export interface TestExecutors {
  /** The executor of a profile. */
  executorOf(profileId: string): Executor
  /** Those that the connections of a profile have seen. */
  certificates: Executors['certificates']
  close(): Promise<void>
  destroy(): Promise<void>
  memory: MemoryLog
}

/** The executors of these profiles, destroyed with the test. */
export function startCompatible(
  t: Test,
  profiles: Record<string, CompatibleProfile>,
  options: CompatibleOptions = {}
): TestExecutors {
  const { env = {}, clocks, onTokenFetched, onConnectionChange, onStaleConnection, draining, ...kindOptions } = options
  const memory = createMemoryLog()
  const listed = Object.entries(profiles).map(([profileId, profile]) => {
    const { kind = 'chat_compatible', baseUrl, allowLoopback = true, more } = profile
    return edgeProfile([], { profileId, providerKind: kind, baseUrl, allowLoopback, ...more })
  })
  const credentials = Object.entries(profiles).flatMap(([id, { credential, variables = {} }]) => [
    ...(credential === undefined ? [] : [[id, new Secret(credential)] as const]),
    ...Object.entries(variables).map(([name, value]) => [secretKey(id, name), new Secret(value)] as const)
  ])
  const face = { v1: wordFace, v2: wordFace }
  const executors = createExecutors({
    profiles: fileOf(listed),
    credentials: Object.fromEntries(credentials),
    kinds: {
      chat_compatible: createChatCompatibleKind(kindOptions),
      content_compatible: createContentCompatibleKind(kindOptions),
      messages_compatible: createMessagesCompatibleKind(kindOptions)
    },
    faces: { chat_compatible: face, content_compatible: face, messages_compatible: face },
    largeResponses: readsInline,
    settings: parseSettings(env),
    log: memory.log,
    version: '1.2.3',
    ...clocks,
    onTokenFetched,
    onConnectionChange,
    onStaleConnection,
    draining
  })
  t.teardown(() => executors.destroy())
  return {
    executorOf: profileId => executors.acquire(profileId, { type: 'server' }).executor,
    certificates: executors.certificates,
    close: executors.close,
    destroy: executors.destroy,
    memory
  }
}

/** A chat for such an executor, with the headers of the wire; of `chat_compatible` unless given. */
export function compatibleCall(
  options: { isStream?: boolean; kind?: NonNullable<CompatibleProfile['kind']> } = {}
): ChatCall {
  const headers = ['accept', 'text/event-stream, application/json', 'content-type', 'application/json']
  const call = wordCall({ ...options, headers })
  return { ...call, plan: { ...call.plan, providerKind: options.kind ?? 'chat_compatible', profileId: 'p1' } }
}
