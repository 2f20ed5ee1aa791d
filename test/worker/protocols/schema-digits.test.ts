// Integers beyond 2^53 in schemas of functions keep their digits on every wire (decisions.md 85).

import t from 'tap'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { contentCompatibleFace } from '../../../worker/protocols/content/provider/face.ts'
import { messagesCompatibleFace } from '../../../worker/protocols/messages/provider/face.ts'
import { nativeV1Face } from '../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../worker/protocols/native/v2/face.ts'
import type { ProviderFace } from '../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { plainOptions } from '../../support/native-route.ts'

const digits = '9223372036854775807'
const schema = `{"type":"object","properties":{"id":{"type":"integer","maximum":${digits}}}}`
const bodies = {
  completions: `{"model":"a","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
  responses: `{"model":"a","input":"hi","tools":[{"type":"function","name":"f","parameters":${schema}}]}`,
  messages: `{"model":"a","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":${schema}}]}`,
  content: `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${schema}}]}]}`
} as const

const options = { chatPath: '/chat/completions', messagesPath: '/messages', modelsPath: '/models' }
const routes: Record<string, [ProviderFace, object]> = {
  'native v1': [nativeV1Face as ProviderFace, plainOptions],
  'native v2': [nativeV2Face as ProviderFace, plainOptions],
  chat: [chatCompatibleFace as ProviderFace, options],
  messages: [messagesCompatibleFace as ProviderFace, options],
  content: [contentCompatibleFace as ProviderFace, options]
}

for (const [protocol, text] of Object.entries(bodies) as [keyof typeof bodies, string][]) {
  t.test(`${protocol}: every wire gets the digits of a bound`, async t => {
    for (const [route, [face, faceOptions]] of Object.entries(routes)) {
      const context = { requestId: 'r', bytes: Buffer.from(text), path: { model: 'a', isStream: false } }
      const request = clientFaces[protocol].readRequest(JSON.parse(text), context)
      const { body } = face.writeChat(request, { upstreamModel: 'm' }, faceOptions)
      t.match(JSON.stringify(body), `"maximum":${digits}`, route)
    }
  })
}
