// Every recorded request of a real agent on an alias of every wire, with a generous and with a
// small profile: it is served with all of its tools, turns and media, and the response names what
// had no effect (decisions.md 69 to 76). A request of the provider's own protocol arrives as it
// came.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { post } from '../../support/client.ts'
import { type AliasOptions, writeChatProfile } from '../../support/profile-gateway.ts'
import { listFiles, type RecordedRequest, readRecordedRequests } from '../agents/recorded.ts'
import { families, type Loose } from './families.ts'
import { content, type Provider, providers, responses, startBridge } from './providers/index.ts'

/** What a model of today's services has, and what a small model on a host of one's own has. */
const PROFILES = {
  generous: { features: FEATURE_NAMES, limits: { context_window: 400_000, max_output_tokens: 64_000 } },
  small: {
    features: FEATURE_NAMES.filter(
      name => !/^(image_references|file_inputs|parallel_tool_calls|reasoning_effort)$/.test(name)
    ),
    limits: { context_window: 32_768, max_output_tokens: 4_096 }
  }
} satisfies Record<string, Omit<AliasOptions, 'alias'>>
type ProfileName = keyof typeof PROFILES

/** What each response names, by wire and profile and by recording; nothing where a recording is absent. */
const notices: Record<string, Record<string, string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../golden/agent-notices.json'), 'utf8')
)

const { gateway, emulator } = await startBridge(t, {
  profiles: emulator =>
    providers.map(provider =>
      writeChatProfile({
        id: `agents-${provider.name}`,
        kind: provider.kind,
        baseUrl: provider.baseUrl(emulator, 'keyless', `agents-${provider.name}`),
        aliases: Object.entries(PROFILES).map(([name, profile]) => ({
          alias: aliasOf(provider, name),
          model: provider.models.keyed,
          ...profile
        })),
        ...(provider.more && { more: provider.more })
      })
    )
})

function aliasOf({ name }: Provider, profile: string): string {
  return `agents/${name}-${profile}`
}

/** A request that is a search by the service and nothing else. */
const SEARCHES: readonly string[] = ['claude-messages-websearch', 'gemini-generate-websearch']
/** Has a search that every family may ask for; other wires have only that of their own clients. */
const WITH_SEARCH: readonly Provider[] = [responses]
/** An image in the newest turn of the user: a model that reads none cannot answer it. */
const ASKS_ABOUT_MEDIA: readonly string[] = ['codex-responses-image-input']
/** Repeats results that the history has already: on its own wire the service refuses it. */
const REPEATS_RESULTS = 'gemini-resume-duplicate-results'

const posted = readRecordedRequests().filter(({ method }) => method === 'POST')
const isCount = ({ path }: RecordedRequest): boolean => /count_tokens|:countTokens/.test(path)
const recordings = posted.filter(request => !isCount(request))

for (const provider of providers) {
  for (const profile of Object.keys(PROFILES)) {
    for (const recorded of posted.filter(isCount)) {
      t.test(`the recorded count ${recorded.name}, wire ${provider.name}, ${profile} profile`, async t => {
        const request = nameAlias(structuredClone(recorded), aliasOf(provider, profile))
        const { status, json, text } = await post(gateway.url + request.path, request.body, request.headers)
        if (provider === content && request.family === 'content') {
          t.equal(status, 400)
          t.match(
            json.error.message,
            /function response turn/,
            'a result without its call, in the words of the provider'
          )
          return
        }
        t.equal(status, 200, status === 200 ? '' : text)
        // One recording holds a result and a file, and no text that counts.
        t.type(json.input_tokens ?? json.totalTokens, 'number')
      })
    }
  }
}

for (const provider of providers) {
  for (const profile of Object.keys(PROFILES) as ProfileName[]) {
    for (const recorded of recordings) {
      const name = `the recorded request ${recorded.name}, wire ${provider.name}, ${profile} profile`
      t.test(name, async t => {
        const alias = aliasOf(provider, profile)
        const request = nameAlias(structuredClone(recorded), alias)
        const family = families.find(one => one.name === request.family)
        if (family === undefined) throw new Error(`No family ${request.family}.`)
        const isOwnWire = provider.passes === request.family
        const before = emulator.requests.length
        const response = await post(gateway.url + request.path, request.body, request.headers)
        const sent = emulator.requests.slice(before).filter(({ path }) => path.includes(`/agents-${provider.name}`))
        const isRefused =
          (SEARCHES.includes(recorded.name) && !isOwnWire && !WITH_SEARCH.includes(provider)) ||
          (ASKS_ABOUT_MEDIA.includes(recorded.name) && profile === 'small')
        if (isRefused) {
          const { code, message } = family.readFailure(response)
          t.equal(response.status, 400)
          t.equal(code, 'unsupported_semantic', response.text)
          t.match(message, alias, 'the message names the model')
          t.strictSame(sent, [], 'a refused request is not sent')
          return
        }
        if (provider === content && recorded.name === REPEATS_RESULTS) {
          t.equal(response.status, 400)
          t.match(family.readFailure(response).message, /equal to the number of function call parts/)
          return
        }
        t.equal(response.status, 200, response.status === 200 ? '' : response.text)
        if (response.status !== 200) return
        t.equal(sent.length, 1)
        const isStream = request.family === 'content' ? request.path.includes('alt=sse') : request.body.stream === true
        const outcome = isStream ? family.readStream(response) : family.read(response)
        t.equal(outcome.model, alias)
        const notice = notices[`${provider.name}, ${profile}`]?.[recorded.name]
        t.equal(response.headers.get('x-gateway-ignored') ?? undefined, notice, 'names what had no effect')
        t.match(outcome.finish, /^(stop|tool_calls|completed|end_turn|tool_use|STOP)$/)
        const body = sent[0]?.body as Loose
        if (profile === 'generous') provider.checkAgentRequest(t, request, body)
        else checkDescribed(t, request, body)
      })
    }
  }
}

/** The model reads no media: each stands as a text in its place, and none of its bytes is sent. */
function checkDescribed(t: Test, request: RecordedRequest, body: Loose): void {
  const text = JSON.stringify(body)
  for (const file of listFiles(request)) {
    t.notOk(text.includes(JSON.stringify(file).slice(1, 200)), 'the bytes are not sent')
  }
  if (listFiles(request).length > 0) t.match(text, /\[(image|application)\/[^\]]*: this model reads no /)
}

/** The request with this alias as its model. */
function nameAlias(request: RecordedRequest, alias: string): RecordedRequest {
  if (request.family === 'content') {
    return { ...request, path: request.path.replace(/models\/[^:]+/, `models/${alias}`) }
  }
  const body = JSON.parse(JSON.stringify({ ...request.body, model: alias }), (key, value) =>
    // A directive was the whole text of a recording, which has lost it.
    key === 'text' && value === '' ? 'Hi' : value
  )
  return { ...request, body }
}
