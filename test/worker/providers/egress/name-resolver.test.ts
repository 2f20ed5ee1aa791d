import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { createGuardedDownload } from '../../../../worker/providers/egress/guarded-download.ts'
import { createNameResolver } from '../../../../worker/providers/egress/name-resolver.ts'
import { startNameServer } from '../../../support/name-server.ts'
import { waitUntil } from '../../../support/processes.ts'
import { rejection } from '../support/rejection.ts'

const never = new AbortController().signal

t.test('the addresses of both kinds are found, and one kind is enough', async t => {
  const addresses: Record<string, string[]> = {
    'both.example': ['93.184.216.34', '2606:4700::1'],
    'four.example': ['93.184.216.34', '8.8.8.8'],
    'six.example': ['2606:4700::1'],
    'none.example': []
  }
  const server = await startNameServer(t, name => addresses[name])
  const resolve = createNameResolver({ servers: [server.address] })
  for (const name of ['both.example', 'four.example', 'six.example']) {
    t.same(await resolve(name, never), addresses[name])
  }
  t.match(await rejection(resolve('none.example', never)), { cause: { code: 'ENODATA' } })
})

t.test('a host with addresses of one kind does not wait to the deadline for those of the other', async t => {
  const server = await startNameServer(t, (_name, family) => (family === 4 ? ['93.184.216.34'] : undefined))
  const resolve = createNameResolver({ servers: [server.address], timeoutMs: 60_000 })
  t.same(await resolve('four.example', never), ['93.184.216.34'])
})

t.test('a private address beside a public one refuses the host, in every form', async t => {
  const forms = ['10.0.0.1', '127.0.0.1', '::1', '::ffff:7f00:1', '64:ff9b::a00:1', 'fd00::1']
  const server = await startNameServer(t, name => ['93.184.216.34', forms[Number(name.split('.')[0])] ?? ''])
  const download = createGuardedDownload({
    userAgent: 'test/1',
    resolve: createNameResolver({ servers: [server.address] })
  })
  for (const index of forms.keys()) {
    const error = await rejection(
      download({
        url: `http://${index}.example/`,
        param: 'attachments',
        signal: never,
        limitFor: () => 1000,
        tooLarge: () => new GatewayError('request_entity_too_large')
      })
    )
    t.match(error, { code: 'invalid_url', message: /not public/ }, forms[index] ?? '')
  }
})

t.test('cost 4: a silent name server is given up at the deadline, and at the abort of the request', async t => {
  const server = await startNameServer(t, () => undefined)
  const impatient = createNameResolver({ servers: [server.address], timeoutMs: 50 })
  t.match(await rejection(impatient('slow.example', never)), { cause: { code: 'ECANCELLED' } })
  const abort = new AbortController()
  const resolving = createNameResolver({ servers: [server.address], timeoutMs: 60_000 })('left.example', abort.signal)
  await waitUntil(() => server.names.has('left.example'), 'the name server was asked')
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(resolving), { code: 'client_disconnected' })
})

t.test('cost 4: at most 256 names are resolved at once, further ones wait, and too many are refused', async t => {
  const server = await startNameServer(t, () => undefined)
  const resolve = createNameResolver({ servers: [server.address], timeoutMs: 60_000 })
  const abort = new AbortController()
  const failures = Array.from({ length: 256 + 1024 }, (_, index) =>
    rejection(resolve(`host-${index}.example`, abort.signal))
  )
  t.match(await rejection(resolve('one-more.example', never)), { code: 'gateway_overloaded', retryAfter: '1' })
  // The kernel may drop some of so many datagrams.
  await waitUntil(() => server.names.size >= 64, 'the first names were asked for')
  t.ok(server.names.size <= 256, `${server.names.size} names`)
  abort.abort(new GatewayError('client_disconnected'))
  for (const failure of await Promise.all(failures)) t.match(failure, { code: 'client_disconnected' })
})
