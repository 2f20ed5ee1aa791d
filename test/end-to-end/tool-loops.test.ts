// Tool loops of every family over both contracts, whole and streamed: the calls that a client sees, and what the upstream receives
// when the client repeats them.

import t from 'tap'
import { lastUpstreamChat } from '../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { type Call, families, type Loose, type Turn } from './tool-loops/families.ts'

// The upstream refuses state ids that it did not issue.
const emulator = await startEmulator(t, { strictStateIds: true })
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const model = 'GigaChat-2'
const largest = 'GigaChat-2-Max'

/** A text with spaces, line ends and characters that a careless step would change. */
const TEXT = ' \tПривет,\n\n  "мир" \\n </b> \u00a0🙂 e\u0301 \u2028 конец.\r\n '
const calls = [
  { name: 'get_weather', arguments: { city: 'Omsk', note: 'a "b"\n' } },
  { name: 'get_time', arguments: {} },
  { name: 'get_weather', arguments: { city: 'Perm' } }
]
const writeCallDirective = ({ name, arguments: args }: { name: string; arguments: object }) =>
  `[[tool:${name} ${JSON.stringify(args)}]]`
const TEXT_DIRECTIVE = `[[text:${JSON.stringify(TEXT)}]]`
/** A v1 response has one call, a v2 response all of them. */
const prompts = {
  v1: calls.map(call => TEXT_DIRECTIVE + writeCallDirective(call)).join('[[step]]'),
  v2: TEXT_DIRECTIVE + calls.map(writeCallDirective).join('')
}
const TWO_CALLS = `[[parallel]]${calls.slice(0, 2).map(writeCallDirective).join('')}`

/** The result of the call at this position. */
const resultOf = (index: number) => ({ result: index, of: calls[index]?.arguments ?? {} })

/** What the upstream receives of the calls of one round and their results. */
function writeRound(version: 'v1' | 'v2', round: { first: number; count: number; stateId: string }): object[] {
  const made = calls.slice(round.first, round.first + round.count)
  if (version === 'v1') {
    return made.flatMap(({ name, arguments: args }, index) => [
      { role: 'assistant', content: TEXT, function_call: { name, arguments: args } },
      { role: 'function', name, content: JSON.stringify(resultOf(round.first + index)) }
    ])
  }
  const tools_state_id = round.stateId
  return [
    {
      role: 'assistant',
      content: [{ text: TEXT }, ...made.map(call => ({ function_call: call }))],
      tools_state_id
    },
    ...made.map(({ name }, index) => ({
      role: 'tool',
      content: [{ function_result: { name, result: resultOf(round.first + index) } }],
      tools_state_id
    }))
  ]
}

const forms = (['v1', 'v2'] as const).flatMap(version => [false, true].map(isStream => ({ version, isStream })))

for (const family of families) {
  for (const { version, isStream } of forms) {
    const how = `${family.name}, ${version}, ${isStream ? 'streamed' : 'whole'}`
    const question = { url: gateway.url, version, model: largest, isStream }

    t.test(`decisions.md 38, 39, 45: a tool loop keeps the text, the calls and the results: ${how}`, async t => {
      const history: Loose[] = [family.writeUser(prompts[version])]
      const expected: object[] = [{ role: 'user', content: version === 'v1' ? prompts.v1 : [{ text: prompts.v2 }] }]
      const seen: Call[] = []
      const rounds = version === 'v1' ? calls.map(() => 1) : [calls.length]
      for (const count of rounds) {
        const turn: Turn = await family.ask(question, history)
        t.equal(turn.text, TEXT)
        t.equal(turn.calls.length, count)
        const first = seen.length
        seen.push(...turn.calls)
        const results = turn.calls.map((call, index) => ({ call, value: resultOf(first + index) }))
        // The results are sent in another order, as tools that run at the same time finish.
        history.push(...turn.history, ...family.writeResults(results.reverse()))
        await family.ask(question, history)
        const { body } = lastUpstreamChat(emulator)
        expected.push(...writeRound(version, { first, count, stateId: body.messages[1].tools_state_id }))
        t.strictSame(body.messages, expected)
        if (version === 'v1') t.notMatch(JSON.stringify(body), /state_id/)
        else t.match(body.messages[1].tools_state_id, /^[0-9a-f-]{36}$/)
      }
      t.strictSame(
        seen.map(call => ({ name: call.name, arguments: call.arguments })),
        calls
      )
      for (const { id } of seen) t.match(id, /^[a-zA-Z0-9_-]{1,40}$/)
      t.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
    })

    if (version === 'v1') continue

    t.test(
      `decisions.md 38: calls that the client did not ask for are shown, unless it refused several: ${how}`,
      async t => {
        const ask = (more: object) => family.ask({ ...question, model, more }, [family.writeUser(TWO_CALLS)])
        t.strictSame(
          (await ask({})).calls.map(({ name }) => name),
          ['get_weather', 'get_time']
        )
        if (family.refusal === undefined) return
        t.strictSame(
          (await ask(family.refusal)).calls.map(({ name }) => name),
          ['get_weather']
        )
      }
    )
  }

  t.test(`decisions.md 39: ids of a foreign conversation are accepted, however long: ${family.name}`, async t => {
    const ids = [`call_${'a'.repeat(200)}`, 'functions.get_weather:0', `toolu_${'b'.repeat(90)}`, 'ü'.repeat(70)]
    for (const id of ids) {
      const question = { url: gateway.url, version: 'v1', model, isStream: false } as const
      const { history } = await family.ask(question, [family.writeUser(prompts.v1)])
      const renamed = JSON.parse(JSON.stringify(history), (key, value) =>
        ['id', 'call_id'].includes(key) ? id : key === 'thoughtSignature' ? undefined : value
      )
      const call = { id, name: 'get_weather', arguments: {} }
      const results = family.writeResults([{ call, value: resultOf(0) }])
      await family.ask(question, [family.writeUser(prompts.v1), ...renamed, ...results])
      t.strictSame(
        lastUpstreamChat(emulator).body.messages.slice(1),
        writeRound('v1', { first: 0, count: 1, stateId: '' })
      )
    }
  })
}
