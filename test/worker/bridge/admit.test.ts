import t from 'tap'
import { admitFeatures } from '../../../worker/bridge/admit-features.ts'
import { LeftOut } from '../../../worker/bridge/left-out.ts'
import {
  type JsonObject,
  type NormalizedRequest,
  type ProviderAcceptance,
  type RequestFeature,
  requestFeatures
} from '../../../worker/normalized/index.ts'
import { nativeV1Acceptance, nativeV2Acceptance } from '../../../worker/protocols/native/acceptance.ts'
import { fieldPaths, makeRequest } from '../protocols/native/support.ts'

const image = { type: 'image' as const, source: { kind: 'url' as const, url: 'https://a.test' }, path: 'messages[0].x' }
const file = { type: 'file' as const, source: { kind: 'file-id' as const, fileId: 'f' }, path: 'messages[0].y' }

/** For every feature: members of a request that uses it, and the field that its error names. */
const uses: Record<RequestFeature, readonly [Partial<NormalizedRequest>, string]> = {
  topK: [{ sampling: { topK: 1 } }, 'k'],
  seed: [{ sampling: { seed: 0 } }, 'seed'],
  presencePenalty: [{ sampling: { presencePenalty: -0.5 } }, 'presence_penalty'],
  frequencyPenalty: [{ sampling: { frequencyPenalty: 0.5 } }, 'frequency_penalty'],
  user: [{ user: '' }, 'user'],
  metadata: [{ metadata: {} }, 'metadata'],
  reasoningSummary: [{ reasoning: { summary: 'auto' } }, 'reasoning.summary'],
  additionalFields: [{ additionalFields: { a: 1 } }, 'extra_body'],
  uploadedFiles: [{ uploadedFileIds: ['f'] }, 'x-ids'],
  storedConversation: [{ conversation: { previousResponseId: 'resp_a', store: true } }, 'previous_response_id'],
  conversation: [{ conversation: { conversationId: 'c' } }, 'conversation'],
  hostedTools: [
    { tools: [{ type: 'hosted', kind: 'web_search', sentType: 'web_search', config: {}, path: 'tools[0].type' }] },
    'tools[0].type'
  ],
  images: [{ messages: [{ role: 'user', content: [file, image] }] }, 'messages[0].x'],
  files: [{ messages: [{ role: 'user', content: [file] }] }, 'messages[0].y']
}

const paths = {
  ...fieldPaths,
  topK: 'k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  user: 'user',
  metadata: 'metadata',
  additionalFields: 'extra_body',
  uploadedFiles: 'x-ids',
  conversation: 'conversation'
}

function accept(all: 'sent' | 'ignored' | 'refused', except: Partial<ProviderAcceptance['features']> = {}) {
  const features = Object.fromEntries(requestFeatures.map(feature => [feature, all]))
  return { features: { ...(features as ProviderAcceptance['features']), ...except } }
}

/** The fields that are left out. */
function admit(request: NormalizedRequest, acceptance: ProviderAcceptance, isRefused = false): readonly string[] {
  const leftOut = new LeftOut(isRefused)
  admitFeatures(request, acceptance, leftOut)
  return leftOut.list()
}

for (const feature of requestFeatures.filter(name => name !== 'hostedTools')) {
  t.test(`${feature} is sent, left out or refused with the client's field`, async t => {
    const [members, param] = uses[feature]
    const request = makeRequest({ fieldPaths: paths, ...members })
    t.strictSame(admit(request, accept('refused', { [feature]: 'sent', files: 'sent' })), [])
    t.strictSame(admit(request, accept('sent', { [feature]: 'ignored' })), [param])
    t.throws(() => admit(request, accept('sent', { [feature]: 'ignored' }), true), {
      code: 'unsupported_semantic',
      param
    })
    t.throws(() => admit(request, accept('sent', { [feature]: 'refused' })), {
      code: 'unsupported_semantic',
      status: 400,
      param
    })
  })
}

t.test('a request that uses no feature is admitted by a provider that refuses all features', async t => {
  t.strictSame(admit(makeRequest({ conversation: { store: false } }), accept('refused')), [])
  const sampling = { presencePenalty: 0, frequencyPenalty: 0 }
  t.strictSame(admit(makeRequest({ sampling }), accept('refused')), [])
})

t.test('additional fields that are null ask for nothing', async t => {
  const admitFields = (additionalFields: JsonObject) =>
    admit(makeRequest({ fieldPaths: paths, additionalFields }), accept('refused'))
  t.strictSame(admitFields({ a: null, b: null }), [])
  for (const value of [0, false, '', {}]) {
    t.throws(() => admitFields({ a: null, b: value }), { code: 'unsupported_semantic', param: 'extra_body' })
  }
})

t.test('the error for a feature without a field in the client protocol has no param', async t => {
  const request = makeRequest({ sampling: { topK: 1 } })
  t.throws(() => admit(request, accept('refused')), { code: 'unsupported_semantic', param: undefined })
})

t.test('native v1 refuses a stored conversation with its own message and v2 sends it (F4)', async t => {
  const message = 'The v1 contract of the upstream stores no conversations.'
  const continued = makeRequest({ conversation: { previousResponseId: 'resp_T', storedConversationId: 'T' } })
  const stored = makeRequest({ conversation: { store: true } })
  t.throws(() => admit(continued, nativeV1Acceptance), { param: 'previous_response_id', message, status: 400 })
  t.throws(() => admit(stored, nativeV1Acceptance), { param: 'store', message, status: 400 })
  for (const request of [continued, stored]) t.strictSame(admit(request, nativeV2Acceptance), [])
  const ignored = makeRequest({ fieldPaths: paths, conversation: { store: false, conversationId: 'c' } })
  for (const acceptance of [nativeV1Acceptance, nativeV2Acceptance]) {
    t.strictSame(admit(ignored, acceptance), ['conversation'], 'decisions.md 90')
  }
})

t.test('native lists the parameters of other vendors as ignored', async t => {
  const request = makeRequest({ fieldPaths: paths, sampling: { seed: 1, topK: 2, temperature: 1 }, user: 'u' })
  t.strictSame(admit(request, nativeV1Acceptance), ['k', 'seed', 'user'])
  t.strictSame(admit(request, nativeV2Acceptance), ['k', 'seed', 'user'])
})

t.test(
  'a hosted tool is left out beside a function, and refused where it is all that could be called (decisions.md 69)',
  async t => {
    const [members] = uses.hostedTools
    const search = members.tools?.[0] as NormalizedRequest['tools'][number]
    const lookup = { type: 'function' as const, name: 'f', parameters: {} }
    const unsupported = { type: 'unsupported' as const, sentType: 'x', definition: {}, path: 'tools[2].type' }
    const external = { ...accept('sent', { hostedTools: 'ignored' }), refusesLoss: true as const }
    const beside = makeRequest({ tools: [search, lookup, unsupported] })
    t.strictSame(admit(beside, external), ['tools[0]', 'tools[2]'])
    t.throws(() => admit(beside, external, true), { code: 'unsupported_semantic', param: 'tools[0].type' })
    t.throws(() => admit(makeRequest({ tools: [search] }), external), {
      code: 'unsupported_semantic',
      param: 'tools[0].type'
    })
    const forced = makeRequest({ tools: [search, lookup], toolChoice: { type: 'hosted', kind: 'web_search' } })
    t.throws(() => admit(forced, external), { code: 'unsupported_semantic', param: fieldPaths.toolChoice })
    const unwanted = makeRequest({ tools: [search], toolChoice: { type: 'none' } })
    t.strictSame(admit(unwanted, external), ['tools[0]'])
    t.strictSame(admit(beside, accept('sent')), ['tools[2]'], 'the wire has the tool')
    t.strictSame(admit(makeRequest({ tools: [search] }), nativeV1Acceptance), ['tools[0]'], 'specification.md 4.6')
  }
)
