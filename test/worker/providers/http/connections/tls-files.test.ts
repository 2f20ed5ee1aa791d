import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTlsFiles, type TlsFilePaths } from '../../../../../worker/providers/http/connections/tls-files.ts'
import { createAuthority } from '../../../../support/certificates.ts'
import { createTemporaryFolder } from '../../../../support/temporary.ts'
import { createMemoryLog } from '../../support/log.ts'
import { rejection } from '../../support/rejection.ts'

const authority = createAuthority(t)
const other = createAuthority(t, 'another authority')

t.test('a profile without files has none', async t => {
  t.equal(openTlsFiles({ profileId: 'p1', paths: {}, log: createMemoryLog().log }), undefined)
})

t.test('the files are looked at once a second at most, and the same content stays', async t => {
  const caFile = join(createTemporaryFolder(t), 'ca.pem')
  writeFileSync(caFile, authority.cert)
  let nowMs = 0
  const files = openTlsFiles({
    profileId: 'p1',
    paths: { caFile },
    log: createMemoryLog().log,
    monotonicMs: () => nowMs
  })
  const first = await files?.read()
  writeFileSync(caFile, other.cert)
  nowMs = 999
  t.equal(await files?.read(), first)
  nowMs = 1000
  const second = await files?.read()
  t.not(second, first)
  nowMs = 5000
  t.equal(await files?.read(), second)
})

t.test('profiles with the same files share a context, and a proxy gets no certificate', async t => {
  const { cert, certFile: clientCertFile, keyFile: clientKeyFile } = authority.issue({ name: 'client' })
  const caFile = authority.certFile
  const read = (paths: TlsFilePaths) => openTlsFiles({ profileId: 'p1', paths, log: createMemoryLog().log })?.read()
  const [first, second] = [await read({ caFile, clientCertFile, clientKeyFile }), await read({ caFile })]
  t.equal((await read({ caFile, clientCertFile, clientKeyFile }))?.provider, first?.provider)
  t.not(first?.provider, second?.provider)
  t.equal(first?.proxy, second?.provider)
  t.equal(second?.proxy, second?.provider)
  t.strictSame([first?.clientCertificate, second?.clientCertificate], [cert, undefined])
})

t.test('what cannot be used is named by its member', async t => {
  const folder = createTemporaryFolder(t)
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const { cert, key, certFile, keyFile } = authority.issue({ name: 'client' })
  const wrong = authority.issue({ name: 'wrong' })
  const rows: Array<[paths: Record<string, string>, message: RegExp]> = [
    [{ caFile: join(folder, 'none.pem') }, /^ca_file must name a readable file/],
    [{ caFile: folder }, /^ca_file must name a readable file/],
    [{ caFile: write('large.pem', 'x'.repeat(1024 * 1024 + 1)) }, /^ca_file must name a readable file/],
    [{ caFile: write('empty.pem', '') }, /^ca_file .* valid certificates/],
    [{ caFile: write('key.pem', key) }, /^ca_file .* valid certificates/],
    [{ clientCertFile: write('cut.pem', cert.slice(0, 300)), clientKeyFile: keyFile }, /^client_cert_file /],
    [{ clientCertFile: certFile, clientKeyFile: certFile }, /^client_key_file .* private key/],
    [{ clientCertFile: certFile, clientKeyFile: wrong.keyFile }, /^client_key_file must hold the key/]
  ]
  for (const [paths, message] of rows) {
    const memory = createMemoryLog()
    const files = openTlsFiles({ profileId: 'p1', paths, log: memory.log })
    for (let call = 0; call < 2; call += 1) {
      t.match(await rejection(files?.read() ?? Promise.resolve()), { code: 'ERR_TLS_FILES', message })
    }
    t.match(memory.lines, [{ event: 'provider_tls_files_unusable', is_older_used: false }], String(message))
    t.notMatch(memory.text(), folder)
  }
  const combined = write('both.pem', `${cert}\n${key}`)
  await openTlsFiles({ profileId: 'p1', paths: { clientCertFile: combined }, log: createMemoryLog().log })?.read()
})
