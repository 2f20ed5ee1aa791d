import t from 'tap'
import { estimateChat, estimateTexts, GeneratedTokens } from '../../../worker/limits/estimate-tokens.ts'
import type { ContentPart, NormalizedRequest } from '../../../worker/normalized/index.ts'

const request = (changes: Partial<NormalizedRequest>) =>
  ({ messages: [], tools: [], sampling: {}, ...changes }) as unknown as NormalizedRequest
const message = (...content: ContentPart[]) => [{ role: 'user' as const, content }]
const text = (length: number): ContentPart => ({ type: 'text', text: 'x'.repeat(length) })
const inputOf = (changes: Partial<NormalizedRequest>) => estimateChat(request(changes), { bodyBytes: 10_000 }).input

t.test('keys 8: bytes of text count a quarter of a token, and each image or file a thousand', async t => {
  t.equal(inputOf({ messages: message(text(400)) }), 100)
  t.equal(inputOf({ messages: message({ type: 'text', text: 'é'.repeat(200) }) }), 100)
  t.equal(inputOf({ messages: message(text(1)) }), 1)
  const path = 'messages[0]'
  const image: ContentPart = { type: 'image', source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAAA' }, path }
  const file: ContentPart = { type: 'file', source: { kind: 'url', url: 'https://a.b/c.pdf' }, path }
  t.equal(inputOf({ messages: message(text(4), image, file) }), 2001)
  const result: ContentPart = { type: 'tool-result', callId: 'c', content: [text(40), image], isError: false, path }
  t.equal(inputOf({ messages: message(result) }), 1010)
})

t.test('keys 8: tools and schemas are read by the model too', async t => {
  const parameters = { type: 'object' }
  t.equal(inputOf({ tools: [{ type: 'function', name: 'name', description: 'text', parameters }] }), Math.ceil(25 / 4))
  t.equal(inputOf({ output: { type: 'json-schema', schema: parameters } }), Math.ceil(17 / 4))
  const call: ContentPart = { type: 'tool-call', id: 'c', name: 'name', arguments: { a: 1 }, argumentsText: '{"a": 1}' }
  t.equal(inputOf({ messages: message(call) }), 3)
})

t.test('keys 8: the output limit of a request is bounded by its alias', async t => {
  const outputOf = (maxOutputTokens?: number, outputTokensMax?: number) =>
    estimateChat(request(maxOutputTokens === undefined ? {} : { sampling: { maxOutputTokens } }), {
      bodyBytes: 0,
      outputTokensMax
    }).output
  t.equal(outputOf(), 1024)
  t.equal(outputOf(50), 50)
  t.equal(outputOf(1_000_000, 4096), 4096)
  t.equal(outputOf(undefined, 512), 512)
})

t.test('keys 8: a body that the gateway could not read is measured whole', async t => {
  const standIn = Object.assign(request({ messages: message(text(4)) }), { isStandIn: true as const })
  t.equal(estimateChat(standIn, { bodyBytes: 10_000 }).input, 2500)
})

t.test('keys 8: texts of embeddings are rounded together', async t => {
  t.strictSame(estimateTexts(['a', 'b', 'c']), { input: 1, output: 0 })
})

t.test('keys 8: what a response generates is counted over its pieces', async t => {
  const generated = new GeneratedTokens()
  for (const piece of ['a', 'b', 'c', 'd', 'e']) generated.add([{ type: 'text-delta', text: piece }])
  t.equal(generated.tokens, 2)
  generated.add([{ type: 'reasoning-delta', text: 'xyz' }, { type: 'text-end' }])
  t.equal(generated.tokens, 2)
})
