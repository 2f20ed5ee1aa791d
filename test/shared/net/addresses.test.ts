import t from 'tap'
import { isPublicAddress } from '../../../shared/net/addresses.ts'
import { classifyName } from '../../../shared/net/host-names.ts'
import * as fc from '../../support/properties.ts'

t.test('only public unicast addresses are public', async t => {
  for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450:4001:80e::200e']) {
    t.equal(isPublicAddress(address), true, address)
  }
  for (const address of [
    '127.0.0.1',
    '127.255.255.254',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '0.1.2.3',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '198.18.0.1',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '4000::1',
    'localhost',
    '',
    'not an address'
  ]) {
    t.equal(isPublicAddress(address), false, address)
  }
})

t.test('a private IPv4 address inside an IPv6 address is refused in every form', async t => {
  fc.assert(
    fc.property(fc.constantFrom('10', '127', '192.168', '169.254'), fc.nat(255), fc.nat(255), (prefix, a, b) => {
      const address = prefix.includes('.') ? `${prefix}.${a}.${b}` : `${prefix}.${a}.${b}.1`
      for (const form of [address, `::ffff:${address}`, `::${address}`, `64:ff9b::${address}`]) {
        t.equal(isPublicAddress(form), false, form)
      }
    })
  )
})

t.test('names of this machine, of private networks and of clouds are recognised', async t => {
  const rows = {
    loopback: ['localhost', 'LOCALHOST.', 'a.localhost'],
    private: [
      ...['printer.local', 'nas.home.arpa', 'vllm', 'VLLM.', 'vllm.inference.svc', 'vllm.inference.svc.cluster.local'],
      ...['ip-10-0-0-1.ec2.internal', 'api.corp', 'box.lan', 'local', 'internal', 'metadata.internal', 'my-metadata']
    ],
    forbidden: [
      ...['', '.', 'metadata.google.internal', 'METADATA.Google.Internal.', 'x.metadata.google.internal'],
      ...['metadata', 'metadata.', 'metadata.azure.internal', 'instance-data', 'instance-data.ec2.internal']
    ],
    public: [
      'example.com',
      'localhost.example.com',
      'not.local-host',
      'internal.example',
      'metadata.google.internal.example'
    ]
  }
  for (const [found, names] of Object.entries(rows)) {
    for (const name of names) t.equal(classifyName(name), found, name)
  }
})
