import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import {
  readResponsesTokenCount,
  responsesTokenCountFace
} from '../../../../../worker/protocols/responses/client/count-tokens.ts'

const read = (body: JsonObject) => readResponsesTokenCount(body, { requestId: 'r1' })

t.test('memory 18: a count reads instructions, input, tools and the schema of the output', async t => {
  const { texts, request } = read({
    model: 'm',
    instructions: 'be',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'weather?' },
          { type: 'input_image', file_id: 'f1' }
        ]
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'not counted' }] },
      { type: 'function_call', call_id: 'c1', name: 'get', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c1', output: 'cold' }
    ],
    tools: [{ type: 'function', name: 'get', description: 'Gets', parameters: { type: 'object' } }],
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'string' } } },
    personality: 'friendly'
  })
  t.equal(request.model, 'm')
  t.strictSame(texts, [
    'be',
    'weather?',
    'get',
    '{"a":1}',
    '{"result":"cold"}',
    'get Gets {"type":"object"}',
    'n {"type":"string"}'
  ])
})

t.test('memory 18: without input only the rest is counted, and a wrong input is refused with its path', async t => {
  for (const input of [undefined, null, [], '']) {
    const body = input === undefined ? {} : { input }
    t.strictSame(read({ ...body, instructions: 'be' }).texts, ['be'])
    t.strictSame(read(body).texts, [])
  }
  t.throws(() => read({ input: 7 }), { code: 'invalid_request', param: 'input' })
  t.throws(() => read({ input: [7] }), { code: 'invalid_request', param: 'input[0]' })
  t.throws(() => read({ input: 'x', prompt: { id: 'p' } }), { code: 'unsupported_semantic', param: 'prompt' })
})

t.test('a count has the form of the public API', async t => {
  t.strictSame(responsesTokenCountFace.writeResponse(7), { object: 'response.input_tokens', input_tokens: 7 })
})
