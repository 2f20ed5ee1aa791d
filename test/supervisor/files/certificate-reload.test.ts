// The gateway's own certificate, read again while it serves (decisions.md 100).
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { TlsPair } from '../../../shared/ipc/messages.ts'
import { followCertificate } from '../../../supervisor/files/certificate-reload.ts'
import { createAuthority, type Issued } from '../../support/certificates.ts'
import { waitUntil } from '../../support/processes.ts'
import { stepTimers } from '../../support/stepped-timers.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const authority = createAuthority(t)
const first = authority.issue({ name: 'first', days: 10 })
const second = authority.issue({ name: 'second', days: 20 })
const pairOf = ({ key, cert }: Issued): TlsPair => ({ key, cert })

interface Options {
  folder?: string
  pollIntervalMs?: number
  sign?: (paths: readonly string[]) => Promise<string>
  nowMs?: () => number
}

function follow(t: Test, { folder = createTemporaryFolder(t), nowMs = () => 0, ...options }: Options = {}) {
  const [httpsKeyFile, httpsCertFile] = [join(folder, 'tls.key'), join(folder, 'tls.crt')]
  if (options.pollIntervalMs === undefined) {
    writeFileSync(httpsKeyFile, first.key)
    writeFileSync(httpsCertFile, first.cert)
  }
  const changes: TlsPair[] = []
  const lines: Array<Record<string, unknown>> = []
  const log = pino({ base: null, timestamp: false }, { write: line => lines.push(JSON.parse(line)) })
  const certificate = followCertificate(
    { log, nowMs, onChanged: pair => changes.push(pair) },
    { ...options, settings: { useHttps: true, httpsKeyFile, httpsCertFile }, current: pairOf(first) }
  )
  t.teardown(certificate.close)
  return { certificate, changes, lines, httpsKeyFile, httpsCertFile }
}

t.test('a request to reload takes a renewed pair, and the end of its certificate follows', async t => {
  const { certificate, changes, lines, httpsKeyFile, httpsCertFile } = follow(t)
  const before = certificate.expiresAtMs()
  certificate.reload()
  t.same(changes, [], 'the same pair replaces nothing')
  t.match(lines[0], { level: 30, event: 'certificate_reloaded', msg: /nothing has changed/ })
  writeFileSync(httpsKeyFile, second.key)
  writeFileSync(httpsCertFile, second.cert)
  certificate.reload()
  t.same(changes, [pairOf(second)])
  t.equal(Math.round((certificate.expiresAtMs() - before) / 86_400_000), 10)
  t.match(lines[1], { event: 'certificate_reloaded', expires_at: new Date(certificate.expiresAtMs()).toISOString() })
})

t.test('a pair that does not match keeps the earlier one with one ERROR line, and is looked at again', async t => {
  const pass = stepTimers(t)
  let state = 'a'
  const { changes, lines, httpsKeyFile, httpsCertFile } = follow(t, { sign: async () => state })
  const poll = async (times: number) => {
    for (let polls = 0; polls < times; polls += 1) {
      pass(1000)
      await turn()
    }
  }
  await poll(3)
  t.same([changes, lines], [[], []], 'what has not changed is silent')
  writeFileSync(httpsCertFile, second.cert)
  state = 'half'
  await poll(30)
  t.same(changes, [])
  t.equal(lines.length, 1)
  t.match(lines[0], { level: 50, event: 'certificate_reload_failed' })
  t.match(lines[0]?.msg, /GATEWAY_HTTPS_KEY_FILE must hold the key of the certificate/)
  t.notMatch(JSON.stringify(lines), /BEGIN|tls\.key/)
  writeFileSync(httpsKeyFile, second.key)
  await poll(10)
  t.same(changes, [pairOf(second)], 'also where the state of no file has changed')
  writeFileSync(httpsCertFile, 'no certificate')
  state = 'broken'
  await poll(2)
  t.match(lines.at(-1), { level: 50, msg: /GATEWAY_HTTPS_CERT_FILE must name a file with a valid certificate/ })
})

t.test('swapped links are another pair, as Kubernetes replaces mounted secrets', async t => {
  const folder = createTemporaryFolder(t)
  const swap = (version: string, { key, cert }: Issued) => {
    mkdirSync(join(folder, version))
    writeFileSync(join(folder, version, 'tls.key'), key)
    writeFileSync(join(folder, version, 'tls.crt'), cert)
    symlinkSync(version, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  swap('..v1', first)
  for (const name of ['tls.key', 'tls.crt']) symlinkSync(join('..data', name), join(folder, name))
  const { changes } = follow(t, { folder, pollIntervalMs: 5 })
  swap('..v2', second)
  await waitUntil(() => changes.length > 0, 'the renewed pair is in force')
  t.same(changes, [pairOf(second)])
})

t.test('a pipe is not read a second time', async t => {
  const folder = createTemporaryFolder(t)
  execFileSync('mkfifo', [join(folder, 'tls.key'), join(folder, 'tls.crt')])
  const { certificate, changes, lines } = follow(t, { folder, pollIntervalMs: 5 })
  certificate.reload()
  t.same([changes, lines], [[], []])
  t.ok(certificate.expiresAtMs() > 0)
})

t.test('a certificate that has expired is told at the start and whenever it is read', async t => {
  let nowMs = Number.POSITIVE_INFINITY
  const { certificate, lines } = follow(t, { nowMs: () => nowMs })
  const expired = {
    level: 40,
    event: 'certificate_expired',
    expires_at: new Date(certificate.expiresAtMs()).toISOString()
  }
  t.match(lines, [expired])
  certificate.reload()
  t.match(lines.at(-1), expired)
  nowMs = certificate.expiresAtMs()
  certificate.reload()
  t.match(lines.at(-1), { event: 'certificate_reloaded' })
})
