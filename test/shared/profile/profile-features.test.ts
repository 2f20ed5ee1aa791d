import t from 'tap'
import { BASE_FEATURES, FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import {
  expandFeatures,
  FEATURE_PRESETS,
  findIdleRemoval,
  PRESET_NAMES,
  REMOVABLE_FEATURES
} from '../../../shared/profile/profile-features.ts'

const withBase = (...features: string[]) => [...BASE_FEATURES, ...features].sort()
const CHAT = [
  ...['text', 'generation_controls', 'function_tools', 'tool_choice', 'parallel_tool_calls', 'tool_results'],
  ...['json_schema_output', 'stream_deltas', 'stream_terminal_events']
]

t.test('providers 13: each preset stands for its list, and what every request requires is implied', async t => {
  t.same(PRESET_NAMES, ['chat', 'chat_vision', 'reasoning', 'reasoning_vision', 'embeddings'])
  t.same(expandFeatures(['chat']), withBase(...CHAT))
  t.same(expandFeatures(['chat_vision']), withBase(...CHAT, 'image_references'))
  t.same(expandFeatures(['reasoning']), withBase(...CHAT, 'reasoning_effort'))
  t.same(expandFeatures(['reasoning_vision']), withBase(...CHAT, 'image_references', 'reasoning_effort'))
  t.same(expandFeatures(['embeddings']), withBase('text'))
  t.same(expandFeatures([]), withBase())
})

t.test('presets and features add up, whatever their order, and each feature is named once', async t => {
  t.same(expandFeatures(['logprobs', 'chat', 'text']), withBase(...CHAT, 'logprobs'))
  t.same(expandFeatures(['embeddings', 'chat']), expandFeatures(['chat']))
  t.same(expandFeatures(FEATURE_NAMES), [...FEATURE_NAMES].sort())
  t.same(expandFeatures(expandFeatures(['reasoning'])), expandFeatures(['reasoning']), 'an expanded list stays')
})

t.test('providers 13: -name takes one feature away from a preset, and nothing that every request requires', async t => {
  const expected = withBase(...CHAT.filter(feature => feature !== 'parallel_tool_calls'))
  t.same(expandFeatures(['chat', '-parallel_tool_calls']), expected)
  t.same(expandFeatures(['-parallel_tool_calls', 'chat']), expected, 'revisions sort the words')
  t.same(expandFeatures(['chat', '-roles']), expandFeatures(['chat']))
  for (const feature of BASE_FEATURES) t.notOk(REMOVABLE_FEATURES.includes(feature))
})

t.test('a removal without an effect is found: its preset lacks the feature, or the list names it as well', async t => {
  t.equal(findIdleRemoval(['chat', '-text']), undefined)
  t.equal(findIdleRemoval(['-text', 'chat']), undefined)
  t.equal(findIdleRemoval(['chat', '-image_references']), 1)
  t.equal(findIdleRemoval(['-text', 'text']), 0)
  t.equal(findIdleRemoval(['chat', 'text', '-text']), 2)
  t.equal(findIdleRemoval(Object.keys(FEATURE_PRESETS)), undefined)
})

t.test('words that no file can hold stand for nothing', async t => {
  t.same(expandFeatures(['vision', '-vision', 'constructor', '-', '--text', 'chat ']), withBase())
})
