import Fastify from 'fastify'
import t from 'tap'
import { systemClock } from '../../../shared/clock.ts'
import { deriveCompactionKey } from '../../../shared/compaction-key.ts'
import { isFixedPath } from '../../../shared/fixed-paths.ts'
import { createKeyRing } from '../../../shared/keys/key-ring.ts'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { findUndescribed } from '../../../worker/docs/document.ts'
import { type MountedRoute, readMountedRoute } from '../../../worker/docs/mounted-routes.ts'
import { createDrainGate } from '../../../worker/http/drain-gate.ts'
import { systemTraits } from '../../../worker/http/request/route-traits.ts'
import { operations } from '../../../worker/operations/table.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { describeGateway } from '../../../worker/routes/docs.ts'
import { registerRoutes } from '../../../worker/routes/index.ts'
import { servedOperations } from '../../../worker/routes/operation-handlers.ts'
import type { WorkerRuntime } from '../../../worker/routes/worker-runtime.ts'
import { mountOperation } from '../../support/operations.ts'

const options = { metricsPath: '/metrics' }

t.test('every route that any setting mounts has a description', async t => {
  const settings = parseSettings({
    GATEWAY_ADMIN_API_ENABLED: 'True',
    GATEWAY_DEBUG_TRANSLATE_ENABLED: 'True',
    GATEWAY_METRICS_ENABLED: 'True'
  })
  const revision = `sha256:${'c'.repeat(64)}`
  // Routes are only mounted here, so the parts that their handlers use are not needed.
  const runtime = {
    settings,
    operations,
    faces: providerFaces,
    profiles: createNativeProfileSet(settings),
    compactionKey: deriveCompactionKey(settings),
    revisions: { config: revision, matrix: revision },
    version: '0.0.0',
    clock: systemClock,
    drainGate: createDrainGate(),
    keyRing: createKeyRing(settings),
    control: {},
    routes: { aliases: new Map() },
    metrics: {}
  } as unknown as WorkerRuntime
  const app = Fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  const routes: MountedRoute[] = []
  const plainPaths: string[] = []
  app.addHook('onRoute', route => {
    routes.push(...readMountedRoute(route, settings))
    if ([route.method].flat().includes('GET') && !/[:*]/.test(route.url)) plainPaths.push(route.url)
  })
  await registerRoutes(app, runtime, servedOperations.createHandlers)
  t.ok(routes.length > 60, `${routes.length} routes`)
  t.ok(routes.some(({ template }) => template === '/_debug/translate'))
  t.ok(routes.some(({ template }) => template === '/_admin/logs'))
  t.same(findUndescribed({ ...describeGateway(runtime), routes }), [])
  t.same(
    plainPaths.filter(path => !isFixedPath(path)),
    ['/metrics'],
    'a start knows which paths are taken'
  )
})

t.test('a mounted route is read with its prefix apart, once for each operation that its method serves', async t => {
  const app = Fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  const routes: MountedRoute[] = []
  app.addHook('onRoute', route => {
    routes.push(...readMountedRoute(route, options))
  })
  mountOperation(app, {
    method: 'POST',
    path: '/models/{model+}:count',
    prefixes: ['/v2/v1beta'],
    family: 'content',
    isModelRequest: true,
    handler: () => undefined
  })
  t.match(routes, [
    { method: 'post', prefix: '/v2/v1beta', path: '/models/{model}:count', template: '/v2/v1beta/models/{model}:count' }
  ])
  for (const template of ['/v1', '/v1betas/x', '/api/v1/x', '/messages']) {
    const read = readMountedRoute(
      { method: ['GET', 'HEAD', 'POST'], config: { traits: systemTraits(template) } },
      options
    )
    t.match(read, [
      { method: 'get', prefix: '', path: template },
      { method: 'post', prefix: '', path: template }
    ])
  }
})

t.test('the root, the metrics, the documentation itself and routes without traits are not listed', async t => {
  for (const template of ['/', '/metrics', '/docs', '/docs/start.js', '/redoc', '/openapi.json']) {
    t.same(readMountedRoute({ method: 'GET', config: { traits: systemTraits(template) } }, options), [], template)
  }
  t.same(readMountedRoute({ method: 'GET' }, options), [])
})
