// The requests of real agents on providers that speak their protocol: each arrives byte for byte, but for the model.

import t from 'tap'
import { joinBytes } from '../../../shared/bytes.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { translateChat } from '../../../worker/translation/chat.ts'
import { translateTokenCount } from '../../../worker/translation/token-count.ts'
import type { TaskEnvironment } from '../../../worker/translation/types.ts'
import { readRecordedRequests } from '../../end-to-end/agents/recorded.ts'

const ALIAS = 'team/alias'
const MODEL = 'exact-model'

/** The recordings were made with the gateway, so their histories have its signatures where a provider's would be. */
const OWN_SIGNATURE = /"(?:Z2F0ZXdheQ|Z2F0ZXdheS1zdGF0|Y2FsbF9nd1)[^"]*"/g

const refuse = () => Promise.reject(new Error('Nothing is counted here.'))

function environmentOf(providerKind: string): TaskEnvironment {
  const route = { profileId: 'vendor', providerKind, upstreamModel: MODEL, slotKey: '' }
  return {
    settings: {
      routes: { aliases: new Map([[ALIAS, route]]) },
      providerOptions: {
        vendor: { messagesPath: '/m', countTokensPath: '/m/count', modelsPath: '/v1beta/models' }
      }
    },
    faces: providerFaces,
    decodeTokens: refuse,
    estimateTokens: refuse
  }
}

const kinds = { messages: 'messages_compatible', content: 'content_compatible' } as const

for (const protocol of ['messages', 'content'] as const) {
  const environment = environmentOf(kinds[protocol])
  const recorded = readRecordedRequests().filter(({ family, method }) => family === protocol && method === 'POST')
  t.ok(recorded.length > 5)
  for (const request of recorded) {
    t.test(`${request.name} passes`, async t => {
      const body = JSON.parse(JSON.stringify(request.body).replaceAll(OWN_SIGNATURE, '"RXFC"')) as JsonObject
      // Blanks and the form of numbers are those of the sender.
      const sent = JSON.stringify(protocol === 'messages' ? { ...body, model: ALIAS } : body, null, 1)
      const isStream = request.path.includes('stream')
      const context = { requestId: 'r', ...(protocol === 'content' && { path: { model: ALIAS, isStream } }) }
      const job = { protocol, apiMode: 'v1', bytes: Buffer.from(sent), context } as const
      const isCount = request.path.includes('count_tokens') || request.path.endsWith(':countTokens')
      const call = isCount ? (await translateTokenCount(job, environment)).call : translateChat(job, environment)
      const written = Buffer.from(joinBytes(call?.body ?? Buffer.alloc(0))).toString('utf8')
      t.ok(written === (protocol === 'messages' ? sent.replace(ALIAS, MODEL) : sent), 'the same bytes')
    })
  }
}
