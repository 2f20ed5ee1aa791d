import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { createLogRotation, rotatedName } from '../../../supervisor/files/log-rotation.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const DAY_SECONDS = 24 * 60 * 60

function createRotation(t: Test, maxSizeBytes = 100) {
  const directory = createTemporaryFolder(t)
  const file = join(directory, 'gateway.log')
  writeFileSync(file, '')
  let reopened = 0
  const rotation = createLogRotation(
    {
      log: pino({ enabled: false }),
      nowMs: Date.now,
      reopen: () => {
        reopened += 1
      }
    },
    { file, maxSizeBytes, retentionDays: 7 }
  )
  t.teardown(rotation.close)
  return { directory, file, rotation, reopened: () => reopened }
}

t.test('operations 107: a full log is renamed with its creation time, and every process opens it anew', async t => {
  const { directory, file, rotation, reopened } = createRotation(t)
  appendFileSync(file, 'x'.repeat(99))
  t.equal(rotation.check(), false)
  appendFileSync(file, 'y')
  t.equal(rotation.check(), true)
  t.equal(reopened(), 1)
  t.equal(existsSync(file), false)
  const [rotated] = readdirSync(directory)
  t.match(rotated, /^gateway\.\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{6}\.log$/)
  t.equal(readFileSync(join(directory, String(rotated)), 'utf8').length, 100)
})

t.test('behind a link the file itself is rotated, and the link stays', async t => {
  const { directory, file, rotation } = createRotation(t)
  const link = join(createTemporaryFolder(t), 'link.log')
  symlinkSync(file, link)
  rotation.close()
  const linked = createLogRotation(
    { log: pino({ enabled: false }), nowMs: Date.now, reopen: () => undefined },
    { file: link, maxSizeBytes: 100, retentionDays: 7 }
  )
  t.teardown(linked.close)
  appendFileSync(file, 'x'.repeat(100))
  t.equal(linked.check(), true)
  t.equal(readlinkSync(link), file)
  t.match(readdirSync(directory), [/^gateway\.\d{4}-.*\.log$/])
})

t.test('a log that is a link to stdout, such as /dev/stdout, is not rotated', async t => {
  const directory = createTemporaryFolder(t)
  const link = join(directory, 'link')
  symlinkSync('/proc/self/fd/1', link)
  const output = join(directory, 'output')
  writeFileSync(output, 'x'.repeat(100))
  const script = `import { createLogRotation } from ${JSON.stringify(join(import.meta.dirname, '../../../supervisor/files/log-rotation.ts'))}
    const dependencies = { log: console, nowMs: Date.now, reopen() {} }
    const rotation = createLogRotation(dependencies, { file: ${JSON.stringify(link)}, maxSizeBytes: 100, retentionDays: 7 })
    process.exit(rotation.check() ? 3 : 0)`
  const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', openSync(output, 'a'), 'inherit']
  })
  t.equal(child.status, 0)
  t.same(readdirSync(directory).toSorted(), ['link', 'output'])
  t.equal(readlinkSync(link), '/proc/self/fd/1')
})

t.test(
  'operations 107: rotated files past their retention are deleted at the next rotation, and nothing else',
  async t => {
    const { directory, file, rotation } = createRotation(t)
    const keep = ['gateway.2026-01-02_00-00-00_000000.log', 'gateway.notes.log', 'other.2026-01-01_00-00-00_000000.log']
    const old = 'gateway.2026-01-01_00-00-00_000000.log'
    const seconds = Date.now() / 1000
    for (const name of [...keep, old]) {
      writeFileSync(join(directory, name), '')
      utimesSync(join(directory, name), seconds, seconds - 8 * DAY_SECONDS)
    }
    utimesSync(join(directory, String(keep[0])), seconds, seconds - 6 * DAY_SECONDS)
    appendFileSync(file, 'x'.repeat(100))
    rotation.check()
    const names = readdirSync(directory)
    t.notOk(names.includes(old))
    for (const name of keep) t.ok(names.includes(name), name)
  }
)

t.test('rotated files never overwrite each other', async t => {
  const { directory, file, rotation } = createRotation(t)
  for (let count = 0; count < 5; count += 1) {
    appendFileSync(file, 'x'.repeat(100))
    t.equal(rotation.check(), true)
  }
  t.equal(readdirSync(directory).length, 5)
})

t.test('a rotation that fails at each check is logged once a minute', async t => {
  const file = join(createTemporaryFolder(t), 'gateway.log')
  const lines: string[] = []
  let nowMs = 0
  function reopen(): void {
    throw new Error('not now')
  }
  const rotation = createLogRotation(
    { log: pino({}, { write: line => lines.push(line) }), nowMs: () => nowMs, reopen },
    { file, maxSizeBytes: 1, retentionDays: 1 }
  )
  t.teardown(rotation.close)
  for (; nowMs <= 60_000; nowMs += 1000) {
    appendFileSync(file, 'x')
    t.equal(rotation.check(), false)
  }
  t.same(
    lines.map(line => JSON.parse(line).event),
    ['log_rotation_failed', 'log_rotation_failed']
  )
})

t.test('a missing log file is no error', async t => {
  const directory = createTemporaryFolder(t)
  const rotation = createLogRotation(
    { log: pino({ enabled: false }), nowMs: Date.now, reopen: () => t.fail('nothing to open') },
    { file: join(directory, 'gateway.log'), maxSizeBytes: 1, retentionDays: 1 }
  )
  t.teardown(rotation.close)
  t.equal(rotation.check(), false)
})

t.test('the stamp stands before the ending, in local time with microseconds', async t => {
  const micros = BigInt(new Date(2026, 0, 5, 10, 2, 3, 4).getTime()) * 1000n + 56n
  t.equal(rotatedName('/var/log/gateway.log', micros), '/var/log/gateway.2026-01-05_10-02-03_004056.log')
  t.equal(rotatedName('gateway', micros), 'gateway.2026-01-05_10-02-03_004056')
})
