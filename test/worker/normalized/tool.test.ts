import t from 'tap'
import { flattenToolName, type NormalizedTool, selectCallableTools } from '../../../worker/normalized/index.ts'

const tools: NormalizedTool[] = [
  { type: 'function', name: 'a', parameters: {} },
  { type: 'hosted', kind: 'web_search', sentType: 'web_search_preview', config: { first: true } },
  { type: 'function', name: 'a', parameters: { other: true } },
  { type: 'function', name: 'b', namespace: 'n', parameters: {} },
  { type: 'hosted', kind: 'web_search', sentType: 'web_search', config: {} },
  { type: 'hosted', kind: 'code_interpreter', sentType: 'code_interpreter', config: {} },
  { type: 'unsupported', sentType: 'mcp', definition: {} }
]

function names(choice: Parameters<typeof selectCallableTools>[1]): string[] {
  const { functions, hosted } = selectCallableTools(tools, choice)
  return [...functions.map(flattenToolName), ...hosted.map(tool => tool.kind)]
}

t.test('duplicates are dropped, the first wins, and tools of unknown kinds are left out', async t => {
  t.same(names({ type: 'auto' }), ['a', 'n__b', 'web_search', 'code_interpreter'])
  const callable = selectCallableTools(tools, { type: 'required' })
  t.same(callable.functions[0]?.parameters, {})
  t.same(callable.hosted[0]?.config, { first: true })
})

t.test('the choice none leaves no tool at all', async t => {
  t.same(names({ type: 'none' }), [])
})

t.test('an allow-list keeps the named functions, and of the hosted tools those of its kinds', async t => {
  t.same(names({ type: 'allowed', mode: 'auto', names: ['n__b'] }), ['n__b', 'web_search', 'code_interpreter'])
  t.same(names({ type: 'allowed', mode: 'required', names: ['a', 'x'], kinds: ['code_interpreter'] }), [
    'a',
    'code_interpreter'
  ])
  t.same(names({ type: 'allowed', mode: 'auto', names: [], kinds: [] }), [])
})

t.test('a name in a namespace is flattened without doubling the separator', async t => {
  t.equal(flattenToolName({ name: 'f' }), 'f')
  t.equal(flattenToolName({ name: 'f', namespace: 'n' }), 'n__f')
  t.equal(flattenToolName({ name: 'f', namespace: 'n__' }), 'n__f')
})
