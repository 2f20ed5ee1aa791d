// What a request of each client protocol becomes on the wire of every kind of provider: where it
// goes, with which headers and body, and what comes back. The embedded providers refuse what the
// services refuse.

import t from 'tap'
import { createPicture } from '../../support/upstream.ts'
import { ask, type Family, type FamilyName, families, type Loose, send } from './families.ts'
import { type Generation, type Provider, providers, SEATS, startBridge } from './providers/index.ts'

const { gateway, emulator, received, listCalls } = await startBridge(t)
const { url } = gateway

/** The newest request that a provider of the kind received. */
function last(provider: Provider): { path: string; query: string; headers: Loose; body: Loose } {
  const found = received(provider).at(-1)
  if (found === undefined) throw new Error(`No ${provider.name} provider received a request.`)
  return found
}

/** What a client of each protocol sends as its headers, and no provider may receive. */
const secrets = {
  authorization: 'Bearer client-secret-1',
  'x-api-key': 'client-secret-2',
  'x-goog-api-key': 'client-secret-3',
  'api-key': 'client-secret-4',
  cookie: 'session=client-secret-5',
  'x-session-id': 'client-secret-6',
  'x-request-id': '7f1b2b1c-5b5c-4b7e-9a49-0f1f3c1f0f0f',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=client-secret-7',
  baggage: 'a=client-secret-8',
  'x-foo': 'client-secret-9',
  'openai-organization': 'client-secret-10',
  'anthropic-version': 'client-secret-11',
  'anthropic-dangerous-direct-browser-access': 'client-secret-12',
  'x-goog-user-project': 'client-secret-13',
  'x-goog-api-client': 'client-secret-14',
  'x-forwarded-for': '10.9.8.7',
  'user-agent': 'client-secret-15'
}
const BETA = 'a-beta-2025-01-01'

const TEXT = 'What is this?'

/** A turn of a user with a text and an image inside of it. */
const imageMembers: Record<FamilyName, (mediaType: string, data: string) => object> = {
  completions: (type, data) => ({ messages: [{ role: 'user', content: chatParts(`data:${type};base64,${data}`) }] }),
  responses: (type, data) => ({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: TEXT },
          { type: 'input_image', image_url: `data:${type};base64,${data}`, detail: 'auto' }
        ]
      }
    ]
  }),
  messages: (media_type, data) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image', source: { type: 'base64', media_type, data } }
        ]
      }
    ]
  }),
  content: (mimeType, data) => ({
    contents: [{ role: 'user', parts: [{ text: TEXT }, { inlineData: { mimeType, data } }] }]
  })
}

function chatParts(address: string): object[] {
  return [
    { type: 'text', text: TEXT },
    { type: 'image_url', image_url: { url: address } }
  ]
}

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, odd: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'null' }] } },
  required: ['name', 'odd'],
  additionalProperties: false
}
const formatMembers: Record<FamilyName, object> = {
  completions: { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } },
  responses: { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } },
  messages: { output_config: { format: { type: 'json_schema', schema } } },
  content: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } }
}

const generation = { temperature: 0.5, topP: 0.25, topK: 5, limit: 99, stop: ['END'], seed: 7 }
/** The members of each protocol for the settings of generation that it has. */
const generationNames: Record<FamilyName, Partial<Record<keyof Generation, string>>> = {
  completions: {
    temperature: 'temperature',
    topP: 'top_p',
    limit: 'max_completion_tokens',
    stop: 'stop',
    seed: 'seed'
  },
  responses: { temperature: 'temperature', topP: 'top_p', limit: 'max_output_tokens' },
  messages: {
    temperature: 'temperature',
    topP: 'top_p',
    topK: 'top_k',
    limit: 'max_tokens',
    stop: 'stop_sequences'
  },
  content: {
    temperature: 'temperature',
    topP: 'topP',
    topK: 'topK',
    limit: 'maxOutputTokens',
    stop: 'stopSequences',
    seed: 'seed'
  }
}

/** The members of a body for these settings; what the protocol does not have is left out. */
function writeGeneration(family: Family, settings: Generation): object {
  const names = generationNames[family.name]
  const members = Object.entries(settings).flatMap(([setting, value]) => {
    const name = names[setting as keyof Generation]
    return name === undefined ? [] : [[name, value]]
  })
  const written = Object.fromEntries(members)
  return family.name === 'content' ? { generationConfig: written } : written
}

/** The settings without these. */
function without(settings: Generation, names: ReadonlyArray<keyof Generation>): Generation {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name as keyof Generation)))
}

const reasoningWishes: Record<FamilyName, object> = {
  completions: { reasoning_effort: 'high' },
  responses: { reasoning: { effort: 'high' } },
  messages: { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
  content: { generationConfig: { thinkingConfig: { thinkingBudget: 5000, includeThoughts: true } } }
}
const summaryWish = { reasoning: { effort: 'high', summary: 'auto' } }
const reasoningCounts: Record<FamilyName, RegExp> = {
  completions: /"reasoning_tokens":\s?[1-9]/,
  responses: /"reasoning_tokens":\s?[1-9]/,
  messages: /"thinking_tokens":\s?[1-9]/,
  content: /"thoughtsTokenCount":\s?[1-9]/
}

const requiredCalls: Record<FamilyName, object> = {
  completions: { tool_choice: 'required' },
  responses: { tool_choice: 'required' },
  messages: { tool_choice: { type: 'any' } },
  content: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }
}
const namedCalls: Record<FamilyName, object> = {
  completions: { tool_choice: { type: 'function', function: { name: 'clock' } } },
  responses: { tool_choice: { type: 'function', name: 'clock' } },
  messages: { tool_choice: { type: 'tool', name: 'clock' } },
  content: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['clock'] } } }
}

for (const provider of providers) {
  const { name, aliases, models, passes } = provider
  const model = aliases.keyed

  for (const family of families) {
    const how = `${family.name} to ${name}`

    t.test(`bridge 69, 72: a text is exactly this request, at its provider alone: ${how}`, async t => {
      const prompt = '[[text:Hello]][[usage:10,5,4]]'
      for (const isStream of [false, true]) {
        const before = listCalls().length
        const response = await send(url, family, { model, prompt, isStream })
        t.equal(response.status, 200, response.text)
        t.equal(listCalls().length, before + 1)
        t.notMatch(response.text, models.keyed)
        const outcome = isStream ? family.readStream(response) : family.read(response)
        t.equal(outcome.text, 'Hello')
        t.equal(outcome.model, model)
        t.match(outcome.finish, /^(stop|completed|end_turn|STOP)$/)
        t.same(outcome.usage, { input: 10, output: 5, cached: 4 })
        const { path, query, headers, body } = last(provider)
        const address = query === '' ? path : `${path}?${query}`
        t.ok(address.endsWith(`/${name}-keyed${provider.chatPath(models.keyed, isStream)}`), address)
        t.strictSame(body, provider.writeText(prompt, { family: family.name, model: models.keyed, isStream }))
        const { host, connection: _, 'content-length': length, 'user-agent': agent, ...rest } = headers
        t.equal(host, new URL(emulator.baseUrl).host)
        t.match(length, /^\d+$/)
        t.match(agent, /^llm-gateway/)
        delete rest['accept-encoding']
        t.strictSame(rest, {
          accept: 'text/event-stream, application/json',
          'content-type': 'application/json',
          ...provider.writeHeaders(provider.key)
        })
      }
    })

    t.test(`bridge 73, 74: no header of a client reaches a provider, with a key or without: ${how}`, async t => {
      for (const seat of SEATS) {
        for (const isStream of [false, true]) {
          const headers = { ...secrets, 'anthropic-beta': BETA }
          const response = await send(url, family, { model: aliases[seat], prompt: 'Hi', isStream, headers })
          t.equal(response.status, 200, response.text)
          t.match(response.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
          t.not(response.headers.get('x-request-id'), secrets['x-request-id'])
          const { path, headers: sent } = last(provider)
          const end = provider.chatPath(models[seat], isStream).split('?')[0]
          t.ok(path.endsWith(`/${name}-${seat}${end}`), path)
          t.notMatch(JSON.stringify(sent), /client-secret|7f1b2b1c|0af7651916cd|10\.9\.8\.7/)
          // The betas of a client of the same protocol are those of the provider.
          const isBeta = passes === 'messages' && family.name === 'messages'
          t.equal(sent['anthropic-beta'], isBeta ? BETA : undefined)
          const expected = provider.writeHeaders(seat === 'keyed' ? provider.key : undefined)
          for (const one of ['authorization', 'x-api-key', 'x-goog-api-key', 'anthropic-version']) {
            t.equal(sent[one], expected[one], `${seat}: ${one}`)
          }
        }
      }
    })

    t.test(`an image inside of the request reaches the provider as its own part: ${how}`, async t => {
      const data = createPicture()
      const more = imageMembers[family.name]('image/png', data)
      const response = await send(url, family, { model, prompt: '', more })
      t.equal(response.status, 200, response.text)
      const parts = provider.readQuestion(last(provider).body)
      t.equal(parts.length, 2)
      t.match(parts, [provider.writeTextPart(TEXT), provider.writeImagePart('image/png', data)])
      const plain = await send(url, family, { model: aliases.plain, prompt: '', more })
      t.equal(plain.status, 400, 'images need a declared feature')
    })

    t.test(`structured output keeps its schema: ${how}`, async t => {
      for (const isStream of [false, true]) {
        const { text } = await ask(url, family, { model, prompt: 'Hi', isStream, more: formatMembers[family.name] })
        t.strictSame(Object.keys(JSON.parse(text)), ['name', 'odd'])
        t.strictSame(provider.readFormat(last(provider).body), provider.writeFormat(schema))
      }
    })

    t.test(`settings of generation keep their values, or are left out by their field: ${how}`, async t => {
      const known = without(generation, provider.refusedGeneration)
      for (const isStream of [false, true]) {
        await ask(url, family, { model, prompt: 'Hi', isStream, more: writeGeneration(family, known) })
        const expected = Object.entries(known).filter(
          ([setting]) =>
            generationNames[family.name][setting as keyof Generation] !== undefined &&
            provider.unsentGeneration?.includes(setting as keyof Generation) !== true
        )
        const sent = provider.readGeneration(last(provider).body)
        // A limit that the wire demands stands also where the client has none.
        t.strictSame(JSON.parse(JSON.stringify(sent)), Object.fromEntries(expected))
      }
      for (const setting of provider.refusedGeneration) {
        const field = generationNames[family.name][setting]
        if (field === undefined) continue
        const param = family.name === 'content' ? `generationConfig.${field}` : field
        const more = writeGeneration(family, { [setting]: generation[setting] })
        const named = await send(url, family, { model, prompt: 'Hi', more })
        t.equal(named.status, 200, setting)
        // On the client's own wire it goes on as it is (decisions.md 72).
        const isOwnWire = family.name === passes
        t.equal(named.headers.get('x-gateway-ignored'), isOwnWire ? null : param)
        if (isOwnWire) continue
        const before = emulator.requests.length
        const exact = { 'x-gateway-unsupported': 'refuse' }
        const refused = await send(url, family, { model, prompt: 'Hi', more, headers: exact })
        t.equal(refused.status, 400, setting)
        t.match(family.readFailure(refused), { code: 'unsupported_semantic', param })
        t.equal(emulator.requests.length, before)
      }
    })

    t.test(`reasoning is demanded of the provider, and comes back with its count of tokens: ${how}`, async t => {
      const hasSummary = family.name === 'responses' && provider.hasSummaries
      const more = hasSummary ? summaryWish : reasoningWishes[family.name]
      for (const isStream of [false, true]) {
        const response = await send(url, family, { model, prompt: 'Hi', isStream, more })
        t.equal(response.status, 200, response.text)
        const { reasoning } = isStream ? family.readStream(response) : family.read(response)
        t.match(reasoning, /Repeating it is the right thing to do/)
        t.match(response.text, reasoningCounts[family.name])
        provider.checkReasoning(t, last(provider).body, family.name)
      }
      if (family.name !== 'responses' || hasSummary) return
      const named = await send(url, family, { model, prompt: 'Hi', more: summaryWish })
      t.equal(named.status, 200)
      t.equal(named.headers.get('x-gateway-ignored'), 'reasoning.summary', 'a wish to see it (decisions.md 78)')
    })

    t.test(`a text ends in front of a stop sequence: ${how}`, async t => {
      const more = writeGeneration(family, { stop: ['two'] })
      if (generationNames[family.name].stop === undefined) return
      for (const isStream of [false, true]) {
        const outcome = await ask(url, family, { model, prompt: '[[chunks:one t|wo three]]', isStream, more })
        // Within one protocol the provider ends the text (decisions.md 114), which the embedded ones of
        // OpenAI and Google GenAI do not.
        const isEnded = family.name !== passes || name === 'messages'
        t.equal(outcome.text, isEnded ? 'one ' : 'one two three')
        t.match(outcome.finish, /^(stop|end_turn|stop_sequence|STOP)$/)
        const isSent = provider.unsentGeneration?.includes('stop') !== true
        t.strictSame(provider.readGeneration(last(provider).body).stop, isSent ? ['two'] : undefined)
      }
    })

    t.test(`the tool choices of a client reach the provider: ${how}`, async t => {
      for (const isStream of [false, true]) {
        const choose = async (choice: object) => {
          const { calls } = await ask(url, family, {
            model,
            prompt: 'go',
            isStream,
            more: { ...family.tools, ...choice }
          })
          return { call: calls[0]?.name, choice: provider.readToolChoice(last(provider).body) }
        }
        const required = await choose(requiredCalls[family.name])
        t.strictSame(required, { call: 'weather', choice: provider.requiredCall })
        const named = await choose(namedCalls[family.name])
        t.strictSame(named, { call: 'clock', choice: provider.writeNamedCall('clock') })
      }
    })

    t.test(`bridge 75: what an alias does not declare is refused before the call: ${how}`, async t => {
      const before = emulator.requests.length
      for (const isStream of [false, true]) {
        const tools = await send(url, family, { model: aliases.plain, prompt: 'Hi', isStream, more: family.tools })
        t.equal(tools.status, 400)
        t.match(family.readFailure(tools), { code: 'unsupported_semantic' })
      }
      t.equal(emulator.requests.length, before)
    })

    t.test(`the output limit of an alias bounds that of a client, with a notice (decisions.md 73): ${how}`, async t => {
      const name = generationNames[family.name].limit
      for (const isStream of [false, true]) {
        const more = writeGeneration(family, { limit: 41 })
        const response = await send(url, family, { model: aliases.small, prompt: 'Hi', isStream, more })
        t.equal(response.status, 200)
        t.equal(
          response.headers.get('x-gateway-ignored'),
          family.name === 'content' ? `generationConfig.${name}` : name
        )
        t.equal(provider.readGeneration(last(provider).body).limit, 40)
      }
    })
  }
}

t.test('bridge 71: a disabled alias beside a dynamic catalog is unknown in every family', async t => {
  const other = await startBridge(t, { isDynamic: true })
  for (const provider of providers) {
    for (const family of families) {
      const response = await send(other.gateway.url, family, { model: provider.aliases.disabled, prompt: 'Hi' })
      t.equal(response.status, 404, `${family.name} to ${provider.name}`)
      t.equal(family.readFailure(response).code, 'unknown_model_alias')
    }
    t.strictSame(other.received(provider), [])
  }
  const { emulator } = other
  t.strictSame(
    emulator.requests.filter(({ path }) => /completions|embeddings/.test(path)),
    []
  )
})
