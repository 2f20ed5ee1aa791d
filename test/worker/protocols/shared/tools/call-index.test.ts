// Results of a content client, whose calls have no ids, on every wire: which call each of them gets.

import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { clientFaces, findProviderFace, providerFaces } from '../../../../../worker/protocols/registry.ts'
import { failure, requestId } from '../../../../support/codec.ts'
import { options as chatOptions } from '../../completions/provider/support.ts'
import { plainOptions } from '../../native/support.ts'

const user = (...parts: object[]) => ({ role: 'user', parts })
const model = (...parts: object[]) => ({ role: 'model', parts })
const call = (name: string, n: number) => ({ functionCall: { name, args: { n } } })
const result = (name: string, n: number) => ({ functionResponse: { name, response: { of: n } } })
const go = user({ text: 'go' })

const wires = [
  ['native', 'v1', plainOptions],
  ['native', 'v2', plainOptions],
  ['chat_compatible', 'v1', chatOptions],
  ['messages_compatible', 'v1', { messagesPath: '', countTokensPath: '', modelsPath: '' }],
  ['content_compatible', 'v1', { modelsPath: '' }]
] as const

function write([kind, mode, options]: (typeof wires)[number], contents: object[]): JsonObject {
  const context = { requestId, path: { model: 'm', isStream: false } }
  const request = clientFaces.content.readRequest({ contents } as unknown as JsonObject, context)
  return findProviderFace(providerFaces, { providerKind: kind, apiMode: mode }).writeChat(
    request,
    { upstreamModel: 'm' },
    options
  ).body
}

/** The arguments and results in the order of the body: `call 1`, `result 1`. */
function sequence(body: JsonObject): string[] {
  const text = JSON.stringify(body.messages ?? body.contents).replaceAll('\\', '')
  return [...text.matchAll(/"(n|of)":(\d)/g)].map(([, name, n]) => `${name === 'n' ? 'call' : 'result'} ${n}`)
}

/** Two calls of one turn in two messages, which some wires put together before their results. */
const IN_ORDER = /^call 3, (result 3, call 4|call 4, result 3), result 4$/

t.test('a result without an id belongs to the turn before it, not to a call that the user passed over', async t => {
  const passedOver = [go, model(call('f', 1), call('g', 2)), user({ text: 'never mind' })]
  for (const wire of wires) {
    const one = [...passedOver, model(call('f', 3)), user(result('f', 3))]
    t.strictSame(sequence(write(wire, one)), ['call 3', 'result 3'], `${wire[0]} ${wire[1]}`)
    const two = [...passedOver, model(call('f', 3)), model(call('f', 4)), user(result('f', 3), result('f', 4))]
    t.match(sequence(write(wire, two)).join(', '), IN_ORDER, `${wire[0]} ${wire[1]}`)
    const half = [
      go,
      model(call('f', 1), call('f', 2)),
      user(result('f', 1)),
      model(call('f', 3)),
      user(result('f', 3))
    ]
    t.strictSame(sequence(write(wire, half)), ['call 1', 'result 1', 'call 3', 'result 3'], `${wire[0]} ${wire[1]}`)
  }
})

t.test('a late result still finds its call', async t => {
  for (const wire of wires) {
    const late = [go, model(call('f', 1)), user({ text: 'wait' }), user(result('f', 1))]
    t.strictSame(sequence(write(wire, late)), ['call 1', 'result 1'], `${wire[0]} ${wire[1]}`)
  }
})

t.test('a result without an id and with a name of its own goes by the order of the calls', async t => {
  for (const wire of wires) {
    const renamed = [go, model(call('f', 1), call('g', 2)), user(result('g', 2), result('other', 1))]
    t.strictSame(
      sequence(write(wire, renamed)).toSorted(),
      ['call 1', 'call 2', 'result 1', 'result 2'],
      `${wire[0]} ${wire[1]}`
    )
  }
  for (const wire of wires.filter(([kind]) => kind !== 'native')) {
    const twice = [go, model(call('f', 1)), user(result('f', 1)), user(result('other', 2))]
    const { code, param } = failure(() => write(wire, twice))
    t.strictSame([code, param], ['invalid_request', 'contents[3].parts[0].functionResponse'], `${wire[0]} ${wire[1]}`)
  }
})
