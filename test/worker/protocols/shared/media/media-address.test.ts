import t from 'tap'
import { isAllowedAddress } from '../../../../../worker/protocols/shared/media/media-address.ts'

t.test('addresses of media are web addresses or data (decisions.md 105)', async t => {
  for (const url of ['http://a.example/x.png', 'HTTPS://a.example/', 'data:text/plain,hi', 'http://10.0.0.1/a.png']) {
    t.ok(isAllowedAddress(url, {}), url)
  }
  for (const url of [
    'file:///etc/passwd',
    'ftp://a.example/',
    'gopher://a',
    'x.png',
    '',
    '/etc/passwd',
    'javascript:1'
  ]) {
    t.notOk(isAllowedAddress(url, {}), url)
  }
  t.notOk(isAllowedAddress('gs://bucket/a.png', {}))
  t.ok(isAllowedAddress('gs://bucket/a.png', { hasStorage: true, isLocal: true }))
})

t.test('a provider of this machine gets no address of a private host, in any spelling (decisions.md 105)', async t => {
  const refused = [
    'http://127.0.0.1/a.png',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.0.0.1/',
    'http://017700000001/',
    'http://0/',
    'http://10.1.2.3/',
    'http://172.16.0.1:8080/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://user:password@127.0.0.1/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://a.localhost/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://metadata/',
    'http://METADATA.google.internal./',
    'http://１２７.０.０.１/',
    ' http://127.0.0.1/',
    'http://',
    'http://a b/'
  ]
  for (const url of refused) t.notOk(isAllowedAddress(url, { isLocal: true }), url)
  for (const url of [
    'https://a.example/a.png',
    'http://93.184.215.14/',
    'http://[2606:2800:21f:cb07::1]/',
    'data:,a'
  ]) {
    t.ok(isAllowedAddress(url, { isLocal: true }), url)
  }
})
