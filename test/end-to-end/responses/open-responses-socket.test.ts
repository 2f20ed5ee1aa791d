// The cases of the compliance suite of the Open Responses specification over a WebSocket, in our own words (decisions.md 91).

import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { socketErrorSchema } from './open-responses-schemas.ts'
import { type Cases, checkCompleted, checkEvents, say, testCases } from './open-responses-support.ts'
import { askOnSocket, openSocket, type SocketTurn } from './socket-client.ts'
import { type Loose, textOf } from './support.ts'

function checkTurn(t: Test, turn: SocketTurn | undefined): Loose {
  t.equal(turn?.error, undefined)
  checkEvents(t, turn?.events ?? [])
  checkCompleted(t, turn?.response)
  return turn?.response
}

function checkRefused(t: Test, turn: SocketTurn | undefined, code: string): void {
  const { error } = socketErrorSchema.safeParse(turn?.error)
  t.equal(error?.message, undefined, 'the error has the form of the specification')
  t.equal(turn?.error.error.code, code)
}

const cases: Cases = [
  [
    'a response over a WebSocket',
    async (t, { baseUrl, model }) => {
      const [turn] = await askOnSocket(baseUrl, { model, input: [say('[[text:over a socket]]')] })
      t.equal(textOf(checkTurn(t, turn)), 'over a socket')
    }
  ],
  [
    'responses one after another over a WebSocket',
    async (t, { baseUrl, model }) => {
      const request = (word: string) => ({ model, store: false, input: `[[text:${word}]]` })
      const turns = await askOnSocket(baseUrl, request('first'), request('second'))
      t.strictSame(
        turns.map(turn => textOf(checkTurn(t, turn))),
        ['first', 'second']
      )
    }
  ],
  [
    'a response that is not stored is continued on its WebSocket',
    async (t, { baseUrl, model }) => {
      const socket = await openSocket(baseUrl)
      const first = checkTurn(t, await socket.ask({ model, store: false, input: 'The word is cobalt.' }))
      const next = { model, store: false, previous_response_id: first.id, input: '[[recall]]' }
      const second = checkTurn(t, await socket.ask(next))
      t.match(textOf(second), /cobalt/)
      t.equal(second.previous_response_id, first.id)
      await socket.close()
    }
  ],
  [
    'a response that is not stored is unknown on another WebSocket, which goes on with a new one',
    async (t, { baseUrl, model }) => {
      const [first] = await askOnSocket(baseUrl, { model, store: false, input: 'x' })
      const { id } = checkTurn(t, first)
      const [refused, recovered] = await askOnSocket(
        baseUrl,
        { model, store: false, previous_response_id: id, input: 'y' },
        { model, store: false, input: [say('[[text:recovered]]')] }
      )
      checkRefused(t, refused, 'previous_response_not_found')
      t.equal(textOf(checkTurn(t, recovered)), 'recovered')
    }
  ],
  [
    'an unknown response is refused over a WebSocket',
    async (t, { baseUrl, model }) => {
      const missing = 'resp_of_another_place_1764967971'
      const [turn] = await askOnSocket(baseUrl, { model, store: false, previous_response_id: missing, input: 'x' })
      checkRefused(t, turn, 'previous_response_not_found')
    }
  ],
  [
    'a continuation that fails makes a response that is not stored unknown to its WebSocket',
    async (t, { baseUrl, model }) => {
      const socket = await openSocket(baseUrl)
      const { id } = checkTurn(t, await socket.ask({ model, store: false, input: 'x' }))
      const request = { model, store: false, previous_response_id: id }
      const output = { type: 'function_call_output', call_id: 'call_without_its_call', output: 'none' }
      const failed = await socket.ask({ ...request, input: [output] })
      t.ok(failed.error !== undefined || failed.response.status === 'failed')
      checkRefused(t, await socket.ask({ ...request, input: 'again' }), 'previous_response_not_found')
      await socket.close()
    }
  ],
  [
    'a compacted conversation is the input of a response over a WebSocket',
    async (t, { baseUrl, model }) => {
      const input = [
        say([{ type: 'input_text', text: 'The word is slate.' }]),
        say([{ type: 'output_text', text: 'Good.' }], 'assistant'),
        say([{ type: 'input_text', text: 'Make it short.' }])
      ]
      const { status, json } = await post(`${baseUrl}/responses/compact`, { model, input })
      t.equal(status, 200)
      const [turn] = await askOnSocket(baseUrl, {
        model,
        store: false,
        input: [...json.output, say('[[text:compacted]]')],
        tools: []
      })
      t.equal(textOf(checkTurn(t, turn)), 'compacted')
    }
  ]
]

await testCases(t, cases, [])
