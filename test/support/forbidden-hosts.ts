// Hosts that no policy allows, in every spelling that a URL or a name server may have for them.

import * as fc from './properties.ts'

type Bytes = readonly [number, number, number, number]

const byte = fc.nat(255)

/** Where clouds give credentials. */
export const metadataBytes: fc.Arbitrary<Bytes> = fc.constantFrom<Bytes[]>(
  [169, 254, 169, 254],
  [169, 254, 170, 2],
  [169, 254, 170, 23],
  [100, 100, 100, 200],
  [192, 0, 0, 192],
  [168, 63, 129, 16]
)

/** IPv4 addresses of every class that no policy allows. */
const forbiddenBytes: fc.Arbitrary<Bytes> = fc.oneof(
  { weight: 3, arbitrary: metadataBytes },
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(0), byte, byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte)
)

const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')
const words = ([a, b, c, d]: Bytes): [string, string] => [hex(a * 256 + b, 4), hex(c * 256 + d, 4)]

/** A number of a URL's host: decimal, hexadecimal or octal, with zeros in front. */
function spellNumber(value: number, base: number, zeros: number): string {
  const padding = '0'.repeat(zeros)
  if (base === 16) return `0${zeros % 2 === 0 ? 'x' : 'X'}${padding}${value.toString(16)}`
  return base === 8 ? `0${padding}${value.toString(8)}` : String(value)
}

/** Every spelling of an IPv4 address in a URL: one to four parts, each in a base of its own. */
const spellings = fc
  .tuple(forbiddenBytes, fc.integer({ min: 1, max: 4 }), fc.infiniteStream(fc.constantFrom(8, 10, 16)), fc.nat(4))
  .map(([bytes, parts, bases, zeros]) => {
    const numbers = [...bytes.slice(0, parts - 1), bytes.slice(parts - 1).reduce((sum, one) => sum * 256 + one, 0)]
    return numbers.map(value => spellNumber(value, Number(bases.next().value), zeros)).join('.')
  })

/** Digits and dots of other scripts, and percent signs, all of which the URL parser reads as ASCII. */
const disguised = fc
  .tuple(spellings, fc.constantFrom('wide', 'percent', 'dots'))
  .map(([text, way]) =>
    way === 'dots'
      ? text.replaceAll('.', '\u3002')
      : text.replace(/[0-9]/g, digit =>
          way === 'wide' ? String.fromCodePoint(0xff10 + Number(digit)) : `%${hex(digit.charCodeAt(0), 2)}`
        )
  )

/** Forms of IPv6 that carry an IPv4 address: mapped, compatible, translated, tunnelled. */
const CARRIERS: ReadonlyArray<(bytes: Bytes) => string> = [
  bytes => `::ffff:${bytes.join('.')}`,
  bytes => `::ffff:${words(bytes).join(':')}`,
  bytes => `0:0:0:0:0:FFFF:${words(bytes).join(':').toUpperCase()}`,
  bytes => `::${bytes.join('.')}`,
  bytes => `::ffff:0:${words(bytes).join(':')}`,
  bytes => `64:ff9b::${words(bytes).join(':')}`,
  bytes => `0064:FF9B:0:0:0:0:${bytes.join('.')}`,
  bytes => `64:ff9b:1::${words(bytes).join(':')}`,
  bytes => `64:ff9b:1:${words(bytes)[0]}:${words(bytes)[1].slice(0, 2)}:${words(bytes)[1].slice(2)}00::`,
  bytes => `2002:${words(bytes).join(':')}::1`,
  ([a, b, c, d]) => `2001:0:4136:e378:8000:63bf:${words([255 - a, 255 - b, 255 - c, 255 - d]).join(':')}`
]
const carriers = fc.tuple(forbiddenBytes, fc.constantFrom(...CARRIERS)).map(([bytes, write]) => write(bytes))

/** Translators and tunnels with a prefix of their own have the address at the end. */
const ownPrefixes = fc
  .tuple(
    metadataBytes,
    fc.constantFrom('fd00:64::', 'fd12:3456:789a:1::', '2606:4700:64::', 'fd00::5efe:', 'fd00::200:5efe:')
  )
  .map(([bytes, prefix]) => prefix + words(bytes).join(':'))

const otherIPv6 = fc.oneof(
  fc.constantFrom('fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:42::42', 'fd00:a9fe:a9fe::1', '::'),
  fc
    .tuple(fc.constantFrom('fe80', 'fe9a', 'febf', 'ff02', 'ff0e', 'fec0', '2001:db8', '100'), fc.nat(0xffff))
    .map(([prefix, end]) => `${prefix}::${end.toString(16)}`)
)

/** Addresses as a name server or a hosts file gives them. */
export const forbiddenAddresses: fc.Arbitrary<string> = fc.oneof(
  forbiddenBytes.map(bytes => bytes.join('.')),
  carriers,
  ownPrefixes,
  otherIPv6
)

const metadataNames = fc
  .tuple(
    fc.constantFrom('', 'x.', 'a.b.'),
    fc.constantFrom(
      ...['metadata.google.internal', 'metadata.azure.internal', 'metadata.goog', 'metadata.tencentyun.com'],
      ...['metadata', 'instance-data', 'instance-data.ec2.internal']
    ),
    fc.constantFrom('plain', 'upper', 'wide')
  )
  .map(([below, name, way]) => {
    if (way === 'upper') return (below + name).toUpperCase()
    return below + (way === 'wide' ? name.replace('a', '\uff41') : name)
  })

/** Hosts as a URL writes them. */
export const forbiddenHosts: fc.Arbitrary<string> = fc.oneof(
  spellings,
  disguised,
  carriers.map(address => `[${address}]`),
  ownPrefixes.map(address => `[${address}]`),
  otherIPv6.map(address => `[${address}]`),
  metadataNames
)
