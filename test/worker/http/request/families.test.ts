import t from 'tap'
import { createFamilyFinder, detectModelsFamily } from '../../../../worker/http/request/families.ts'
import { operations } from '../../../../worker/operations/table.ts'

const familyOfPath = createFamilyFinder(operations)

t.test('the shared model lists take the family that the headers of the client show (bridge.md 6.3)', async t => {
  const cases: Array<[headers: Record<string, string>, query: Record<string, string>, family: string]> = [
    [{}, {}, 'completions'],
    [{ 'user-agent': 'OpenAI/JS 6.49' }, {}, 'completions'],
    [{ 'anthropic-version': '2023-06-01' }, {}, 'messages'],
    [{ 'anthropic-beta': 'x' }, {}, 'messages'],
    [{ 'user-agent': 'Anthropic/JS 1.11.0' }, {}, 'messages'],
    [{ 'anthropic-version': '2026-10-21', 'x-goog-api-client': 'google-genai-sdk/2.32.0' }, { key: 'k' }, 'messages'],
    [{ 'x-goog-api-client': 'google-genai-sdk/2.32.0 gl-node/24' }, {}, 'content'],
    [{ 'x-goog-api-key': 'k' }, {}, 'content'],
    [{ 'x-goog-user-project': 'p' }, {}, 'content'],
    [{}, { key: 'k' }, 'content'],
    [{}, { 'x-api-key': 'k' }, 'completions'],
    [{ 'user-agent': 'my google-generative-ai app' }, {}, 'content'],
    [{ 'user-agent': 'google-genai-sdk/1' }, {}, 'content'],
    [{ 'user-agent': 'GenAI/1' }, {}, 'content'],
    [{ 'user-agent': 'not-genai/1' }, {}, 'completions']
  ]
  for (const [headers, query, family] of cases) {
    t.equal(detectModelsFamily(headers, query), family, JSON.stringify([headers, query]))
  }
})

t.test('an unknown path has a family for its error (operations.md 1.1)', async t => {
  const cases: Array<[path: string, family: string]> = [
    ['/v1/messages/nope', 'messages'],
    ['/messages', 'messages'],
    ['/v2/messages/batches', 'messages'],
    ['/v1beta/nope', 'content'],
    ['/v1/v1beta/files', 'content'],
    ['/models/x:generateContent', 'content'],
    ['/v2/models/a/b:countTokens', 'content'],
    ['/v1/models', 'completions'],
    ['/v1/models/x/y', 'completions'],
    ['/chat/nope', 'completions'],
    ['/completions', 'completions'],
    ['/responses/resp_1', 'completions'],
    ['/embeddings', 'completions'],
    ['/files', 'completions'],
    ['/batches', 'completions'],
    ['/model/info', 'completions'],
    ['/v1/nope', 'completions'],
    ['/v2/audio/speech', 'completions'],
    ['/v1', 'completions'],
    // decisions.md 109: an operation of the content family behind any path.
    ['/v1/nope/models/x:generateContent', 'content'],
    ['/v1/chat/x:streamGenerateContent', 'content'],
    ['/nope/x:embedContent', 'content'],
    ['/v3/models/x:batchEmbedContents', 'content'],
    ['/nope/x:nope', 'system'],
    ['/openai/deployments/m/nope', 'completions'],
    ['/', 'system'],
    ['/nope', 'system'],
    ['/health/', 'system'],
    ['/_admin/logs/models', 'system'],
    ['/bridge/nope', 'system']
  ]
  for (const [path, family] of cases) t.equal(familyOfPath(path, {}, {}), family, path)
  t.equal(familyOfPath('/v1/models/x/y', { 'anthropic-version': '1' }, {}), 'messages')
  t.equal(familyOfPath('/models', {}, { key: 'k' }), 'content')
})
