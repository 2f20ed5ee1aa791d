// The import rules: supervisor and worker import from shared, never the other way, and protocol codecs import no I/O module.
const io = '^(node:)?(net|http|https|http2|tls|dns|fs|fs/promises|dgram|cluster|child_process|worker_threads)$'

/** The rooms of each plane in the order of their floors: each imports only rooms before it, types included. */
const supervisorRooms = [
  'config-file',
  'files',
  'listening',
  'lifecycle',
  'processes',
  'postgres',
  'writer',
  'store',
  'limits',
  'services',
  'keys',
  'prices',
  'profile',
  'startup-checks',
  'demo',
  'plan',
  'workers',
  'metrics',
  'host',
  'steps'
]

const workerRooms = [
  'normalized',
  'performance',
  'limits',
  'operations',
  'protocols',
  'bridge',
  'targets',
  'providers',
  'control',
  'traffic',
  'debug',
  'translation',
  'observation',
  'http',
  'memory',
  'docs',
  'admin',
  'dashboard',
  'execution',
  'routes'
]

function floorRules(plane, rooms) {
  return rooms.map((room, floor) => ({
    name: `${plane}-${room}-imports-no-higher-room`,
    severity: 'error',
    from: { path: `^${plane}/${room}/` },
    // Files at the root of a plane assemble the rooms, so they are above all of them.
    to: { path: [`^${plane}/[^/]+\\.ts$`, ...rooms.slice(floor + 1).map(higher => `^${plane}/${higher}/`)] }
  }))
}

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true }
    },
    {
      name: 'shared-is-the-bottom',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(worker|supervisor|ops|test)/' }
    },
    {
      name: 'supervisor-sees-only-shared',
      severity: 'error',
      from: { path: '^supervisor/' },
      to: { path: '^(worker|ops|test)/' }
    },
    {
      name: 'worker-sees-only-shared',
      severity: 'error',
      from: { path: '^worker/' },
      to: { path: '^(supervisor|ops|test)/' }
    },
    {
      name: 'normalized-imports-nothing',
      severity: 'error',
      from: { path: '^worker/normalized/' },
      to: { pathNot: '^worker/normalized/' }
    },
    ...floorRules('supervisor', supervisorRooms),
    ...floorRules('worker', workerRooms),
    {
      name: 'codecs-and-decisions-do-no-io',
      severity: 'error',
      from: { path: '^worker/(protocols|bridge)/' },
      to: { path: ['^node_modules/(undici|fastify|piscina)', io] }
    },
    {
      name: 'families-do-not-know-each-other',
      severity: 'error',
      from: { path: '^worker/protocols/([^/]+)/' },
      to: {
        path: '^worker/protocols/([^/]+)/',
        pathNot: ['^worker/protocols/$1/', '^worker/protocols/shared/']
      }
    },
    {
      name: 'only-the-registries-know-the-kinds',
      severity: 'error',
      from: {
        path: '^worker/',
        pathNot: ['^worker/protocols/native/', '^worker/providers/(native|compatible)/', '/registry\\.ts$']
      },
      to: { path: ['^worker/(protocols|providers)/native/', '^worker/providers/compatible/'] }
    },
    {
      name: 'only-providers-open-connections',
      severity: 'error',
      from: { path: '^worker/', pathNot: '^worker/providers/' },
      to: { path: '^node_modules/undici' }
    },
    {
      name: 'signing-libraries-are-loaded-when-used',
      severity: 'error',
      from: { path: '^(supervisor|worker|shared)/' },
      to: { path: '^node_modules/(jose|aws4)/', dynamic: false, dependencyTypesNot: ['type-only', 'type-import'] }
    },
    {
      name: 'product-does-not-use-test-tools',
      severity: 'error',
      from: { path: '^(supervisor|worker|shared)/' },
      to: { dependencyTypes: ['npm-dev'] }
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true }
    }
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types']
    }
  }
}
