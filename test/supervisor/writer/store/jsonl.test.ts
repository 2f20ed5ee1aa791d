import {
  appendFileSync,
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openJsonlSink, writeJsonLine } from '../../../../supervisor/writer/store/jsonl.ts'
import { JsonlRotation } from '../../../../supervisor/writer/store/jsonl-rotation.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { createRecord, createRecords } from '../records.ts'

const rotation = {
  bytesMax: 1e9,
  retentionDays: 30,
  nowMs: Date.now,
  onFailed: (error: unknown) => {
    throw error
  }
}
const readLines = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)

t.test(
  'a line has its members in order, with spaces, without absent members and with its letters as they are',
  async t => {
    const record = createRecord({
      id: 'b',
      request_id: 'Привет "x"',
      metadata: { path: '/a', lifecycle: 'request_error' }
    })
    t.equal(
      writeJsonLine(record),
      '{"created_at": "2026-01-05T10:00:00.123456Z", "id": "b", "metadata": {"lifecycle": "request_error", "path": "/a"}, ' +
        '"method": "POST", "protocol": "openai", "request_id": "Привет \\"x\\"", "route": "/v1/chat/completions", ' +
        '"status_code": 200}\n'
    )
  }
)

t.test('the file is private even if it was not, and its folder is made', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'a/b/traffic.jsonl')
  const sink = await openJsonlSink(path, rotation)
  await sink.write(createRecords(2))
  t.equal(statSync(path).mode & 0o777, 0o600)
  chmodSync(path, 0o644)
  await sink.write(createRecords(1))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readLines(path).length, 3)
})

t.test('a folder that was removed is made again', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'a/traffic.jsonl')
  const sink = await openJsonlSink(path, rotation)
  await sink.write(createRecords(1))
  rmSync(join(folder, 'a'), { recursive: true })
  await sink.write(createRecords(2))
  t.equal(readLines(path).length, 2)
})

t.test('a rotation that failed is tried again a minute later, and at once where the clock was set back', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'traffic.jsonl')
  writeFileSync(path, 'a line\n')
  const status = statSync(path)
  let nowMs = Date.now()
  let failures = 0
  const onFailed = () => {
    failures += 1
  }
  const gone = new JsonlRotation(join(folder, 'gone.jsonl'), { ...rotation, bytesMax: 1, nowMs: () => nowMs, onFailed })
  t.ok(gone.isDue(status))
  await gone.rotate(status)
  t.equal(failures, 1)
  t.notOk(gone.isDue(status))
  nowMs += 60_000
  t.ok(gone.isDue(status))
  await gone.rotate(status)
  t.notOk(gone.isDue(status))
  nowMs -= 3_600_000
  t.ok(gone.isDue(status))
})

t.test('a symbolic link is not followed', async t => {
  const folder = createTemporaryFolder(t)
  writeFileSync(join(folder, 'target'), '')
  symlinkSync(join(folder, 'target'), join(folder, 'link'))
  await t.rejects(openJsonlSink(join(folder, 'link'), rotation), { code: 'ELOOP' })
})

t.test('a record is stored once, also when another process sends it again after a crash', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.jsonl')
  const records = createRecords(5)
  const first = await openJsonlSink(path, rotation)
  await first.write(records.slice(0, 3))
  await first.write(records.slice(0, 3))
  // The crash cut off a line.
  appendFileSync(path, writeJsonLine(records[3] ?? createRecord()).slice(0, 40))
  const second = await openJsonlSink(path, rotation)
  await second.write(records)
  t.same(
    readLines(path).map(line => (JSON.parse(line) as { id: string }).id),
    records.map(({ id }) => id)
  )
})

t.test('a record that is twice in one batch is stored once', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.jsonl')
  const sink = await openJsonlSink(path, rotation)
  const records = createRecords(2)
  await sink.write([...records, ...records])
  t.equal(readLines(path).length, 2)
})

t.test('the unfinished line of another process is ended before the next record', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.jsonl')
  const sink = await openJsonlSink(path, rotation)
  appendFileSync(path, '{"cut')
  await sink.write(createRecords(1))
  t.equal(readLines(path).length, 2)
  t.equal(readLines(path)[0], '{"cut')
})

t.test('a full file gets a name of its day, and records in it are not written again', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'traffic.jsonl')
  const options = { ...rotation, bytesMax: 500 }
  const records = createRecords(3)
  const sink = await openJsonlSink(path, options)
  await sink.write(records)
  await sink.write(createRecords(3))
  await sink.write(createRecords(1))
  const day = new Date().toISOString().slice(0, 10)
  t.same(readdirSync(folder).sort(), [`traffic.${day}.0001.jsonl`, `traffic.${day}.0002.jsonl`, 'traffic.jsonl'].sort())
  t.equal(readLines(path).length, 1)
  const second = await openJsonlSink(path, rotation)
  await second.write(records)
  t.equal(readLines(path).length, 1, 'the ids of rotated files are known')
})

t.test('a file of an earlier day is rotated, and files beyond the retention are deleted', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'traffic.jsonl')
  const aged = join(folder, 'traffic.2026-01-01.0001.jsonl')
  const foreign = join(folder, 'traffic.old.jsonl')
  for (const file of [aged, foreign]) {
    writeFileSync(file, '')
    utimesSync(file, 0, 0)
  }
  let nowMs = Date.now()
  const sink = await openJsonlSink(path, { ...rotation, nowMs: () => nowMs })
  await sink.write(createRecords(1))
  nowMs += 24 * 60 * 60 * 1000
  await sink.write(createRecords(1))
  const files = readdirSync(folder)
  t.equal(files.length, 3)
  t.notOk(files.includes('traffic.2026-01-01.0001.jsonl'))
  t.ok(files.includes('traffic.old.jsonl'), 'a file of another name stays')
  t.equal(readLines(path).length, 1)
})

t.test('a rotation replaces no file', async t => {
  const folder = createTemporaryFolder(t)
  const path = join(folder, 'traffic.jsonl')
  const day = new Date().toISOString().slice(0, 10)
  const sink = await openJsonlSink(path, { ...rotation, bytesMax: 1 })
  await sink.write(createRecords(1))
  writeFileSync(join(folder, `traffic.${day}.0001.jsonl`), 'of another process')
  await sink.write(createRecords(1))
  t.equal(readFileSync(join(folder, `traffic.${day}.0001.jsonl`), 'utf8'), 'of another process')
  t.equal(readLines(join(folder, `traffic.${day}.0002.jsonl`)).length, 1)
})
