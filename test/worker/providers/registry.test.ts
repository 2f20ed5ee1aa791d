import t from 'tap'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import type { ProviderKindRegistration } from '../../../worker/providers/registry.ts'
import { createExecutors, providerKinds, readProviderOptions } from '../../../worker/providers/registry.ts'
import { createSingleExecutorPool } from '../../../worker/providers/single-executor-pool.ts'
import type { Executor } from '../../../worker/providers/types.ts'
import { wordCall } from './support/http.ts'
import { readsInline } from './support/large-responses.ts'
import { createMemoryLog } from './support/log.ts'
import { contextOf, createSink } from './support/native.ts'

const settings = parseSettings({ UPSTREAM_MODEL: 'm' })

/** A profile set of one profile for each kind, in order; its ids are `<kind>-<number>`. */
function profilesOf(...kinds: Array<ProfileSet['profiles'][number]['providerKind']>): ProfileSet {
  const set = createNativeProfileSet(settings)
  const profiles = kinds.flatMap((providerKind, number) =>
    set.profiles.map(profile => ({ ...profile, providerKind, profileId: `${providerKind}-${number}` }))
  )
  return { ...set, profiles }
}

function createFakeExecutor(name: string, ended: string[]): Executor {
  return {
    async chat(_call, _context, sink) {
      sink.push([], Buffer.from(name))
    },
    close: async () => void ended.push(`close ${name}`),
    destroy: async () => void ended.push(`destroy ${name}`)
  }
}

function createFakeKind(ended: string[]): ProviderKindRegistration {
  return {
    readOptions: ({ profileId }, { passModel }) => ({ profileId, passModel }),
    createPool: ({ profileId }) => createSingleExecutorPool(createFakeExecutor(profileId, ended))
  }
}

function createFakeExecutors(ended: string[] = []) {
  return createExecutors({
    profiles: profilesOf('chat_compatible', 'chat_compatible'),
    credentials: {},
    kinds: { chat_compatible: createFakeKind(ended) },
    faces: providerFaces,
    largeResponses: readsInline,
    settings,
    log: createMemoryLog().log,
    version: '1.2.3'
  })
}

t.test('an executor is found by profile, and may pass bytes on', async t => {
  const executors = createFakeExecutors()
  for (const profileId of ['chat_compatible-0', 'chat_compatible-1']) {
    const { executor, release } = executors.acquire(profileId, { type: 'server' })
    const written: string[] = []
    await executor.chat(wordCall(), contextOf(), {
      ...createSink(),
      push: (_events, bytes) => written.push(Buffer.from(bytes ?? '').toString()) > 0
    })
    release()
    t.same(written, [profileId])
  }
  t.throws(() => executors.acquire('unknown', { type: 'server' }), { message: 'No profile has the id unknown.' })
})

t.test('authorization of a client is refused where a provider has the credential of the server only', async t => {
  const executors = createFakeExecutors()
  for (const authorization of [
    { type: 'access-token', accessToken: new Secret('a') },
    { type: 'credentials', credentials: new Secret('a'), scope: 's' },
    { type: 'user', user: 'u', password: new Secret('p') }
  ] as const) {
    t.throws(() => executors.acquire('chat_compatible-0', authorization), {
      code: 'invalid_upstream_authorization',
      status: 400
    })
  }
})

t.test('after the end of all executors none is given', async t => {
  for (const how of ['close', 'destroy'] as const) {
    const ended: string[] = []
    const executors = createFakeExecutors(ended)
    await executors[how]()
    t.same(ended, [`${how} chat_compatible-0`, `${how} chat_compatible-1`])
    t.throws(() => executors.acquire('chat_compatible-0', { type: 'server' }), {
      code: 'gateway_not_ready',
      reason: 'gateway_shutting_down',
      retryAfter: '1'
    })
  }
})

t.test('the options of each profile are read by its kind', async t => {
  const kinds = { ...providerKinds, chat_compatible: createFakeKind([]) }
  const options = readProviderOptions({ profiles: profilesOf('native', 'chat_compatible'), kinds, settings })
  t.same(options['chat_compatible-1'], { profileId: 'chat_compatible-1', passModel: settings.passModel })
  t.match(options['native-0'], { v1Base: '/v1', v2Base: '/v2', isImageInputEnabled: true })
})

t.test('a profile of a kind that is not registered has no executor, and the others have theirs', async t => {
  const profiles = profilesOf('content_compatible', 'native')
  const { content_compatible: _absent, ...kinds } = providerKinds
  t.same(Object.keys(readProviderOptions({ profiles, kinds, settings })), ['native-1'])
  const dependencies = {
    kinds,
    credentials: {},
    faces: providerFaces,
    largeResponses: readsInline,
    settings,
    log: createMemoryLog().log,
    version: '1'
  }
  const executors = createExecutors({ profiles, ...dependencies })
  t.teardown(() => executors.destroy())
  executors.acquire('native-1', { type: 'server' }).release()
  t.throws(() => executors.acquire('content_compatible-0', { type: 'server' }), { message: /No profile has the id/ })
})
