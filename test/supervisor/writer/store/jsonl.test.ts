import { appendFileSync, chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openJsonlSink, writeJsonLine } from '../../../../supervisor/writer/store/jsonl.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'
import { createRecord, createRecords } from '../records.ts'

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
  const sink = await openJsonlSink(path)
  await sink.write(createRecords(2))
  t.equal(statSync(path).mode & 0o777, 0o600)
  chmodSync(path, 0o644)
  await sink.write(createRecords(1))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readLines(path).length, 3)
})

t.test('a symbolic link is not followed', async t => {
  const folder = createTemporaryFolder(t)
  writeFileSync(join(folder, 'target'), '')
  symlinkSync(join(folder, 'target'), join(folder, 'link'))
  await t.rejects(openJsonlSink(join(folder, 'link')), { code: 'ELOOP' })
})

t.test('a record is stored once, also when another process sends it again after a crash', async t => {
  const path = join(createTemporaryFolder(t), 'traffic.jsonl')
  const records = createRecords(5)
  const first = await openJsonlSink(path)
  await first.write(records.slice(0, 3))
  await first.write(records.slice(0, 3))
  // The crash cut off a line.
  appendFileSync(path, writeJsonLine(records[3] ?? createRecord()).slice(0, 40))
  const second = await openJsonlSink(path)
  await second.write(records)
  t.same(
    readLines(path).map(line => (JSON.parse(line) as { id: string }).id),
    records.map(({ id }) => id)
  )
})
