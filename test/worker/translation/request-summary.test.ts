// What is left of a request once its call is written.

import t from 'tap'
import { joinBytes } from '../../../shared/bytes.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { translateObservedChat } from '../../../worker/translation/chat.ts'
import type { TaskEnvironment } from '../../../worker/translation/types.ts'

const ALIAS = 'team/alias'
const refuse = () => Promise.reject(new Error('Nothing is counted here.'))

const environment: TaskEnvironment = {
  settings: {
    routes: {
      aliases: new Map([
        [ALIAS, { profileId: 'vendor', providerKind: 'chat_compatible', upstreamModel: 'exact-model', slotKey: '' }]
      ])
    },
    providerOptions: { vendor: { chatPath: '/chat/completions' } }
  },
  faces: providerFaces,
  decodeTokens: refuse,
  estimateTokens: refuse
}

const PROMPT = 'What is the weather?'
const body = {
  model: ALIAS,
  messages: [{ role: 'user', content: PROMPT }],
  tools: [
    { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: {} } } } }
  ],
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object', properties: {} } } }
}
const job = {
  protocol: 'completions',
  apiMode: 'v1',
  bytes: Buffer.from(JSON.stringify(body)),
  context: { requestId: 'r' }
} as const

t.test('a stream keeps neither the messages nor the schemas of its request', async t => {
  const { request, body: written } = await translateObservedChat(job, environment)
  t.match(Buffer.from(joinBytes(written)).toString(), PROMPT)
  t.same(request.messages, [])
  t.same(request.tools, [{ type: 'function', name: 'weather', parameters: {} }])
  t.match(request.output, { type: 'json-schema', schema: {} })
  t.notMatch(JSON.stringify(request), /weather\?|properties/)
})

t.test('observers are told of the messages first', async t => {
  const options = { messages: true, tools: true, extensions: true, charactersMax: 8000 }
  const { request, description } = await translateObservedChat({ ...job, description: options }, environment)
  t.match(JSON.stringify(description), PROMPT)
  t.match(JSON.stringify(description), /properties/)
  t.same(request.messages, [])
})
