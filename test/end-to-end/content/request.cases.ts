import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import {
  call,
  emulatorOptions,
  generate,
  model,
  modelTurn,
  partsOf,
  stream,
  textOf,
  user,
  type Version,
  versions
} from './support.ts'

const { emulator, gateway } = await startSharedGateway(emulatorOptions)

/** The members that the upstream received for these, except model and messages. */
async function sent(version: Version, more: object) {
  const response = await generate(gateway, version, 'hi', more)
  if (response.status !== 200) throw new Error(response.text)
  const { model: _model, messages, ...rest } = lastUpstreamChat(emulator).body
  return { messages, rest }
}

t.test(
  'content 13, 14: the parts of an instruction are joined without separator, and a plain string is accepted',
  async t => {
    for (const systemInstruction of [{ parts: [{ text: 's1' }, { text: 's2' }] }, 's1s2']) {
      t.strictSame((await sent('v1', { systemInstruction })).messages, [
        { role: 'system', content: 's1s2' },
        { role: 'user', content: 'hi' }
      ])
      t.strictSame((await sent('v2', { systemInstruction })).messages[0], {
        role: 'system',
        content: [{ text: 's1s2' }]
      })
    }
  }
)

t.test('content 15, 16: sampling is root members on v1 and model options on v2', async t => {
  const wire = { temperature: 0.2, top_p: 0.5, max_tokens: 33 }
  for (const maxOutputTokens of [33, '33']) {
    const generationConfig = { temperature: 0.2, topP: 0.5, maxOutputTokens }
    t.strictSame((await sent('v1', { generationConfig })).rest, wire)
    t.strictSame((await sent('v2', { generationConfig })).rest, { model_options: wire })
  }
})

t.test('content 17: a temperature of zero becomes a top_p of zero', async t => {
  const generationConfig = { temperature: 0, topP: 0.5 }
  t.strictSame((await sent('v1', { generationConfig })).rest, { top_p: 0 })
  t.strictSame((await sent('v2', { generationConfig })).rest, { model_options: { top_p: 0 } })
  t.strictSame((await sent('v1', { generationConfig: { temperature: -1 } })).rest, {})
})

t.test(
  'content 18: parameters without effect are accepted and not sent, and the response has one candidate',
  async t => {
    const ignored = {
      generationConfig: {
        topK: 3,
        candidateCount: 2,
        seed: 1,
        presencePenalty: 1,
        frequencyPenalty: 1,
        responseModalities: ['TEXT'],
        responseLogprobs: true,
        speechConfig: {},
        mediaResolution: 'MEDIA_RESOLUTION_LOW'
      },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      cachedContent: 'cachedContents/c',
      labels: { a: 'b' },
      serviceTier: 'x',
      store: true,
      extra_body: { profanity_check: false },
      unknownMember: 1
    }
    for (const version of versions) {
      t.strictSame((await sent(version, ignored)).rest, {}, version)
      t.equal((await generate(gateway, version, 'hi', ignored)).json.candidates.length, 1)
    }
  }
)

t.test('content 19: a body in snake case means the same as one in camel case', async t => {
  const snake = {
    contents: [
      { role: 'user', parts: [{ inline_data: { mime_type: 'image/png', data: 'AAEC' } }, { text: 'hi' }] },
      { role: 'model', parts: [{ function_call: { name: 'f', args: { a_b: 1 } } }] },
      { role: 'user', parts: [{ function_response: { name: 'f', response: { c_d: 2 } } }] }
    ],
    system_instruction: { parts: [{ text: 's' }] },
    generation_config: { max_output_tokens: 9, top_p: 0.5, thinking_config: { thinking_level: 'LOW' } },
    tools: [{ function_declarations: [{ name: 'f', parameters_json_schema: { type: 'object' } }] }],
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } }
  }
  const camel = {
    contents: [
      user({ inlineData: { mimeType: 'image/png', data: 'AAEC' } }, { text: 'hi' }),
      modelTurn({ functionCall: { name: 'f', args: { a_b: 1 } } }),
      user({ functionResponse: { name: 'f', response: { c_d: 2 } } })
    ],
    systemInstruction: { parts: [{ text: 's' }] },
    generationConfig: { maxOutputTokens: 9, topP: 0.5, thinkingConfig: { thinkingLevel: 'LOW' } },
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } }
  }
  for (const version of versions) {
    const left = await sent(version, snake)
    const right = await sent(version, camel)
    t.strictSame(left, right, version)
    t.match(JSON.stringify(left), /a_b.*c_d/)
  }
})

t.test('content 20: the text ends before a stop sequence and the finish reason is STOP', async t => {
  const generationConfig = { stopSequences: ['xx', 'lo'] }
  for (const version of versions) {
    const whole = await generate(gateway, version, '[[text:Hello]]', { generationConfig })
    t.notMatch(JSON.stringify(lastUpstreamChat(emulator).body), /stop/i)
    t.equal(textOf(whole.json), 'Hel')
    t.equal(whole.json.candidates[0].finishReason, 'STOP')
    const { chunks } = await stream(gateway, version, '[[chunks:Hel|l|o|never]]', { generationConfig })
    t.equal(textOf(...chunks), 'Hel')
    t.equal(chunks.at(-1).candidates[0].finishReason, 'STOP')
  }
})

t.test('content 21, 22: a thinking level is an effort, a budget of zero sends no reasoning', async t => {
  const think = (thinkingConfig: object) => ({ generationConfig: { thinkingConfig } })
  for (const [config, effort] of [
    [{ thinkingLevel: 'HIGH' }, 'high'],
    [{ thinkingLevel: 'minimal' }, 'minimal'],
    [{ thinkingLevel: 'LOW', thinkingBudget: 9000 }, 'low'],
    [{ thinkingBudget: 9000 }, 'high'],
    [{ thinkingBudget: 3000 }, 'medium'],
    [{ thinkingBudget: 1 }, 'low']
  ] as const) {
    t.strictSame((await sent('v2', think(config))).rest, { model_options: { reasoning: { effort } } })
    t.strictSame((await sent('v1', think(config))).rest, { reasoning_effort: effort })
  }
  for (const version of versions) {
    for (const thinkingBudget of [0, -1]) {
      t.strictSame((await sent(version, think({ thinkingBudget, includeThoughts: true }))).rest, {})
    }
    const prompt = '[[reason:why]][[text:done]]'
    t.strictSame(partsOf((await generate(gateway, version, prompt, think({ thinkingBudget: 0 }))).json), [
      { text: 'done' }
    ])
    const { response } = await stream(gateway, version, prompt, think({ thinkingBudget: 0 }))
    t.notMatch(response.text, /thought|why/)
  }
})

t.test('content 23: with includeThoughts the reasoning is a thought part before the text', async t => {
  const generationConfig = { thinkingConfig: { includeThoughts: true } }
  for (const version of versions) {
    for (const prompt of ['[[reason:because]][[text:done]]', '[[text:<think>because</think>done]]']) {
      const whole = await generate(gateway, version, prompt, { generationConfig })
      t.strictSame(partsOf(whole.json), [{ text: 'because', thought: true }, { text: 'done' }])
      const { chunks } = await stream(gateway, version, prompt, { generationConfig })
      const parts = chunks.flatMap(partsOf)
      const thoughts = parts.filter(part => part.thought === true)
      t.equal(thoughts.map(part => part.text).join(''), 'because')
      t.equal(textOf(...chunks), 'done')
      t.ok(parts.findLastIndex(part => part.thought === true) < parts.findIndex(part => part.thought !== true))

      const client = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: `${gateway.url}/${version}` } })
      const config = generationConfig
      t.equal((await client.models.generateContent({ model, contents: prompt, config })).text, 'done')
    }
  }
})

t.test('content 24: without includeThoughts no reasoning is returned, streamed and whole', async t => {
  for (const version of versions) {
    for (const prompt of ['[[chunks:<thi|nk>why</th|ink>Hel|lo]]', '[[reason:why]][[text:Hello]]']) {
      const whole = await generate(gateway, version, prompt)
      t.strictSame(partsOf(whole.json), [{ text: 'Hello' }])
      const { response, chunks } = await stream(gateway, version, prompt)
      t.equal(textOf(...chunks), 'Hello')
      t.notMatch(response.text, /think|why|thought/)
    }
  }
})

t.test('content 50: contents of a wrong form are refused with the path of the member', async t => {
  const before = upstreamChats(emulator).length
  const text = { text: 'hi' }
  const cases: Array<[object, string]> = [
    [{}, 'contents'],
    [{ contents: 'hi' }, 'contents'],
    [{ contents: [] }, 'contents'],
    [{ contents: ['hi'] }, 'contents[0]'],
    [{ contents: [{ role: 'user' }] }, 'contents[0].parts'],
    [{ contents: [user()] }, 'contents[0].parts'],
    // An empty part has no effect: some SDKs write an empty text so.
    [{ contents: [user({})] }, 'contents'],
    [{ contents: [user({ ...text, inlineData: { mimeType: 'image/png', data: 'AAEC' } })] }, 'contents[0].parts[0]'],
    [{ contents: [user({ text: 5 })] }, 'contents[0].parts[0].text'],
    [{ contents: [user(text), modelTurn({ functionCall: { args: {} } })] }, 'contents[1].parts[0].functionCall.name'],
    [
      { contents: [user(text), modelTurn({ functionCall: { name: 'f', args: 'x' } })] },
      'contents[1].parts[0].functionCall.args'
    ],
    [{ contents: [{ role: 'robot', parts: [text] }] }, 'contents[0].role'],
    [{ contents: [user(text)], generationConfig: 'x' }, 'generationConfig'],
    [{ contents: [user(text)], extra_body: 'x' }, 'extra_body']
  ]
  for (const version of versions) {
    for (const [body, field] of cases) {
      const response = await call(gateway, version, 'generateContent', body)
      t.equal(response.status, 400, field)
      t.match(
        response.json.error,
        {
          code: 400,
          status: 'INVALID_ARGUMENT',
          details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field }] }]
        },
        field
      )
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('a single content that is not in a list is accepted', async t => {
  for (const version of versions) {
    t.equal((await call(gateway, version, 'generateContent', { contents: user({ text: 'hi' }) })).status, 200)
    t.equal(lastUpstreamChat(emulator).body.messages.length, 1)
  }
})
