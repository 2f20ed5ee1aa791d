// A keys file that is read again while the gateway serves (keys.md 1).
import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { openKeysFile } from '../../../supervisor/keys/keys-file.ts'
import { createKeysInForce } from '../../../supervisor/keys/keys-in-force.ts'
import { createKeysReload } from '../../../supervisor/keys/keys-reload.ts'
import { waitUntil } from '../../support/processes.ts'
import { stepTimers } from '../../support/stepped-timers.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const CANARY = 'canary-hunter2'
const keysText = (names: readonly string[], secrets?: unknown[]) =>
  JSON.stringify({
    schema_version: 'gateway.keys.v1',
    keys: names.map(name => ({
      name,
      secrets: secrets ?? [{ sha256: createHash('sha256').update(name).digest('hex') }]
    }))
  })

interface Options {
  /** What tells the files apart; absent: their state. */
  sign?: (paths: readonly string[]) => Promise<string>
  path?: string
  pollIntervalMs?: number
}

function follow(t: Test, path: string, { sign, pollIntervalMs }: Options = {}) {
  const file = openKeysFile(parseSettings({ GATEWAY_KEYS_FILE: path }), {
    lookup: () => undefined,
    hasPrices: true,
    isDemo: false
  })
  if (file === undefined) throw new Error('There is a file.')
  const keys = createKeysInForce(file.loaded.keys)
  const changes: KeySet[] = []
  keys.onChanged(changed => changes.push(changed))
  const lines: Array<Record<string, unknown>> = []
  const log = pino({ base: null, timestamp: false }, { write: line => lines.push(JSON.parse(line)) })
  const failures: number[] = []
  const reload = createKeysReload({ log, keys, onFailed: () => failures.push(1) }, file, {
    ...(sign && { sign }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs })
  })
  t.teardown(reload.close)
  return {
    ...reload,
    lines,
    names: () => keys.current()?.keys.map(({ name }) => name),
    changes: () => changes.length,
    failures: () => failures.length
  }
}

t.test('a request to reload puts the new keys in force, and says so with counts and the revision alone', async t => {
  const path = join(createTemporaryFolder(t), 'keys.json')
  writeFileSync(path, keysText(['one']))
  const { reload, lines, names, changes } = follow(t, path)
  writeFileSync(path, keysText(['one', 'two']))
  reload()
  t.same(names(), ['one', 'two'])
  t.equal(changes(), 1)
  const [line = {}, ...more] = lines
  t.same(more, [])
  t.match(line, { level: 30, event: 'keys_reloaded', key_count: 2, group_count: 0 })
  t.match(line.keys_revision, /^sha256:/)
  t.notMatch(JSON.stringify(line), /one|two|keys\.json/)
  reload()
  t.equal(changes(), 1, 'equal keys replace nothing')
  t.match(lines[1], { event: 'keys_reloaded', msg: /nothing has changed/ })
})

t.test('keys 14: a faulty file leaves the old keys in force, with one ERROR line that names the places', async t => {
  const path = join(createTemporaryFolder(t), 'keys.json')
  writeFileSync(path, keysText(['one']))
  const { reload, lines, names, changes, failures } = follow(t, path)
  writeFileSync(path, keysText(['ONE', 'two'], [{ [CANARY]: CANARY }]))
  reload()
  t.same(names(), ['one'])
  t.equal(changes(), 0)
  t.equal(failures(), 1)
  t.equal(lines.length, 1)
  t.match(lines[0], { level: 50, event: 'keys_reload_failed' })
  t.match(lines[0]?.msg, /invalid_keys_file: .*\(keys\[0\]\.name: .*; keys\[1\]\.secrets\[0\]: has an unknown member/)
  t.notMatch(JSON.stringify(lines), new RegExp(`${CANARY}|keys\\.json`))
  writeFileSync(path, keysText(['two']))
  reload()
  t.same(names(), ['two'])
})

t.test('a change of the files is found, once they have been at rest for a poll', async t => {
  const pass = stepTimers(t)
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'keys.json')
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'secret-of-16-characters')
  writeFileSync(path, keysText(['one'], [{ file: secret }]))
  let state = 'a'
  const asked: Array<readonly string[]> = []
  const sign = async (paths: readonly string[]) => {
    asked.push(paths)
    return state
  }
  const { lines, changes, names, failures } = follow(t, path, { sign })
  const poll = async () => {
    pass(1000)
    await turn()
  }
  await poll()
  await poll()
  t.same(asked[0], [path, secret], 'the files of secrets count as well')
  t.same([changes(), lines.length], [0, 0], 'what has not changed since the start is silent')

  writeFileSync(path, keysText(['one', 'two']))
  state = 'b'
  await poll()
  t.equal(changes(), 0, 'the file may still be written')
  await poll()
  t.equal(changes(), 1)
  t.same(names(), ['one', 'two'])
  await poll()
  t.equal(lines.length, 1)

  writeFileSync(path, '{')
  state = 'c'
  for (let polls = 0; polls < 30; polls += 1) await poll()
  t.same(names(), ['one', 'two'])
  t.equal(failures(), 1, 'one fault is one line')
  writeFileSync(path, keysText(['two']))
  for (let polls = 0; polls < 10; polls += 1) await poll()
  t.same(names(), ['two'], 'a fault is looked at again, also where the state of no known file changes')
  t.same(
    lines.map(({ event }) => event),
    ['keys_reloaded', 'keys_reload_failed', 'keys_reloaded']
  )
})

t.test('swapped links are another file, as Kubernetes replaces mounted secrets', async t => {
  const folder = createTemporaryFolder(t)
  const swap = (version: string, names: string[]) => {
    mkdirSync(join(folder, version))
    writeFileSync(join(folder, version, 'keys.json'), keysText(names))
    symlinkSync(version, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  swap('..v1', ['one'])
  symlinkSync(join('..data', 'keys.json'), join(folder, 'keys.json'))
  const { names } = follow(t, join(folder, 'keys.json'), { pollIntervalMs: 5 })
  t.same(names(), ['one'])
  swap('..v2', ['two'])
  await waitUntil(() => names()?.[0] === 'two', 'the new keys are in force')
})

t.test('a file that is closed is read no more', async t => {
  const pass = stepTimers(t)
  const path = join(createTemporaryFolder(t), 'keys.json')
  writeFileSync(path, keysText(['one']))
  const asked: Array<readonly string[]> = []
  const sign = async (paths: readonly string[]) => String(asked.push(paths))
  const { close } = follow(t, path, { sign })
  pass(1000)
  close()
  await turn()
  pass(10_000)
  t.equal(asked.length, 1)
})
