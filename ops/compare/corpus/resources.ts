// Everything beside chat: embeddings, token counts, models and model infos.

import type { CaseRequest, CompareCase } from '../types.ts'
import { createCase, versions } from './families.ts'

const ANTHROPIC = { 'anthropic-version': '2023-06-01' }
const GOOGLE = { 'x-goog-api-key': 'unused' }

const embeddings: object[] = [
  { model: 'Embeddings', input: 'text' },
  { model: 'Embeddings', input: ['a', 'b', 'ё'] },
  { input: 'text', encoding_format: 'base64', dimensions: 5, user: 'u' },
  { model: 'EmbeddingsGigaR', input: 'x', extra_body: { a: 1 }, unknown: 2 },
  { model: 'Embeddings', input: [[1, 2, 3], [4]] },
  { model: 'Embeddings', input: [1, 2, 3] },
  { model: 'Embeddings', input: [] },
  { model: 'Embeddings', input: '' },
  { model: 'Embeddings', input: 5 },
  { model: 'Embeddings' },
  { model: 5, input: 'x' },
  { model: 'NonExistent', input: 'x' }
]

const counts: object[] = [
  { model: 'GigaChat-2', messages: [{ role: 'user', content: 'How many tokens is this?' }] },
  {
    model: 'GigaChat-2',
    system: 'be',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
    tools: [{ name: 'f', input_schema: { type: 'object' } }]
  },
  { messages: [{ role: 'user', content: 'x' }] },
  { model: 'NonExistent', messages: [{ role: 'user', content: 'x' }] },
  { model: 'GigaChat-2', messages: [] },
  { model: 'GigaChat-2' }
]

const contentOperations: Array<[operation: string, body: object]> = [
  ['countTokens', { contents: [{ role: 'user', parts: [{ text: 'How many?' }] }] }],
  ['countTokens', { generateContentRequest: { model: 'models/GigaChat-2', contents: [{ parts: [{ text: 'x' }] }] } }],
  ['countTokens', {}],
  ['embedContent', { content: { parts: [{ text: 'embed' }] }, taskType: 'RETRIEVAL_QUERY', outputDimensionality: 3 }],
  ['embedContent', {}],
  [
    'batchEmbedContents',
    { requests: [{ content: { parts: [{ text: 'a' }] } }, { content: { parts: [{ text: 'b' }] } }] }
  ],
  ['batchEmbedContents', { requests: [] }],
  ['predict', {}],
  ['generateContent', { contents: 'x' }]
]

const reads: Array<[path: string, headers?: Record<string, string>]> = [
  ...['/models', '/v1/models', '/v2/models', '/v1/models/', '/v2/v1beta/models', '/x/models'].map(
    path => [path] as [string]
  ),
  ['/v1/models?limit=1', ANTHROPIC],
  ['/v1/models?limit=2&after_id=GigaChat-2', ANTHROPIC],
  ['/v1/models?limit=x', ANTHROPIC],
  ['/v1beta/models', GOOGLE],
  ['/v1beta/models?pageSize=2', GOOGLE],
  ['/v1beta/models?pageSize=2&pageToken=2', GOOGLE],
  ['/v1beta/models?pageSize=x', GOOGLE],
  ['/v1/models?refresh=1'],
  ...['GigaChat-2', 'GigaChat-2-Max', 'Embeddings', 'NonExistent', 'a%2Fb', '%zz'].flatMap(
    (id): Array<[string, Record<string, string>?]> => [
      [`/v1/models/${id}`],
      [`/v1/models/${id}`, ANTHROPIC],
      [`/v1beta/models/${id}`, GOOGLE],
      [`/model/info?model=${id}`],
      [`/v1/model/info?litellm_model_id=${id}`]
    ]
  ),
  ['/model/info'],
  ['/v1/model/info'],
  ['/v2/model/info']
]

/** The same request while the upstream's own endpoint fails. */
function createFailure(name: string, path: string, status: number, request: CaseRequest): CompareCase {
  return {
    name: `${name} while the upstream responds ${status}`,
    async run({ upstream, send }) {
      upstream.failNext({ path, status, times: 1, message: 'out of order' })
      await send(request)
    }
  }
}

const FAILED_STATUSES = [0, 400, 401, 403, 404, 413, 429, 500, 503]

export function createResourceCases(): CompareCase[] {
  const post = (path: string, body: object): CompareCase =>
    createCase(`${path} ${JSON.stringify(body).slice(0, 100)}`, { path, body })
  return [
    ...versions.flatMap(version => [
      ...embeddings.map(body => post(`/${version}/embeddings`, body)),
      ...counts.map(body => post(`/${version}/messages/count_tokens`, body)),
      ...contentOperations.flatMap(([operation, body]) =>
        ['GigaChat-2', 'Embeddings', 'NonExistent'].map(name =>
          post(`/${version}/v1beta/models/${name}:${operation}`, body)
        )
      )
    ]),
    ...reads.map(([path, headers]) =>
      createCase(`GET ${path} ${Object.keys(headers ?? {})}`, { path, ...(headers === undefined ? {} : { headers }) })
    ),
    ...FAILED_STATUSES.flatMap(status => [
      createFailure('embeddings', '/embeddings', status, {
        path: '/v1/embeddings',
        body: { model: 'Embeddings', input: `x ${status}` }
      }),
      createFailure('token count', '/tokens/count', status, {
        path: '/v1/messages/count_tokens',
        body: counts[0] ?? {}
      }),
      createFailure('token count of content', '/tokens/count', status, {
        path: '/v1beta/models/GigaChat-2:countTokens',
        body: { contents: [{ parts: [{ text: 'x' }] }] }
      }),
      createFailure('refreshed models', '/models', status, { path: '/v1/models?refresh=1' }),
      createFailure('refreshed models of Google', '/models', status, {
        path: '/v1beta/models?refresh=1',
        headers: GOOGLE
      })
    ])
  ]
}
