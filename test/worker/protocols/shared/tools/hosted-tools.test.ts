import t from 'tap'
import { findHostedToolKind, readHostedTool } from '../../../../../worker/protocols/shared/tools/hosted-tools.ts'

t.test('every usual word for a hosted tool is recognised, in any letter case', async t => {
  const words = {
    web_search: [
      'web_search',
      'web_search_preview',
      'web_search_preview_2025_03_11',
      'web_search_20250305',
      'WEB_SEARCH',
      'webSearch',
      'webSearchPreview',
      'google_search',
      'googleSearch',
      'googleSearchRetrieval',
      'google_search_retrieval'
    ],
    code_interpreter: [
      'code_interpreter',
      'codeInterpreter',
      'code_execution',
      'code_execution_20250522',
      'codeExecution'
    ],
    image_generate: ['image_generation', 'image_generate', 'imageGeneration'],
    url_content_extraction: [
      'url_content_extraction',
      'urlContentExtraction',
      'web_fetch',
      'web_fetch_20250910',
      'url_context',
      'URLContext'
    ],
    model_3d_generate: ['model_3d_generate', 'model3dGenerate']
  }
  for (const [kind, names] of Object.entries(words)) {
    for (const name of names) t.equal(findHostedToolKind(name), kind, name)
  }
})

t.test('other words are no hosted tool', async t => {
  for (const word of [
    '',
    'function',
    'custom',
    'mcp',
    'web_searcher',
    'search',
    'code',
    'file_search',
    'constructor'
  ]) {
    t.equal(findHostedToolKind(word), undefined, word)
  }
})

t.test(
  'the configuration under the word of the client wins over the one under the kind, and that over members beside them',
  async t => {
    const definition = {
      type: 'web_search_preview',
      name: 'n',
      description: 'd',
      parameters: {},
      web_search: { type: 'a', indexes: ['kind'], only_kind: 1 },
      web_search_preview: { indexes: ['alias'] },
      indexes: ['beside'],
      flags: ['f']
    }
    t.strictSame(readHostedTool(definition, { sentType: 'web_search_preview', kind: 'web_search', path: 'tools[0]' }), {
      type: 'hosted',
      kind: 'web_search',
      sentType: 'web_search_preview',
      config: { type: 'a', indexes: ['alias'], only_kind: 1, flags: ['f'] }
    })
  }
)

t.test('a name that would reach a prototype stays a member of the configuration', async t => {
  const tool = readHostedTool(JSON.parse('{"type":"web_search","__proto__":{"a":1}}'), {
    sentType: 'web_search',
    kind: 'web_search',
    path: 'tools[0]'
  })
  t.equal(tool.config.a, undefined)
  t.equal(JSON.stringify(tool.config), '{"__proto__":{"a":1}}')
})
