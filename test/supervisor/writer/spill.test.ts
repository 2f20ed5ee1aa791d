import { appendFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Spill, type SpillOptions } from '../../../supervisor/writer/spill.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createRecord, createRecords } from './records.ts'

function optionsIn(directory: string, options: Partial<SpillOptions> = {}): SpillOptions {
  return {
    directory,
    name: 'postgres',
    bytesMax: 1_000_000,
    recordBytesMax: 100_000,
    onDropped: () => undefined,
    onFailure: () => undefined,
    ...options
  }
}

async function readAll(spill: Spill, countMax: number): Promise<string[]> {
  const ids: string[] = []
  while (!spill.isEmpty) {
    const { records, taken } = await spill.read(countMax, 1e6)
    ids.push(...records.map(({ request_id }) => request_id))
    await taken()
  }
  return ids
}

t.test('records come back in their order, in pieces, and leave nothing on disk', async t => {
  const directory = createTemporaryFolder(t)
  const spill = await Spill.open(optionsIn(directory))
  const records = createRecords(10)
  await spill.append(records.slice(0, 4))
  await spill.append(records.slice(4))
  t.ok(spill.bytes > 0)
  t.same(
    await readAll(spill, 3),
    records.map(({ request_id }) => request_id)
  )
  t.same(readdirSync(directory), [])
  await spill.append(records.slice(0, 1))
  t.same(await readAll(spill, 3), ['0'], 'it can be used again')
})

t.test('what is not taken is read again', async t => {
  const spill = await Spill.open(optionsIn(createTemporaryFolder(t)))
  await spill.append(createRecords(3))
  await spill.read(2, 1e6)
  t.equal((await spill.read(2, 1e6)).records[0]?.request_id, '0')
  await spill.close()
})

t.test('the next process finds the records of a crashed one, but for the line that was cut off', async t => {
  const directory = createTemporaryFolder(t)
  const first = await Spill.open(optionsIn(directory))
  await first.append(createRecords(2))
  await first.close()
  const [file = ''] = readdirSync(directory)
  t.equal(file, 'postgres.00000001.ndjson')
  t.equal(statSync(join(directory, file)).mode & 0o777, 0o600)
  t.equal(readFileSync(join(directory, file), 'utf8').split('\n').length, 3, 'one line for each record')
  appendFileSync(join(directory, file), '{"id":"half')
  const second = await Spill.open(optionsIn(directory))
  await second.append([createRecord({ request_id: 'later' })])
  t.same(await readAll(second, 10), ['0', '1', 'later'])
})

t.test('the oldest records make room and are counted', async t => {
  const directory = createTemporaryFolder(t)
  let dropped = 0
  const onDropped = (count: number) => {
    dropped += count
  }
  const first = await Spill.open(optionsIn(directory))
  await first.append(createRecords(3))
  await first.close()
  const spill = await Spill.open(optionsIn(directory, { bytesMax: first.bytes + 10, onDropped }))
  await spill.append([createRecord({ request_id: 'new' })])
  t.equal(dropped, 3)
  t.equal(spill.lost, 3)
  t.same(await readAll(spill, 10), ['new'])
})

t.test('of records that make room, those that were taken do not count as lost', async t => {
  let dropped = 0
  const spill = await Spill.open(
    optionsIn(createTemporaryFolder(t), {
      bytesMax: 1_000,
      onDropped: count => {
        dropped += count
      }
    })
  )
  await spill.append(createRecords(3))
  await (await spill.read(2, 1e6)).taken()
  await spill.append([createRecord({ request_id: 'new', error_message: 'x'.repeat(500) })])
  t.equal(dropped, 1)
  t.same(await readAll(spill, 10), ['new'])
})

t.test('a segment that cannot be read is left out and reported, with what is known of it', async t => {
  const directory = createTemporaryFolder(t)
  const failures: unknown[] = []
  const onFailure = (error: unknown, lost: number) => failures.push([(error as NodeJS.ErrnoException).code, lost])
  const earlier = await Spill.open(optionsIn(directory))
  await earlier.append(createRecords(4))
  await earlier.close()
  const spill = await Spill.open(optionsIn(directory, { onFailure }))
  await spill.append(createRecords(2))
  for (const name of readdirSync(directory)) rmSync(join(directory, name))
  t.same(await spill.read(10, 1e6).then(({ records }) => records), [])
  t.same(failures, [
    ['ENOENT', 0],
    ['ENOENT', 2]
  ])
  t.ok(spill.isEmpty)
  await spill.append([createRecord({ request_id: 'later' })])
  t.same(await readAll(spill, 10), ['later'])
})

t.test('a read ends at its bound of bytes, but has one record at least', async t => {
  const spill = await Spill.open(optionsIn(createTemporaryFolder(t)))
  await spill.append(createRecords(5))
  t.equal((await spill.read(5, 1)).records.length, 1)
  t.equal((await spill.read(5, spill.bytes / 2)).records.length, 3)
  t.equal((await spill.read(5, 1e6)).records.length, 5)
  await spill.close()
})

t.test('a segment that was read to its end while it was written keeps what came last', async t => {
  const spill = await Spill.open(optionsIn(createTemporaryFolder(t)))
  await spill.append(createRecords(2))
  const { taken } = await spill.read(10, 1e6)
  await Promise.all([spill.append([createRecord({ request_id: 'later' })]), taken()])
  t.same(await readAll(spill, 10), ['later'])
  t.equal(spill.ageMs, 0)
})
