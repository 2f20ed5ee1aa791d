import t from 'tap'
import { type JsonObject, writeToolCallId } from '../../../../../worker/normalized/index.ts'
import { catchError, read } from './support.ts'

const call = (...ids: string[]): JsonObject => ({
  role: 'assistant',
  content: ids.map(id => ({ type: 'tool_use', id, name: 'f', input: {} }))
})
const result = (...ids: string[]): JsonObject => ({
  role: 'user',
  content: ids.map(id => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }))
})
const user: JsonObject = { role: 'user', content: 'hi' }

t.test('calls without results are refused, and the message names all ids of the turn', async t => {
  const error = catchError(() =>
    read({
      system: 's',
      messages: [user, call('toolu_1', 'toolu_2', 'toolu_3'), result('toolu_2'), user, call('toolu_4')]
    })
  )
  t.match(error, { code: 'invalid_request', status: 400, param: 'messages[1]' })
  t.match(error.message, /: toolu_1, toolu_3\.$/)
  t.match(
    catchError(() => read({ messages: [user, call('toolu_1')] })),
    { param: 'messages[1]' },
    'also at the end'
  )
})

t.test('a conversation with a result for every call is read', async t => {
  t.doesNotThrow(() => read({ messages: [call('a', 'b'), result('b', 'a'), call('c'), result('c')] }))
  t.doesNotThrow(() => read({ messages: [call('a'), user, result('a')] }), 'also when the result comes later')
  t.doesNotThrow(
    () => read({ messages: [call('a'), result('a'), call('a'), result('a')] }),
    'also when an id is used twice'
  )
})

t.test(
  'a result with an unknown id belongs to the oldest open call, unless the gateway issued the id for another function',
  async t => {
    t.doesNotThrow(() => read({ messages: [call('a'), result('other')] }))
    t.match(
      catchError(() => read({ messages: [call('a', 'b'), result('a', 'a')] })),
      { message: /: b\.$/ }
    )
    const own = writeToolCallId({ stateId: 'ts-1', name: 'g', callNumber: 0, nonce: 'n' })
    t.match(
      catchError(() => read({ messages: [call('a'), result(own)] })),
      { message: /: a\.$/ }
    )
  }
)
