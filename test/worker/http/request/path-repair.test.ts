import t from 'tap'
import { createPathRepair } from '../../../../worker/http/request/path-repair.ts'
import { operations } from '../../../../worker/operations/table.ts'
import * as fc from '../../../support/properties.ts'

const repairPath = createPathRepair({ operations, metricsPath: '/metrics' })

const table: Array<[target: string, repaired: string]> = [
  // operations.md 3.2
  ['/api/v1/chat/completions', '/v1/chat/completions'],
  ['/anthropic/v1/messages/count_tokens', '/v1/messages/count_tokens'],
  ['/v1/v1/models', '/v1/models'],
  ['/a/v1/v1/v1/chat', '/v1/chat'],
  ['/v2/v1/messages', '/v2/messages'],
  ['/v2/v1/v1beta/models', '/v2/v1beta/models'],
  ['/v1/v1beta/models/x:generateContent', '/v1/v1beta/models/x:generateContent'],
  ['/v1/models/', '/v1/models'],
  ['/v2/v1/x', '/v2/v1/x'],
  ['/api/chat/completions/', '/chat/completions'],
  ['/a/health', '/health'],
  ['/x/logs', '/x/logs'],
  ['/docs', '/docs'],
  ['/metrics', '/metrics'],
  ['/_debug/translate', '/_debug/translate'],
  ['/debug/explain/responses', '/debug/explain/responses'],
  ['/debug/v1/responses', '/v1/responses'],
  ['/_admin/logs/models', '/_admin/logs/models'],
  // completions.md 1.1
  ['/foo/bar/chat/completions', '/chat/completions'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/v2/v1/chat/completions', '/v2/chat/completions'],
  ['/v1/v2/chat/completions', '/v1/v2/chat/completions'],
  ['/v1/chat/completions/', '/v1/chat/completions'],
  // decisions.md 58: the segment behind the first version is any word.
  ['/v2/openai/v1/chat/completions', '/v2/chat/completions'],
  ['/v1/openai/v1/chat/completions', '/v1/chat/completions'],
  ['/v2/anthropic/v1/messages/count_tokens', '/v2/messages/count_tokens'],
  ['/v2/a/b/v1/models', '/v2/models'],
  ['/v2/google/v1beta/models/x:generateContent', '/v2/v1beta/models/x:generateContent'],
  ['/v1beta/v1beta/models/x:generateContent', '/v1beta/models/x:generateContent'],
  ['/gateway/v2/openai/v1/responses/', '/v2/responses'],
  ['/v2/openai/v1/nope', '/v2/openai/v1/nope'],
  ['/v1/openai/v2/chat/completions', '/v1/openai/v2/chat/completions'],
  ['/v1/openai/chat/completions', '/v1/openai/chat/completions'],
  ['/v1/models/openai/v1/gpt', '/v1/models/openai/v1/gpt'],
  // decisions.md 109: `v1alpha` is another name of `v1beta`.
  ['/v1/v1alpha/models/x:generateContent', '/v1/v1beta/models/x:generateContent'],
  ['/v2/v1alpha/models/x:generateContent', '/v2/v1beta/models/x:generateContent'],
  ['/v1alpha/models', '/v1beta/models'],
  ['/api/v1alpha/models/', '/v1beta/models'],
  ['/v2/google/v1alpha/models/x:countTokens', '/v2/v1beta/models/x:countTokens'],
  ['/v1/models/v1alpha', '/v1/models/v1alpha'],
  ['/models/v1alpha/models', '/models/v1alpha/models'],
  // decisions.md 110
  ['/openai/deployments/m/chat/completions?api-version=1', '/openai/deployments/m/chat/completions?api-version=1'],
  ['/v1/openai/deployments/m/chat/completions', '/v1/openai/deployments/m/chat/completions'],
  ['/v2/openai/deployments/m/embeddings/', '/v2/openai/deployments/m/embeddings'],
  ['/proxy/openai/deployments/m/chat/completions', '/openai/deployments/m/chat/completions'],
  ['/v1/v1/openai/deployments/chat/chat/completions', '/v1/openai/deployments/chat/chat/completions'],
  ['/v1/openai/deployments/r/chat/chat/completions', '/v1/openai/deployments/r%2Fchat/chat/completions'],
  ['/openai/deployments/a/b/c/embeddings?x=1', '/openai/deployments/a%2Fb%2Fc/embeddings?x=1'],
  ['/openai/v1/responses', '/v1/responses'],
  // The rest of the rules.
  ['/v2/v2/models', '/v2/models'],
  ['/v2/v1/v1/models', '/v2/models'],
  ['/v2/v1beta/models', '/v2/v1beta/models'],
  ['/v1//models', '/v1//models'],
  ['/v1//models/', '/v1/models'],
  ['/api//v1//models', '/v1/models'],
  ['/health/', '/health/'],
  ['/ready/', '/ready/'],
  ['/api/health/', '/health'],
  ['/_debug/v1/models', '/_debug/v1/models'],
  ['/logs/models', '/logs/models'],
  ['/docs/models', '/docs/models'],
  ['/redoc/models', '/redoc/models'],
  ['/openapi.json/models', '/openapi.json/models'],
  ['/metrics/models', '/metrics/models'],
  ['/v1/models/team/models', '/v1/models/team/models'],
  ['/v1/models/team%2Flarge', '/v1/models/team%2Flarge'],
  ['/', '/'],
  ['//', '//'],
  ['', ''],
  ['*', '*'],
  ['/api/v1/models?key=a/v2/v1&x=%2F', '/v1/models?key=a/v2/v1&x=%2F'],
  ['/v1/models/?refresh=1', '/v1/models?refresh=1'],
  ['/?v1/models', '/?v1/models'],
  ['http://gateway.example/api/v1/models?a=b', '/v1/models?a=b'],
  ['http://models/health', '/health'],
  ['http://gateway.example', '/'],
  ['http://gateway.example?a=b', '/?a=b']
]

for (const [target, repaired] of table) {
  t.equal(repairPath(target), repaired, `${target} is routed as ${repaired}`)
}

t.test('a metrics path of several segments is not changed, also when it contains a root', async t => {
  const repairDeep = createPathRepair({ operations, metricsPath: '/internal/v1/metrics' })
  t.equal(repairDeep('/internal/v1/metrics'), '/internal/v1/metrics')
  t.equal(repairDeep('/internal/v1/metrics?x=1'), '/internal/v1/metrics?x=1')
  t.equal(repairDeep('/internal/v1/models'), '/v1/models')
})

t.test('an operation may be found by two segments, while the first of them alone is a foreign prefix', async t => {
  const [first] = operations
  const deployed = { ...first, path: '/openai/deployments/{model}/chat/completions', root: 'openai/deployments' }
  const repair = createPathRepair({ operations: [...operations, deployed], metricsPath: '/metrics' })
  for (const [target, repaired] of [
    ['/openai/deployments/m/chat/completions', '/openai/deployments/m/chat/completions'],
    ['/v2/openai/deployments/m/chat/completions/', '/v2/openai/deployments/m/chat/completions'],
    ['/proxy/v1/openai/deployments/m/chat/completions', '/v1/openai/deployments/m/chat/completions'],
    ['/v2/openai/v1/chat/completions', '/v2/chat/completions'],
    ['/openai/v1/embeddings', '/v1/embeddings']
  ] as const) {
    t.equal(repair(target), repaired, target)
  }
})

const segment = fc.constantFrom(
  'v1',
  'v2',
  'v1beta',
  'chat',
  'models',
  'health',
  'ready',
  'bridge',
  '_admin',
  'logs',
  'metrics',
  'x',
  'x:generateContent',
  ''
)
const path = fc.array(segment, { maxLength: 8 }).map(segments => `/${segments.join('/')}`)

t.test('repairing a repaired target changes nothing', async () => {
  fc.assert(
    fc.property(path, target => {
      const once = repairPath(target)
      return repairPath(once) === once
    })
  )
})

t.test('the query is kept byte for byte', async () => {
  fc.assert(
    fc.property(path, fc.string({ unit: 'binary-ascii' }), (target, query) => {
      const repaired = repairPath(`${target}?${query}`)
      return repaired === `${repairPath(target)}?${query}`
    })
  )
})

t.test('no text raises an exception', async () => {
  fc.assert(fc.property(fc.string(), target => typeof repairPath(target) === 'string'))
})
