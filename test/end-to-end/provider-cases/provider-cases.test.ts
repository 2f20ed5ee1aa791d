// Small requests of real clients and answers of real providers that a gateway must get right, each
// in every way that its recording names (decisions.md 69 to 86 and 107 to 114).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { postUntilCut, readFrames } from '../../support/client.ts'
import { emulatorVariables, startEmulator } from '../../support/in-process-gateway.ts'
import { startProfileGateway, writeChatProfile, writeNativeProfile } from '../../support/profile-gateway.ts'
import { getWithAnyHeaders } from '../../support/upgrade-client.ts'
import { families, type Loose } from '../bridge/families.ts'
import { type Answer, checks, type SeenWay } from './checks.ts'
import { answerPlainly, type Received, type Script, startScriptedProvider } from './scripted-provider.ts'

interface Step {
  request: { method: string; path: string; body?: Loose; raw_body?: string; headers?: Record<string, string> }
  provider?: Script & { if_asked_whole?: Script; if_asked_for_a_stream?: Script }
}

interface Way {
  client?: 'chat' | 'responses' | 'messages' | 'content'
  alias: string
  provider_kind: 'native' | 'chat' | 'messages' | 'content'
  stream: boolean
  steps: Step[]
  provider_behaviour?: string
}

interface Case {
  id: string
  title: string
  right: string
  ways: Way[]
}

interface RecordedAlias {
  alias: string
  provider_kind: 'chat_compatible' | 'messages_compatible' | 'content_compatible'
  upstream_model: string
  features: string[]
  max_output_tokens: number
  output_limit_field?: string
}

const recorded: { aliases: RecordedAlias[]; cases: Case[] } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../fixtures/provider-cases.json'), 'utf8')
)

const CLIENTS = { chat: 'completions', responses: 'responses', messages: 'messages', content: 'content' } as const

// The frames of a stream come one by one, so that its failure is behind its first text.
const emulator = await startEmulator(t, { tickMs: 5 })
const provider = await startScriptedProvider(t, {
  chat: new URL('.', emulator.chatBaseUrl).href.replace(/\/$/, ''),
  messages: emulator.anthropicBaseUrl,
  content: emulator.googleBaseUrl
})
const WIRES = { chat_compatible: '/chat/v1', messages_compatible: '/messages', content_compatible: '/content' } as const
const gateway = await startProfileGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_BASE_URL: undefined },
  profiles: [
    writeNativeProfile({ id: 'native', emulator, credentialEnv: 'UPSTREAM_CREDENTIALS', isDynamic: true }),
    ...(Object.keys(WIRES) as Array<keyof typeof WIRES>).map(kind =>
      writeChatProfile({
        id: kind.replace('_', '-'),
        kind,
        baseUrl: provider.url + WIRES[kind],
        aliases: recorded.aliases
          .filter(one => one.provider_kind === kind)
          .map(one => ({
            alias: one.alias,
            model: one.upstream_model,
            features: one.features,
            limits: { context_window: 200_000, max_output_tokens: one.max_output_tokens },
            ...(one.output_limit_field !== undefined && { more: { output_limit_field: one.output_limit_field } })
          }))
      })
    )
  ]
})

for (const { id, title, right, ways } of recorded.cases) {
  t.test(`${id}: ${title}`, async t => {
    const check = checks[id]
    if (check === undefined) throw new Error(`The case ${id} has no check.`)
    for (const way of ways) {
      const seen = await run(way)
      t.test(`${way.client ?? 'embeddings'} on ${way.alias}${way.stream ? ', streamed' : ''}: ${right}`, async t => {
        check(t, seen)
      })
    }
  })
}

async function run(way: Way): Promise<SeenWay> {
  const family = families.find(({ name }) => way.client !== undefined && name === CLIENTS[way.client])
  const answers: Answer[] = []
  const isScripted = way.steps.some(step => step.provider !== undefined)
  const sent: Received[][] = []
  for (const step of way.steps) {
    const { path, body, raw_body: rawBody, headers } = fill(step.request, answers[0], way)
    const before = { external: provider.received.length, native: emulator.requests.length }
    provider.behave(
      request =>
        refuse(way, request) ?? choose(step.provider, request) ?? (isScripted ? answerPlainly(request) : undefined)
    )
    const url = gateway.url + path
    const response =
      step.request.method === 'GET'
        ? { ...(await getWithAnyHeaders(url, headers)), isCut: false }
        : await postUntilCut(url, rawBody ?? body, headers)
    const native = emulator.requests.slice(before.native).filter(one => /^\/api\/.*\/chat\/completions/.test(one.path))
    sent.push([
      ...provider.received.slice(before.external),
      ...native.map(one => ({ path: one.path, raw: JSON.stringify(one.body), body: one.body as Loose }))
    ])
    const isWhole = response.status === 200 && family !== undefined && !response.isCut
    const isStream = body?.stream === true || path.includes('streamGenerateContent')
    const read = () => (isStream ? family?.readStream(response) : family?.read(response))
    answers.push({ ...response, outcome: isWhole ? read() : undefined, family })
  }
  return { way, answers, sent, last: answers.at(-1) as Answer, lastSent: sent.at(-1)?.at(-1)?.body, family }
}

/** What the case says of its provider in words. */
function refuse({ provider_behaviour: behaviour }: Way, { body }: Received): Script | undefined {
  const member = /^400 naming (\w+) while the request holds it/.exec(behaviour ?? '')?.[1]
  if (member === undefined || body[member] === undefined) return undefined
  const message = `Unsupported parameter: '${member}' is not supported with this model.`
  return {
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param: member, code: 'unsupported_parameter' } }
  }
}

function choose(script: Step['provider'], { body, path }: Received): Script | undefined {
  if (script === undefined) return undefined
  const isStream = body?.stream === true || path.includes('streamGenerateContent')
  return (
    (isStream ? script.if_asked_for_a_stream : script.if_asked_whole) ??
    (script.status === undefined ? undefined : script)
  )
}

/** Puts what the client got in answer 1 into a later request, as its SDK would. */
function fill(request: Step['request'], first: Answer | undefined, { client }: Way): Step['request'] {
  if (first === undefined || request.body === undefined) return request
  const turn = readTurn(first, client)
  const calls = first.outcome?.calls ?? []
  const replace = (value: Loose, id?: string): Loose => {
    if (typeof value === 'string') return value.startsWith('<id of the call') ? id : value
    if (Array.isArray(value)) {
      return value.flatMap((item): Loose[] => {
        if (typeof item === 'string' && item.startsWith('<the assistant turn')) return turn
        // Every call of the turn gets its result; a turn without calls has none.
        return isResult(item) ? calls.map(call => replace(item, call.id)) : [replace(item, id)]
      })
    }
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replace(member, id)]))
  }
  return { ...request, body: replace(request.body) }
}

/** A result that names the call by the words of the recordings; a message that only holds such blocks is none. */
function isResult(item: Loose): boolean {
  return (
    typeof item === 'object' &&
    item !== null &&
    RESULT.test(JSON.stringify(item)) &&
    !('content' in item && Array.isArray(item.content)) &&
    !('parts' in item)
  )
}

const RESULT = /"<id of the call/

function readTurn({ json: whole, text }: Answer, client: Way['client']): Loose[] {
  const json = whole ?? readFrames(text).findLast(({ response }) => response !== undefined)?.response
  switch (client) {
    case 'chat':
      return [json.choices[0].message]
    case 'responses':
      return json.output
    case 'messages':
      return json.content
    default:
      return json.candidates[0].content.parts
  }
}
