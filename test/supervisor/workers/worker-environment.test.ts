import t from 'tap'
import { hideVariables } from '../../../supervisor/workers/worker-environment.ts'

const hide = (names: string[], credentialNames: string[] = []) =>
  Object.keys(hideVariables(Object.fromEntries(names.map(name => [name, 'value'])), credentialNames))

t.test('only what the system, Node and its allocator read is left', async t => {
  const kept = [
    'PATH',
    'HOME',
    'TMPDIR',
    'TZ',
    'LANG',
    'LC_ALL',
    'NODE_OPTIONS',
    'NODE_EXTRA_CA_CERTS',
    'NODE_UNIQUE_ID'
  ]
  t.same(hide(kept), [])
  t.same(hide(['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_V8_COVERAGE', 'SSL_CERT_FILE']), [])
  t.same(hide(['LD_PRELOAD', 'MALLOC_ARENA_MAX', 'UV_THREADPOOL_SIZE']), [])
  const hidden = [
    'GATEWAY_API_KEY',
    'gateway_api_key',
    'UPSTREAM_PASSWORD',
    'MY_KEY',
    'HTTPS_PROXY',
    'HOMEPAGE',
    'npm_config_x'
  ]
  t.same(hide([...hidden, ...kept]), hidden)
})

t.test('names are compared without case, as Windows spells them', async t => {
  t.same(hide(['Path', 'SystemRoot', 'windir', 'Secret']), ['Secret'])
})

t.test('a credential is hidden also where its name would be kept', async t => {
  t.same(hide(['NODE_AUTH_TOKEN', 'NODE_API_KEY', 'LC_SECRET']), ['NODE_AUTH_TOKEN', 'NODE_API_KEY', 'LC_SECRET'])
  t.same(hide(['NODE_UPSTREAM', 'PATH'], ['node_upstream']), ['NODE_UPSTREAM'])
})

t.test('a hidden variable is undefined, which leaves it out of the environment of a fork', async t => {
  t.strictSame(hideVariables({ MY_KEY: 'hunter2', PATH: '/bin', UNSET: undefined }, []), {
    MY_KEY: undefined,
    UNSET: undefined
  })
})
