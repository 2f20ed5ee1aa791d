import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import {
  readCountTokensRequest,
  writeCountTokensResponse
} from '../../../../../worker/protocols/content/client/count-tokens.ts'
import { createSdk } from './sdk.ts'
import { failure } from './support.ts'

const request = {
  systemInstruction: { parts: [{ text: 'sys' }] },
  contents: [{ role: 'user', parts: [{ text: 'hello' }, { inlineData: { mimeType: 'image/png', data: 'AA==' } }] }],
  tools: [{ functionDeclarations: [{ name: 'f', description: 'dd' }] }]
}

const texts = (body: JsonObject) => readCountTokensRequest(body).texts
const refusedAt = (body: JsonObject) => failure(() => readCountTokensRequest(body)).param

t.test('only instruction, contents and functions are counted (D5, D8)', async t => {
  t.strictSame(texts(request), ['sys', 'hello', 'f', 'dd'])
  t.strictSame(
    texts({
      contents: [
        { role: 'model', parts: [{ text: 'thought', thought: true }, { functionCall: { name: 'x', args: { a: 1 } } }] },
        { parts: [{ functionResponse: { name: 'x', response: {} } }, { text: '' }] }
      ],
      tools: [{ functionDeclarations: [{ name: 'g' }], googleSearch: {} }]
    }),
    ['g']
  )
})

t.test('a wrapped generate request is counted in the same way', async t => {
  t.strictSame(texts({ generateContentRequest: request }), ['sys', 'hello', 'f', 'dd'])
  t.strictSame(texts({ generate_content_request: request, contents: 'x' }), ['sys', 'hello', 'f', 'dd'])
  t.strictSame(
    texts({
      system_instruction: 'sys',
      contents: { parts: { text: 'a' } },
      tools: { function_declarations: { name: 'f' } }
    }),
    ['sys', 'a', 'f']
  )
})

t.test('an empty body has no texts to count', async t => {
  for (const body of [{}, { contents: null }, { contents: [] }, { contents: [{}] }, { contents: [{ parts: [] }] }]) {
    t.strictSame(texts(body), [], JSON.stringify(body))
  }
  t.strictSame(writeCountTokensResponse(0), { totalTokens: 0 })
})

t.test('members of a wrong type are refused with their path', async t => {
  t.equal(refusedAt({ contents: 'hi' }), 'contents')
  t.equal(refusedAt({ contents: ['hi'] }), 'contents[0]')
  t.equal(refusedAt({ contents: [{ parts: [{ text: 3 }] }] }), 'contents[0].parts[0].text')
  t.equal(refusedAt({ generateContentRequest: 3 }), 'generateContentRequest')
  t.equal(refusedAt({ generateContentRequest: { contents: 3 } }), 'generateContentRequest.contents')
  t.equal(refusedAt({ generateContentRequest: { systemInstruction: 3 } }), 'generateContentRequest.systemInstruction')
  t.equal(refusedAt({ tools: [{ functionDeclarations: [{ name: 3 }] }] }), 'tools[0].functionDeclarations[0].name')
})

t.test('members that are not counted are listed as ignored', async t => {
  const { ignored, extraHeaders } = readCountTokensRequest({ model: 'm', other: 1, extra_headers: { 'x-a': 'b' } })
  t.strictSame(ignored, { model: 'm', other: 1 })
  t.strictSame(extraHeaders, { 'x-a': 'b' })
})

t.test('the SDK reads the sum', async t => {
  const sdk = createSdk(({ operation, body }) => {
    t.equal(operation?.operation, 'countTokens')
    return Response.json(writeCountTokensResponse(texts(body).join('').length))
  })
  const response = await sdk.models.countTokens({ model: 'm', contents: ['hello', 'you'] })
  t.equal(response.totalTokens, 8)
})
