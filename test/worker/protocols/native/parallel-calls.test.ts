import t from 'tap'
import type { JsonObject } from '../../../../worker/normalized/index.ts'
import {
  namesParallelCalls,
  withoutParallelCalls,
  writeParallelCalls
} from '../../../../worker/protocols/native/parallel-calls.ts'
import * as fc from '../../../support/properties.ts'

const write = (body: JsonObject) => Buffer.from(JSON.stringify(body))

t.test('the option is written where it is wanted, or where a vendor field of the client sets it', async t => {
  const body: JsonObject = { model: 'm' }
  t.equal(writeParallelCalls(body, false, 'auto'), body)
  t.same(writeParallelCalls(body, true, 'auto'), { parallel_tool_calls: true, model: 'm' })
  const given = (parallel_tool_calls: boolean) => ({ model: 'm', parallel_tool_calls })
  t.same(writeParallelCalls(given(true), false, 'explicit'), given(true))
  t.same(writeParallelCalls(given(false), true, 'auto'), given(false))
  for (const isGiven of [true, false]) t.same(writeParallelCalls(given(isGiven), true, 'off'), body)
  t.same(writeParallelCalls(body, true, 'off'), body)
})

t.test('a body loses the option and nothing else, wherever else the name stands', async t => {
  const word = fc.constantFrom('model', 'parallel_tool_calls', '{"parallel_tool_calls":true,', 'x')
  const value = fc.oneof(word, fc.boolean(), fc.dictionary(word, fc.oneof(word, fc.boolean())), fc.jsonValue())
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'messages'), value, { minKeys: 1 }), members => {
      const body = JSON.parse(JSON.stringify(members)) as JsonObject
      const without = withoutParallelCalls(write(writeParallelCalls(body, true, 'auto')))
      if (Buffer.from(without ?? '').toString() !== JSON.stringify(body)) throw new Error(String(without))
      if (withoutParallelCalls(write(body)) !== undefined) throw new Error('The option was not there.')
    })
  )
  t.same(writeParallelCalls({ b: 1, parallel_tool_calls: true }, false, 'auto'), { parallel_tool_calls: true, b: 1 })
  t.equal(withoutParallelCalls(Buffer.from('{')), undefined)
})

t.test('a refusal names the option anywhere in its body', async t => {
  t.ok(namesParallelCalls(Buffer.from('{"detail":[{"loc":["body","parallel_tool_calls"]}]}')))
  t.notOk(namesParallelCalls(Buffer.from('{"message":"no such model"}')))
  t.notOk(namesParallelCalls(Buffer.alloc(0)))
})
