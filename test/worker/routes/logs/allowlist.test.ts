import t from 'tap'
import { isInRanges, readAddressRange } from '../../../../shared/net/addresses.ts'
import { findClientAddress } from '../../../../worker/routes/logs/allowlist.ts'

const ranges = (...texts: string[]) =>
  texts.map(text => {
    const range = readAddressRange(text)
    if (range === undefined) throw new Error(text)
    return range
  })

t.test('an address is in a range of its family, and an IPv4-mapped one is its IPv4 address', async t => {
  for (const [address, range, isIn] of [
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.2', '10.0.0.1', false],
    ['::ffff:10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '::ffff:10.0.0.1', true],
    ['::ffff:a00:1', '10.0.0.0/8', true],
    ['10.255.0.1', '::ffff:10.0.0.0/104', true],
    ['11.0.0.1', '::ffff:10.0.0.0/104', false],
    ['10.1.2.3', '10.1.0.0/16', true],
    ['10.2.2.3', '10.1.9.9/16', false],
    ['10.1.2.3', '0.0.0.0/0', true],
    ['::1', '0.0.0.0/0', false],
    ['10.1.2.3', '::/0', false],
    ['2001:db8::1', '2001:DB8::/32', true],
    ['2001:0db8:0:0::0001', '2001:db8::1', true],
    ['fe80::1%eth0', 'fe80::/10', true],
    ['010.0.0.1', '10.0.0.1', false],
    ['10.1', '10.0.0.1', false],
    ['', '0.0.0.0/0', false],
    ['zz', '0.0.0.0/0', false]
  ] as const) {
    t.equal(isInRanges(address, ranges(range)), isIn, `${address} in ${range}`)
  }
  for (const text of [
    '',
    'zz',
    '10.0.0',
    '10.0.0.1/33',
    '10.0.0.1/',
    '10.0.0.1/8/8',
    '::1/129',
    '10.0.0.1/-1',
    '::ffff:10.0.0.1/95',
    'localhost',
    '10.0.0.1 '
  ]) {
    t.equal(readAddressRange(text), undefined, text)
  }
})

t.test('the client is the first address from the right that is no trusted proxy', async t => {
  const trusted = ranges('127.0.0.1', '10.0.0.0/8')
  for (const [peer, header, client] of [
    ['127.0.0.1', '', '127.0.0.1'],
    ['127.0.0.1', '1.1.1.1', '1.1.1.1'],
    ['::ffff:127.0.0.1', '1.1.1.1', '1.1.1.1'],
    ['9.9.9.9', '1.1.1.1', '9.9.9.9'],
    ['127.0.0.1', '1.1.1.1, 2.2.2.2', '2.2.2.2'],
    ['127.0.0.1', '1.1.1.1, 2.2.2.2,10.0.0.7', '2.2.2.2'],
    ['127.0.0.1', '10.0.0.8, 10.0.0.7', '10.0.0.8'],
    ['127.0.0.1', 'zz', '127.0.0.1'],
    ['127.0.0.1', 'zz, 2.2.2.2', '2.2.2.2'],
    ['127.0.0.1', 'zz, 10.0.0.7', '127.0.0.1'],
    ['127.0.0.1', '2.2.2.2:1234', '2.2.2.2'],
    ['127.0.0.1', '[2001:db8::1]:1234', '2001:db8::1'],
    ['127.0.0.1', '2001:db8::1', '2001:db8::1'],
    ['', '1.1.1.1', '']
  ] as const) {
    t.equal(findClientAddress(peer, header, trusted), client, `${peer} with ${header}`)
  }
})
