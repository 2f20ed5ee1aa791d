import t from 'tap'
import { isLoopbackBinding } from '../../../shared/net/listen-addresses.ts'
import { createHostTest, isLoopbackOrigin, isOriginOf, readHostName } from '../../../shared/net/local-hosts.ts'

t.test('decisions.md 101: a host is of this machine in every spelling of it, and in none of another', t => {
  const isOwn = createHostTest({
    host: 'localhost',
    port: 8090,
    allowedHosts: ['gateway.example', 'xn--c1acjs.example']
  })
  const own = [
    'localhost',
    'localhost:8090',
    'localhost:1',
    'localhost:',
    'LOCALHOST:8090',
    'LocalHost.',
    'localhost.:8090',
    'app.localhost:8090',
    '127.0.0.1',
    '127.0.0.1:8090',
    '127.0.0.1.',
    '127.255.255.254',
    '[::1]',
    '[::1]:8090',
    '[0:0:0:0:0:0:0:1]:8090',
    '[::ffff:127.0.0.1]:8090',
    '[::FFFF:7F00:1]',
    'gateway.example',
    'GATEWAY.example.:443',
    'xn--c1acjs.example:8090'
  ]
  const foreign = [
    'evil.example',
    'evil.example:8090',
    'localhost.evil.example',
    'evil-localhost',
    'localhostx',
    'xlocalhost:8090',
    'sub.gateway.example',
    '0.0.0.0:8090',
    '[::]:8090',
    '10.0.0.1',
    '192.168.0.1:8090',
    '128.0.0.1',
    '127.0.0.1.evil.example',
    '[fe80::1]',
    '[::ffff:10.0.0.1]',
    'user@localhost',
    'localhost@evil.example',
    'localhost/evil',
    'localhost:8090/x',
    'localhost:80:90',
    'localhost, evil.example',
    'localhost evil.example',
    'localhost#evil.example',
    'localhost?evil',
    'localhost\\evil',
    '%6c%6f%63%61%6c%68%6f%73%74',
    '\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54',
    '\xe4.example',
    '[::1',
    '::1',
    '[localhost]',
    ':8090',
    '.',
    'metadata.google.internal',
    'host.docker.internal'
  ]
  for (const host of own) t.equal(isOwn(host), true, host)
  for (const host of foreign) t.equal(isOwn(host), false, host)
  // A name of the system that leads to a loopback address.
  const named = createHostTest({ host: 'Workstation', port: 80, allowedHosts: [] })
  t.equal(named('workstation:80'), true)
  t.equal(named('workstation.evil.example'), false)
  t.equal(createHostTest({ host: '::1', port: 80, allowedHosts: [] })('[::1]:80'), true)
  t.end()
})

t.test('a host that takes long to read is none', t => {
  for (const text of ['a'.repeat(1_000_000), `localhost${'.'.repeat(1_000_000)}`, `[${':'.repeat(1_000_000)}`]) {
    t.equal(readHostName(text), undefined)
  }
  t.end()
})

t.test('decisions.md 101: an origin is of this machine by its host alone, over http and https', t => {
  const local = [
    'http://localhost',
    'http://localhost:3000',
    'https://localhost:8443',
    'http://127.0.0.1:5173',
    'http://127.8.9.1',
    'http://[::1]:3000',
    'http://app.localhost:3000',
    'HTTP://LOCALHOST:3000'
  ]
  const foreign = [
    'null',
    '',
    'http://evil.example',
    'http://localhost.evil.example',
    'http://evil.example:localhost',
    'http://localhost@evil.example',
    'http://localhost:3000/path',
    'http://localhost:3000, http://evil.example',
    'http://0.0.0.0:3000',
    'http://192.168.1.2:3000',
    'file://',
    'app://localhost',
    'chrome-extension://localhost',
    'tauri://localhost',
    'ws://localhost:3000',
    'javascript:localhost',
    'localhost:3000'
  ]
  for (const origin of local) t.equal(isLoopbackOrigin(origin), true, origin)
  for (const origin of foreign) t.equal(isLoopbackOrigin(origin), false, origin)
  t.equal(isOriginOf('gateway.example:8090', 'http://gateway.example:8090'), true)
  t.equal(isOriginOf('Gateway.Example', 'https://gateway.example'), true)
  t.equal(isOriginOf('gateway.example:8090', 'http://gateway.example:3000'), false)
  t.equal(isOriginOf('gateway.example', 'http://evil.example/gateway.example'), false)
  t.equal(isOriginOf('', 'null'), false)
  t.end()
})

t.test('decisions.md 101: a listener is for this machine alone on a loopback address and on a name of one', async t => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.0.0.2', '::1', '::ffff:127.0.0.1']) {
    t.equal(await isLoopbackBinding(host), true, host)
  }
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '192.168.1.1', 'fe80::1', 'no-such-name.invalid', '*']) {
    t.equal(await isLoopbackBinding(host), false, host)
  }
})
