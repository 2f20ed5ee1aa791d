import t from 'tap'
import { Secret } from '../../../../../shared/secrets/secret.ts'
import {
  chooseProfileProxy,
  chooseProxy,
  isWithoutProxy,
  readProxy
} from '../../../../../worker/providers/http/connections/proxy.ts'

t.test(
  'providers 4: an entry of NO_PROXY is a name, a suffix, an address or a range, each with a port or without',
  async t => {
    const rows: Array<[entry: string, origin: string, isNamed: boolean]> = [
      ['*', 'https://any.example', true],
      ['*:8443', 'https://any.example:8443', true],
      ['*:8443', 'https://any.example', false],
      ['up.example', 'https://up.example', true],
      ['UP.Example', 'https://up.example', true],
      ['up.example.', 'https://up.example', true],
      ['up.example', 'https://up.example.:443', true],
      ['up.example', 'https://deep.up.example', true],
      ['up.example', 'https://startup.example', false],
      ['up.example', 'https://up.example.org', false],
      ['.example', 'https://up.example', true],
      ['.example', 'https://example', true],
      ['*.example', 'https://up.example', true],
      ['*.example', 'https://example', false],
      ['up.example:443', 'https://up.example', true],
      ['up.example:80', 'http://up.example', true],
      ['up.example:443', 'http://up.example', false],
      ['up.example:8443', 'https://up.example', false],
      ['up.example:8443', 'https://up.example:8443', true],
      ['.example:8443', 'https://up.example:8443', true],
      ['10.1.2.3', 'http://10.1.2.3', true],
      ['10.1.2.3', 'http://10.1.2.30', false],
      ['2.3', 'http://10.1.2.3', false],
      ['10.1.2.3:8000', 'http://10.1.2.3:8000', true],
      ['10.1.2.3:8000', 'http://10.1.2.3', false],
      ['10.0.0.0/8', 'http://10.255.0.1:8000', true],
      ['10.0.0.0/8', 'http://11.0.0.1', false],
      ['10.0.0.0/8', 'http://ten.example', false],
      ['192.168.128.0/17', 'http://192.168.127.255', false],
      ['192.168.128.0/17', 'http://192.168.128.1', true],
      ['::1', 'http://[::1]:8000', true],
      ['[::1]', 'http://[::1]:8000', true],
      ['[::1]:8000', 'http://[::1]:8000', true],
      ['[::1]:8000', 'http://[::1]', false],
      ['0:0:0:0:0:0:0:1', 'http://[::1]', true],
      ['fd00::/8', 'http://[fd12::1]', true],
      ['fd00::/8', 'http://[fe80::1]', false],
      ['10.0.0.0/8', 'http://[::ffff:10.0.0.1]', true],
      ['localhost', 'http://localhost:11434', true],
      ['other.example up.example', 'https://up.example', true],
      ['10.0.0.0/99', 'http://10.0.0.1', false],
      ['.', 'https://up.example', false]
    ]
    for (const [entry, origin, isNamed] of rows) {
      t.equal(isWithoutProxy(origin, [entry]), isNamed, `${entry} and ${origin}`)
      t.equal(isWithoutProxy(origin, ['other.invalid', entry]), isNamed, `${entry} behind another entry`)
    }
    t.equal(isWithoutProxy('https://up.example', []), false)
  }
)

t.test('the proxy of the environment is that of the scheme', async t => {
  const variables = { httpProxy: 'http://plain.example:3128', httpsProxy: 'http://secure.example' }
  t.match(chooseProxy(variables, 'http://up.example'), { origin: 'http://plain.example:3128' })
  t.match(chooseProxy(variables, 'https://up.example'), { origin: 'http://secure.example' })
  t.equal(chooseProxy({ httpsProxy: 'http://secure.example' }, 'http://up.example'), undefined)
  t.equal(chooseProxy({ ...variables, noProxy: ['up.example'] }, 'https://up.example'), undefined)
})

t.test('a credential stands in the URL or beside it, and the one beside it wins', async t => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  t.strictSame(readProxy('http://proxy.example:3128'), { origin: 'http://proxy.example:3128' })
  t.equal(readProxy('http://us%3Aer:p%40ss@proxy.example').authorization, basic('us:er:p@ss'))
  t.equal(readProxy('http://user@proxy.example').authorization, basic('user:'))
  t.equal(readProxy('http://user:old@proxy.example', 'other:new').authorization, basic('other:new'))
})

t.test('a profile names no proxy, that of the environment, or one of its own', async t => {
  const options = {
    variables: { httpsProxy: 'http://env.example' },
    readSecret: (name: string) => (name === 'PROXY_PAIR' ? new Secret('a:b') : undefined)
  }
  const choose = (proxy: string | undefined, absent: 'none' | 'environment') =>
    chooseProfileProxy(proxy === undefined ? {} : { proxy }, 'https://up.example', { ...options, absent })?.origin
  t.equal(choose(undefined, 'none'), undefined)
  t.equal(choose(undefined, 'environment'), 'http://env.example')
  t.equal(choose('none', 'environment'), undefined)
  t.equal(choose('environment', 'none'), 'http://env.example')
  t.equal(choose('http://own.example:8080', 'none'), 'http://own.example:8080')
  const own = { proxy: 'http://own.example', proxyCredentialEnv: 'PROXY_PAIR' }
  t.match(chooseProfileProxy(own, 'https://up.example', { ...options, absent: 'none' }), {
    authorization: `Basic ${Buffer.from('a:b').toString('base64')}`
  })
})
