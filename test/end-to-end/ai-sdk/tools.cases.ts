// The Vercel AI SDK with a started gateway: tool loops over all four operations, as the application and the upstream see them.

import { generateText, isStepCount, streamText, type ToolChoice, ToolLoopAgent, type ToolSet, tool } from 'ai'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { readStateIds, readTurns } from '../../support/turns.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { calm, createWeather, type Kind, outline, startSharedStack } from './support.ts'

const { emulator, seats, strangers } = await startSharedStack()

const twoCalls =
  '[[text:a]][[tool:weather {"city":"Oslo"}]][[step]][[tool:weather {"city":"Rome"}]][[step]][[text:done]]'

/** How the provider of each operation wraps the result of a tool. */
function wrap(kind: Kind, value: unknown): unknown {
  return kind === 'content' ? { name: 'weather', content: value } : value
}

for (const { name, version, kind, model } of seats) {
  t.test(`${name}: a loop of three steps keeps texts, calls, results and the tool state (A6, C3)`, async t => {
    for (const isStream of [false, true]) {
      const { weather, cities } = createWeather()
      const request = { ...calm, model, prompt: twoCalls, tools: { weather }, stopWhen: isStepCount(5) }
      const steps = isStream ? await streamText(request).steps : (await generateText(request)).steps
      t.strictSame(outline(steps), [
        { finishReason: 'tool-calls', text: 'a', inputs: [{ city: 'Oslo' }] },
        { finishReason: 'tool-calls', text: '', inputs: [{ city: 'Rome' }] },
        { finishReason: 'stop', text: 'done', inputs: [] }
      ])
      t.strictSame(cities, ['Oslo', 'Rome'])
      const { body } = lastUpstreamChat(emulator)
      t.strictSame(readTurns(body), [
        { role: 'user', text: twoCalls },
        { role: 'assistant', text: 'a', calls: [['weather', { city: 'Oslo' }]] },
        { role: 'tool', results: [['weather', wrap(kind, { city: 'Oslo', temperature: 21 })]] },
        { role: 'assistant', calls: [['weather', { city: 'Rome' }]] },
        { role: 'tool', results: [['weather', wrap(kind, { city: 'Rome', temperature: 21 })]] }
      ])
      // The emulator refuses ids that it did not return, so equal ids are correct.
      const { calls, results } = readStateIds(body)
      t.equal(new Set(calls).size, version === 'v2' ? 2 : 0)
      t.strictSame(results, calls)
    }
  })

  t.test(`${name}: the agent of the SDK runs to its end, whole and streamed`, async t => {
    for (const isStream of [false, true]) {
      const { weather, cities } = createWeather()
      const agent = new ToolLoopAgent({ ...calm, model, instructions: 'Be brief.', tools: { weather } })
      const result = isStream ? await agent.stream({ prompt: twoCalls }) : await agent.generate({ prompt: twoCalls })
      t.equal(await result.text, 'done')
      t.equal((await result.steps).length, 3)
      t.strictSame(cities, ['Oslo', 'Rome'])
      t.strictSame(readTurns(lastUpstreamChat(emulator).body)[0], { role: 'system', text: 'Be brief.' })
    }
  })

  t.test(`${name}: the parts of a streamed call open and close in order`, async t => {
    const { weather } = createWeather()
    const prompt = '[[text:a]][[tool:weather {"city":"Oslo"}]]'
    const opened = new Set<string>()
    const parts: string[] = []
    let input = ''
    for await (const part of streamText({ ...calm, model, prompt, tools: { weather } }).stream) {
      if (part.type === 'tool-input-start') opened.add(part.id)
      if (part.type === 'tool-input-delta') input += part.delta
      if (part.type === 'tool-call') t.ok(opened.has(part.toolCallId), 'the call has the id of its start part')
      if (part.type.startsWith('tool-') && part.type !== 'tool-input-delta') parts.push(part.type)
    }
    t.strictSame(parts, ['tool-input-start', 'tool-input-end', 'tool-call', 'tool-result'])
    t.strictSame(JSON.parse(input), { city: 'Oslo' })
    const [sent] = listSentFunctions(lastUpstreamChat(emulator).body)
    t.strictSame(
      Object.keys(sent ?? {}).sort(),
      ['description', 'name', 'parameters'],
      'and nothing that is for providers'
    )
  })

  t.test(
    `${name}: ${version === 'v2' ? 'parallel calls are returned in one step' : 'calls are returned one by one'}`,
    async t => {
      for (const isStream of [false, true]) {
        const { weather, cities } = createWeather()
        const now = tool({ inputSchema: z.object({}), execute: async () => 'noon' })
        const request = {
          ...calm,
          model,
          prompt: '[[tool:weather {"city":"Oslo"}]][[tool:weather {"city":"Rome"}]][[tool:now {}]]',
          tools: { weather, now },
          stopWhen: isStepCount(5),
          providerOptions: {
            openai: { store: false, parallelToolCalls: true },
            anthropic: { disableParallelToolUse: false }
          }
        }
        const steps = isStream ? await streamText(request).steps : (await generateText(request)).steps
        const inputs = outline(steps).map(step => step.inputs)
        t.strictSame(cities, ['Oslo', 'Rome'])
        const { body } = lastUpstreamChat(emulator)
        const results = readTurns(body).flatMap(turn => turn.results ?? [])
        t.strictSame(
          results.map(([called]) => called),
          ['weather', 'weather', 'now']
        )
        if (version === 'v1') {
          t.strictSame(inputs, [[{ city: 'Oslo' }], [{ city: 'Rome' }], [{}], []])
          continue
        }
        t.strictSame(inputs, [[{ city: 'Oslo' }, { city: 'Rome' }, {}], []])
        t.equal(body.parallel_tool_calls, true)
        t.equal(readTurns(body).find(({ role }) => role === 'assistant')?.calls?.length, 3)
      }
    }
  )

  t.test(`${name}: an error of a tool is sent upstream as its result`, async t => {
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async (): Promise<string> => {
        throw new Error('no such city')
      }
    })
    const prompt = '[[tool:weather {"city":"Oslo"}]]'
    const { steps } = await generateText({ ...calm, model, prompt, tools: { weather }, stopWhen: isStepCount(3) })
    t.equal(steps[0]?.content.at(-1)?.type, 'tool-error')
    const [result] = readTurns(lastUpstreamChat(emulator).body).at(-1)?.results ?? []
    t.match(result?.[1], { error: 'Error: no such city' })
    // Only this one of the four providers marks the result as an error; the mark is sent upstream.
    t.equal(JSON.stringify(result).includes('"is_error":true'), kind === 'messages')
  })

  t.test(`${name}: a picture in a tool result is sent to the model`, async t => {
    const picture = Buffer.from(`picture for ${name}`).toString('base64')
    const shot = tool({
      inputSchema: z.object({}),
      execute: async () => picture,
      toModelOutput: ({ output }) => ({
        type: 'content',
        value: [
          { type: 'text', text: 'see' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: output } }
        ]
      })
    })
    const { steps } = await generateText({
      ...calm,
      model,
      prompt: '[[tool:shot {}]]',
      tools: { shot },
      stopWhen: isStepCount(3)
    })
    t.equal(steps.length, 2)
    const turns = readTurns(lastUpstreamChat(emulator).body)
    const files = turns.reduce((sum, turn) => sum + (turn.files ?? 0), 0)
    // The chat provider writes the whole list as text.
    t.equal(files, kind === 'chat' ? 0 : 1)
    t.match(JSON.stringify(turns), /see/)
  })

  t.test(`${name}: the tool choice is sent upstream`, async t => {
    const { weather } = createWeather()
    const now = tool({ description: 'The time', strict: true, inputSchema: z.object({}), execute: async () => 'noon' })
    const ask = (toolChoice: ToolChoice<ToolSet>, tools: ToolSet) =>
      generateText({ ...calm, model, prompt: 'go', toolChoice, tools })

    t.strictSame((await ask('required', { now })).toolCalls[0]?.input, {})
    const named = await ask({ type: 'tool', toolName: 'now' }, { weather, now })
    t.equal(named.toolCalls[0]?.toolName, 'now')
    t.equal((await ask('none', { weather, now })).toolCalls.length, 0)
    t.strictSame(listSentFunctions(lastUpstreamChat(emulator).body), [])

    const any = await catchError(() => ask('required', { weather, now }))
    if (version === 'v1') {
      t.match(any, { name: 'AI_APICallError', statusCode: 400, isRetryable: false })
      t.match((any as { responseBody: string }).responseBody, /unsupported_semantic/)
    } else {
      t.equal(any, undefined)
      t.strictSame(lastUpstreamChat(emulator).body.tool_config, { mode: 'forced' })
    }
  })

  t.test(`${name}: the schema of a tool reaches the upstream as the application wrote it (B10)`, async t => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node).optional()
      }
    })
    const inputSchema = z.object({
      kind: z.enum(['a', 'b']),
      note: z.string().nullable(),
      either: z.union([z.string(), z.number()]),
      tree: node
    })
    const plant = tool({ description: 'Plants a tree', inputSchema, execute: async () => 'planted' })
    await generateText({ ...calm, model, prompt: 'hi', tools: { plant } })
    const [sent] = listSentFunctions(lastUpstreamChat(emulator).body)
    t.match(sent, { name: 'plant', description: 'Plants a tree' })
    t.match(sent?.parameters, {
      type: 'object',
      required: ['kind', 'note', 'either', 'tree'],
      additionalProperties: false,
      properties: { kind: { enum: ['a', 'b'] }, tree: Object }
    })
    t.match(JSON.stringify(sent?.parameters), /"\$ref":"#/, 'the recursion is kept')
  })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.ok(upstreamChats(emulator).length > 0)
  t.strictSame(strangers, [])
})
