// LangChain with a started gateway: tool loops over all four operations, as the application and the upstream see them.

import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { readStateIds, readTurns } from '../../support/turns.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { addUp, bind, createWeather, type Kind, readStatus, runLoop, startSharedStack } from './support.ts'

const { emulator, seats, strangers } = await startSharedStack()

const twoCalls =
  '[[text:a]][[tool:weather {"city":"Oslo"}]][[step]][[tool:weather {"city":"Rome"}]][[step]][[text:done]]'
const now = tool(async () => 'noon', { name: 'now', description: 'The time', schema: z.object({}) })

/** The result that the upstream receives: the packages of the content family wrap the text in an object. */
function wrap(kind: Kind, value: object): unknown {
  return kind === 'content' || kind === 'content-legacy' ? { result: JSON.stringify(value) } : value
}

for (const { name, version, kind, model } of seats) {
  t.test(`${name}: a loop of three turns keeps texts, calls, results and the tool state (A6, C3)`, async t => {
    for (const isStream of [false, true]) {
      const { weather, cities } = createWeather()
      t.strictSame(await runLoop(model, twoCalls, { tools: [weather], isStream }), [
        { text: 'a', calls: [['weather', { city: 'Oslo' }]] },
        { text: '', calls: [['weather', { city: 'Rome' }]] },
        { text: 'done', calls: [] }
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

  t.test(
    `${name}: ${version === 'v2' ? 'parallel calls are returned in one turn' : 'calls are returned one by one'}`,
    async t => {
      for (const isStream of [false, true]) {
        const { weather, cities } = createWeather()
        const turns = await runLoop(
          model,
          '[[tool:weather {"city":"Oslo"}]][[tool:weather {"city":"Rome"}]][[tool:now {}]]',
          {
            tools: [weather, now],
            isStream,
            toolOptions:
              kind === 'messages'
                ? { tool_choice: { type: 'auto', disable_parallel_tool_use: false } }
                : { parallel_tool_calls: true }
          }
        )
        const calls = turns.map(turn => turn.calls.map(([called]) => called))
        t.strictSame(cities, ['Oslo', 'Rome'])
        const results = readTurns(lastUpstreamChat(emulator).body).flatMap(turn => turn.results ?? [])
        t.strictSame(
          results.map(([called]) => called),
          ['weather', 'weather', 'now']
        )
        t.match(JSON.stringify(results[0]), /Oslo/)
        t.match(JSON.stringify(results[1]), /Rome/)
        t.strictSame(
          calls,
          version === 'v2' ? [['weather', 'weather', 'now'], []] : [['weather'], ['weather'], ['now'], []]
        )
        t.equal(lastUpstreamChat(emulator).body.parallel_tool_calls, version === 'v2' ? true : undefined)
      }
    }
  )

  t.test(`${name}: a tool message that the application writes is matched to its call`, async t => {
    const { weather } = createWeather()
    const bound = bind(model, [weather])
    const question = new HumanMessage('[[tool:weather {"city":"Oslo"}]]')
    const call = await bound.invoke([question])
    const id = call.tool_calls?.[0]?.id ?? ''
    const result = new ToolMessage({ tool_call_id: id, name: 'weather', content: 'no such city', status: 'error' })
    const response = await bound.invoke([question, call, result])
    t.match(response.text, /no such city/)
    // Only the first package of the content family reports to the upstream that the result is an error, in a separate object.
    const value = kind === 'content-legacy' ? { error: { details: 'no such city' } } : { result: 'no such city' }
    t.strictSame(readTurns(lastUpstreamChat(emulator).body).at(-1)?.results, [['weather', value]])
  })
}

for (const { name, version, kind, model } of seats) {
  // In this mode the package does not send a tool choice by mode; the next test covers a choice by name, which it sends.
  if (kind === 'responses') continue

  t.test(`${name}: the tool choice is sent upstream`, async t => {
    const { weather } = createWeather()
    const ask = (tool_choice: string, tools = [weather, now]) => bind(model, tools, { tool_choice }).invoke('go')

    t.match((await ask('any', [weather])).tool_calls, [{ name: 'weather' }])
    t.strictSame((await ask('none')).tool_calls ?? [], [])
    t.strictSame(listSentFunctions(lastUpstreamChat(emulator).body), [])

    const any = await catchError(() => ask('any'))
    if (version === 'v1') {
      t.equal(readStatus(any), 400)
    } else {
      t.equal(any, undefined)
      t.strictSame(lastUpstreamChat(emulator).body.tool_config, { mode: 'forced' })
    }
  })
}

for (const { name, model } of seats) {
  t.test(`${name}: a tool that is forced by its name is called`, async t => {
    const { weather } = createWeather()
    const response = await bind(model, [weather, now], { tool_choice: 'now' }).invoke('go')
    t.match(response.tool_calls, [{ name: 'now', args: {} }])
  })
}

for (const { name, kind, model } of seats) {
  // This package returns complete calls without their pieces.
  if (kind === 'content') continue

  t.test(`${name}: a streamed call has one id, its name and arguments that accumulate`, async t => {
    const { weather } = createWeather()
    const stream = await bind(model, [weather]).stream('[[text:a]][[tool:weather {"city":"Oslo"}]]')
    const sum = await addUp(stream)
    const names = (sum.tool_call_chunks ?? []).map(chunk => chunk.name)
    t.strictSame(names, ['weather'])
    t.strictSame(JSON.parse(sum.tool_call_chunks?.[0]?.args ?? ''), { city: 'Oslo' })
    t.strictSame(sum.invalid_tool_calls ?? [], [])
    t.match(sum.tool_calls, [{ name: 'weather', args: { city: 'Oslo' }, id: /^call_/ }])
  })
}

for (const { name, kind, model } of seats) {
  if (kind !== 'chat' && kind !== 'responses') continue

  t.test(`${name}: only the tools of an allowed list are sent upstream`, async t => {
    const { weather } = createWeather()
    const allowed =
      kind === 'chat' ? { type: 'function', function: { name: 'now' } } : { type: 'function', name: 'now' }
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [allowed] } }
    const response = await bind(model, [weather, now], { tool_choice }).invoke('go')
    t.match(response.tool_calls, [{ name: 'now', args: {} }])
    t.strictSame(
      listSentFunctions(lastUpstreamChat(emulator).body).map(({ name }) => name),
      ['now']
    )
  })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
