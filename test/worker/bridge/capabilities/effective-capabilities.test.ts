import t from 'tap'
import { createNativeProfileSet } from '../../../../shared/profile/native-profile.ts'
import type { ProfileSet } from '../../../../shared/profile/profile.ts'
import { parseSettings } from '../../../../shared/settings.ts'
import { type CapabilityName, capabilityNames } from '../../../../shared/support/capabilities.ts'
import { createBlockedCell } from '../../../../shared/support/support-matrix.ts'
import { type PublicProtocol, publicProtocols } from '../../../../shared/support/support-vocabulary.ts'
import { describeCapabilityRoute, findModelRoute } from '../../../../worker/bridge/capabilities/capability-route.ts'
import { decideCapabilities } from '../../../../worker/bridge/capabilities/effective-capabilities.ts'
import { decideLayers } from '../../../../worker/bridge/capabilities/layers.ts'
import type { ApiMode } from '../../../../worker/protocols/provider-face.ts'
import { providerCapabilities } from '../../../../worker/protocols/registry.ts'
import { aliasOf, BASE_FEATURES, dynamicProfile, edgeProfile, fileOf } from '../../../support/profile-sets.ts'

const native = createNativeProfileSet(parseSettings({}))

interface Asked {
  model: string
  protocol?: PublicProtocol
  mode?: ApiMode
  profiles?: ProfileSet
}

function decideFor({ model, protocol = 'openai_responses', mode = 'v2', profiles = native }: Asked) {
  const route = findModelRoute(profiles, model)
  const described = describeCapabilityRoute({ model, publicProtocol: protocol, apiMode: mode }, route, {
    profiles,
    routes: {},
    capabilities: providerCapabilities
  })
  return decideCapabilities(described, { publicModel: model, providerKind: route.profile.providerKind })
}

/** The state of each named capability, with its source unless supported. */
function statesOf(asked: Asked, names: readonly CapabilityName[]): string[] {
  const { capabilities } = decideFor(asked)
  const states = names.map(name => {
    const { state, source } = capabilities[name]
    return state === 'supported' ? state : `${state} (${source})`
  })
  return [...new Set(states)]
}

const CHAT: CapabilityName[] = ['text_input', 'streaming', 'function_tools', 'usage_tokens']
const INPUTS: CapabilityName[] = ['file_input', 'image_input']
const HOSTED: CapabilityName[] = [
  'hosted_3d_generation',
  'hosted_code_interpreter',
  'hosted_image_generation',
  'hosted_url_extraction',
  'hosted_web_search'
]
const STATE: CapabilityName[] = ['previous_response_state', 'conversation_state']
const INVARIANT: CapabilityName[] = ['json_schema_output', 'reasoning_controls', 'cancellation', 'disconnect']

t.test('the native states for Responses are those of the published table', async t => {
  const max = 'GigaChat-2-Max'
  const pro = 'GigaChat-2-Pro'
  for (const [model, mode, names, expected] of [
    [max, 'v2', CHAT, 'supported'],
    [max, 'v1', CHAT, 'supported'],
    [pro, 'v2', CHAT, 'supported'],
    ['other', 'v2', CHAT, 'unknown (unresolved)'],
    [max, 'v2', INPUTS, 'supported'],
    [max, 'v1', INPUTS, 'supported'],
    [pro, 'v2', INPUTS, 'unknown (unresolved)'],
    [max, 'v2', [...HOSTED, ...STATE], 'supported'],
    [max, 'v1', [...HOSTED, ...STATE], 'unsupported (api_mode)'],
    [pro, 'v2', [...HOSTED, ...STATE], 'unknown (unresolved)'],
    [max, 'v2', ['parallel_tool_calls'], 'supported'],
    [max, 'v1', ['parallel_tool_calls'], 'unsupported (api_mode)'],
    [pro, 'v2', ['parallel_tool_calls'], 'unsupported (family_overlay)'],
    ['other', 'v2', ['parallel_tool_calls'], 'unsupported (family_overlay)'],
    ['GigaChat-3-Max', 'v2', ['parallel_tool_calls'], 'unsupported (family_overlay)'],
    ['other', 'v2', INVARIANT, 'supported'],
    [max, 'v1', INVARIANT, 'supported'],
    [max, 'v2', ['reasoning_summary'], 'unsupported (provider_adapter)'],
    ['GigaChat-2-Reasoning-x', 'v2', ['text_input', 'streaming', 'usage_tokens'], 'supported'],
    ['GigaChat-2-Reasoning', 'v2', ['function_tools'], 'unknown (unresolved)'],
    ['GigaChat-2-Reasoning-', 'v2', ['text_input'], 'unknown (unresolved)']
  ] as const) {
    t.same(statesOf({ model, mode }, names), [expected], `${model} ${mode} ${names[0]}`)
  }
})

t.test('a protocol loses only what it cannot express', async t => {
  const asked = { model: 'GigaChat-2-Max', mode: 'v2' } as const
  for (const protocol of publicProtocols) {
    const hasState = protocol === 'openai_responses'
    t.same(
      statesOf({ ...asked, protocol }, STATE),
      [hasState ? 'supported' : 'unsupported (public_protocol)'],
      protocol
    )
    t.same(statesOf({ ...asked, protocol }, ['parallel_tool_calls', ...CHAT, ...HOSTED, ...INPUTS]), ['supported'])
  }
})

t.test('reasons and evidence say which layer decided', async t => {
  const { capabilities } = decideFor({ model: 'GigaChat-2-Max' })
  t.match(capabilities.function_tools, {
    reasonId: 'all_layers_supported',
    source: 'effective_intersection',
    evidenceIds: ['CLIENT-OPENAI-RESPONSES', 'CONFORMANCE-BRIDGE', 'CONFORMANCE-RESPONSES', 'RECORDED-NATIVE-EXCHANGES']
  })
  t.equal(capabilities.reasoning_summary.reasonId, 'provider_adapter_blocks_capability')
  t.equal(decideFor({ model: 'other' }).capabilities.text_input.reasonId, 'unreviewed_model_capability')
  t.equal(decideFor({ model: 'other' }).capabilities.parallel_tool_calls.reasonId, 'model_blocks_capability')
})

const rich = aliasOf('edge/rich', 'mini', {
  features: [
    ...BASE_FEATURES,
    'function_tools',
    'tool_choice',
    'tool_results',
    'stream_deltas',
    'stream_terminal_events',
    'json_schema_output',
    'image_references',
    'parallel_tool_calls',
    'reasoning_effort',
    'file_inputs'
  ]
})
const poor = aliasOf('edge/poor', 'mini', { features: ['roles', 'function_tools', 'tool_choice', 'stream_deltas'] })
const edge = fileOf([edgeProfile([rich, poor])])

t.test('an external alias has what its profile declares, and what its wire carries', async t => {
  const declared: CapabilityName[] = [
    ...CHAT,
    'image_input',
    'json_schema_output',
    'parallel_tool_calls',
    'cancellation',
    'disconnect',
    // The features of decisions.md 74.
    'reasoning_controls',
    'file_input'
  ]
  t.same(statesOf({ model: 'edge/rich', profiles: edge }, declared), ['supported'])
  // What every request requires needs no word (decisions.md 88).
  const implied: CapabilityName[] = ['cancellation', 'disconnect', 'usage_tokens']
  const left = declared.filter(name => !implied.includes(name))
  t.same(statesOf({ model: 'edge/poor', profiles: edge }, left), ['unsupported (exact_model_overlay)'])
  t.same(statesOf({ model: 'edge/poor', profiles: edge }, implied), ['supported'])
  const lacking: CapabilityName[] = [...HOSTED, ...STATE, 'reasoning_summary']
  for (const model of ['edge/rich', 'edge/poor']) {
    t.same(statesOf({ model, profiles: edge }, lacking), ['unsupported (provider_adapter)'], model)
  }
  t.match(decideFor({ model: 'edge/poor', profiles: edge }).capabilities.streaming, {
    reasonId: 'profile_feature_absent',
    evidenceIds: [/^CLIENT-/, 'CONFORMANCE-BRIDGE', 'reviewed-v1']
  })
})

t.test(
  'the API mode has no effect on an external alias, and only the content protocol has no parallel toggle',
  async t => {
    for (const mode of ['v1', 'v2'] as const) {
      t.same(statesOf({ model: 'edge/rich', mode, profiles: edge }, ['parallel_tool_calls']), ['supported'])
    }
    t.same(
      statesOf({ model: 'edge/rich', protocol: 'gemini_generate_content', profiles: edge }, ['parallel_tool_calls']),
      ['unsupported (public_protocol)']
    )
  }
)

t.test('a route that its alias or its schema blocks supports nothing', async t => {
  const blocked = aliasOf('edge/blocked', 'mini', {
    features: rich.capabilities?.features ?? [],
    supportStatus: 'blocked'
  })
  const native = dynamicProfile('https://up.example', [
    aliasOf('team/x', 'GigaChat-2-Max', { supportStatus: 'blocked' })
  ])
  const old = fileOf([edgeProfile([aliasOf('edge/old', 'mini')])], { schemaVersion: 'gateway.provider-profiles.v2' })
  for (const [model, profiles] of [
    ['edge/blocked', fileOf([edgeProfile([blocked])])],
    ['team/x', fileOf([native])],
    ['edge/old', old]
  ] as const) {
    t.same(statesOf({ model, profiles }, capabilityNames), ['unsupported (route_policy)'], model)
    t.equal(decideFor({ model, profiles }).capabilities.text_input.reasonId, 'route_policy_blocks_capability')
  }
})

t.test(
  'an alias of messages_compatible has what its profile declares, and a blocked cell leaves nothing of it',
  async t => {
    const features = [...BASE_FEATURES, 'function_tools', 'tool_choice', 'tool_results', 'image_references']
    const profiles = fileOf([
      edgeProfile([aliasOf('vendor/x', 'x', { features })], {
        profileId: 'vendor',
        providerKind: 'messages_compatible'
      })
    ])
    const asked = { model: 'vendor/x', profiles }
    t.same(statesOf(asked, ['text_input', 'function_tools', 'image_input', 'usage_tokens']), ['supported'])
    t.same(statesOf(asked, ['json_schema_output', 'streaming', 'file_input', 'reasoning_controls']), [
      'unsupported (exact_model_overlay)'
    ])
    t.same(statesOf(asked, HOSTED), ['unsupported (provider_adapter)'])
    const described = describeCapabilityRoute(
      { model: 'vendor/x', publicProtocol: 'openai_responses', apiMode: 'v2' },
      findModelRoute(profiles, 'vendor/x'),
      { profiles, routes: {}, capabilities: providerCapabilities }
    )
    const cell = createBlockedCell('openai_responses', 'messages_compatible')
    for (const name of capabilityNames) {
      t.match(decideLayers(name, { ...described, cell }).route_policy, { reasonId: 'route_policy_blocks_capability' })
    }
  }
)

t.test('the wire of a chat_compatible profile tells what its adapter has (decisions.md 86)', async t => {
  const statesOn = (wire: 'responses' | 'chat_completions', names: CapabilityName[]) => {
    const vendor = edgeProfile([aliasOf('vendor/x', 'x', { features: BASE_FEATURES })], { profileId: 'vendor', wire })
    return statesOf({ model: 'vendor/x', profiles: fileOf([vendor]) }, names)
  }
  const hosted: CapabilityName[] = ['hosted_web_search', 'hosted_code_interpreter', 'hosted_image_generation']
  t.same(statesOn('chat_completions', [...hosted, ...STATE]), ['unsupported (provider_adapter)'])
  // The wire has them; what the model makes of them is not declared.
  t.same(statesOn('responses', [...hosted, ...STATE]), ['unknown (unresolved)'])
  t.same(statesOn('responses', ['hosted_3d_generation', 'hosted_url_extraction']), ['unsupported (provider_adapter)'])
})

t.test('a native alias has the capabilities of the model that it stands for', async t => {
  const profiles = fileOf([dynamicProfile('https://up.example', [aliasOf('team/large', 'GigaChat-2-Max')])])
  t.same(statesOf({ model: 'team/large', profiles }, [...CHAT, ...HOSTED]), ['supported'])
})

t.test('a label that is no evidence id is left out of the evidence', async t => {
  const profiles = fileOf([
    edgeProfile([aliasOf('a', 'b', { features: BASE_FEATURES, capabilityProfile: 'проверено' })])
  ])
  t.notOk(decideFor({ model: 'a', profiles }).capabilities.text_input.evidenceIds.includes('проверено'))
})

t.test('disabled and unknown models have their reasons', async t => {
  const profiles = fileOf([edgeProfile([aliasOf('off', 'x', { enabled: false })])])
  t.throws(() => decideFor({ model: 'off', profiles }), { code: 'unknown_model_alias', reason: 'alias_disabled' })
  t.throws(() => decideFor({ model: 'Edge/rich', profiles: edge }), {
    code: 'unknown_model_alias',
    reason: 'model_not_found'
  })
})

t.test(
  'the capability revision changes with model, protocol, mode and declared features, and with nothing else',
  async t => {
    const revisionOf = (asked: Asked) => decideFor(asked).capabilityRevision
    const asked = { model: 'edge/rich', profiles: edge } as const
    const same = revisionOf(asked)
    t.equal(revisionOf(asked), same)
    const features = rich.capabilities?.features ?? []
    for (const [changed, changes] of [
      [true, { features: features.slice(0, -1) }],
      [true, { features, supportStatus: 'blocked' }],
      [false, { features, deprecated: true }],
      [false, { features: features.toReversed() }],
      [false, { features, upstreamModel: 'other' }],
      [false, { features, limits: { contextWindow: 8 } }]
    ] as const) {
      const profiles = fileOf([edgeProfile([aliasOf('edge/rich', 'mini', changes)])])
      t.equal(revisionOf({ ...asked, profiles }) !== same, changed, JSON.stringify(changes).slice(0, 60))
    }
    t.not(revisionOf({ ...asked, mode: 'v1' }), same)
    t.not(revisionOf({ ...asked, protocol: 'anthropic_messages' }), same)
    t.not(revisionOf({ ...asked, model: 'edge/poor' }), same)
  }
)
