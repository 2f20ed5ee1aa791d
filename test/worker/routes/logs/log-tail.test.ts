import { appendFileSync, renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type LogTailOptions, openLogTail } from '../../../../worker/routes/logs/log-tail.ts'
import * as fc from '../../../support/properties.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'

async function start(t: Test, content: string, options: Partial<LogTailOptions> = {}) {
  const path = options.path ?? join(createTemporaryFolder(t), 'a.log')
  if (options.path === undefined) writeFileSync(path, content)
  const tail = await openLogTail({ ...options, path })
  t.teardown(() => tail.close())
  /** Reads until nothing new came twice. */
  async function readAll(): Promise<Array<{ text: string; id: string }>> {
    const found = []
    for (let emptyReads = 0; emptyReads < 2; ) {
      const lines = await tail.read()
      found.push(...(lines ?? []))
      emptyReads = lines === undefined ? emptyReads + 1 : 0
    }
    return found
  }
  const readOnce = async () => (await tail.read())?.map(({ text }) => text)
  const readTexts = async () => (await readAll()).map(({ text }) => text)
  return { path, readOnce, readAll, readTexts }
}

t.test(
  'only whole lines that were written behind the start are handed out, without white space around them',
  async t => {
    const { path, readTexts } = await start(t, 'old\n')
    t.same(await readTexts(), [])
    appendFileSync(path, ' one \r\n\n  \ntw')
    t.same(await readTexts(), ['one'])
    appendFileSync(path, 'o\nthree\n')
    t.same(await readTexts(), ['two', 'three'])
  }
)

t.test('a tail may begin with the last lines: what is written meanwhile comes once and behind them', async t => {
  const lines = fc.array(fc.constantFrom('a', 'bb', 'ä€', '😀'), { minLength: 0, maxLength: 9 })
  const counts = fc.tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 1, max: 7 }))
  const property = fc.asyncProperty(lines, lines, counts, async (before, after, [count, blockBytes]) => {
    const content = before.map((text, index) => `${index} ${text}\n`).join('')
    const { path, readTexts } = await start(t, content, { lines: count, blockBytes })
    appendFileSync(path, after.map((text, index) => `new ${index} ${text}\n`).join(''))
    const expected = [
      ...before.map((text, index) => `${index} ${text}`).slice(count === 0 ? before.length : -count),
      ...after.map((text, index) => `new ${index} ${text}`)
    ]
    return JSON.stringify(await readTexts()) === JSON.stringify(expected)
  })
  await t.resolves(fc.assert(property, { numRuns: 50 }))
  const cut = await start(t, 'one\ntwo\nunfin', { lines: 2 })
  appendFileSync(cut.path, 'ished\n')
  t.same(await cut.readTexts(), ['two', 'unfinished'], 'a line that is being written counts')
  const [{ id } = { id: '' }] = await (await start(t, '', { path: cut.path, lines: 3 })).readAll()
  const resumed = await start(t, '', { path: cut.path, lastId: id, lines: 3 })
  t.same(await resumed.readTexts(), ['two', 'unfinished'], 'an id goes before the number of lines')
})

t.test('any way to cut the bytes gives the same lines', async t => {
  const lines = fc.array(fc.constantFrom('a', 'ä€', '😀😀', 'xyz'), { minLength: 1, maxLength: 12 })
  const property = fc.asyncProperty(lines, fc.integer({ min: 1, max: 7 }), async (texts, blockBytes) => {
    const { path, readTexts } = await start(t, '', { blockBytes })
    appendFileSync(path, `${texts.join('\n')}\n`)
    return JSON.stringify(await readTexts()) === JSON.stringify(texts)
  })
  await t.resolves(fc.assert(property, { numRuns: 50 }))
})

t.test('a line that is too long is cut, and the next one is whole', async t => {
  const { path, readTexts } = await start(t, '', { blockBytes: 8, lineBytesMax: 20 })
  appendFileSync(path, `${'x'.repeat(100)}\nnext\n`)
  t.same(await readTexts(), ['x'.repeat(20), 'next'])
})

t.test('bytes that are no UTF-8 are dropped', async t => {
  const { path, readTexts } = await start(t, '')
  appendFileSync(path, Buffer.from([0x61, 0xff, 0x62, 0xe2, 0x82, 10]))
  t.same(await readTexts(), ['ab'])
})

t.test('after a rotation come the last lines of the old file, then all of the new one', async t => {
  const { path, readOnce, readTexts } = await start(t, 'old\n')
  renameSync(path, `${path}.1`)
  t.same(await readTexts(), [], 'nothing is there yet under the name')
  appendFileSync(`${path}.1`, 'last\n')
  writeFileSync(path, 'first\n')
  t.same(await readOnce(), ['last'])
  t.equal(await readOnce(), undefined)
  // A process that has not opened the new file yet.
  appendFileSync(`${path}.1`, 'late\n')
  t.same(await readOnce(), ['late'])
  const found: string[] = []
  for (let reads = 0; reads < 4; reads += 1) found.push(...((await readOnce()) ?? []))
  t.same(found, ['first'])
  appendFileSync(path, 'second\n')
  t.same(await readTexts(), ['second'])
})

t.test('an old file that is written without end does not hide the new one', async t => {
  const { path, readOnce } = await start(t, '')
  renameSync(path, `${path}.1`)
  writeFileSync(path, 'first\n')
  const found: string[] = []
  for (let reads = 0; reads < 40; reads += 1) {
    found.push(...((await readOnce()) ?? []))
    if (!found.includes('first')) appendFileSync(`${path}.1`, `old ${reads}\n`)
  }
  t.equal(found.at(-1), 'first')
})

t.test('a file that is cut off is read from its start', async t => {
  const { path, readTexts } = await start(t, 'a long first line\n')
  appendFileSync(path, 'half a l')
  t.same(await readTexts(), [])
  truncateSync(path)
  appendFileSync(path, 'new\n')
  t.same(await readTexts(), ['new'])
})

t.test('a tail goes on behind the line that its id names', async t => {
  const { path, readAll } = await start(t, 'old\n')
  appendFileSync(path, 'one\ntwo\nthree\n')
  const [one, two] = await readAll()
  t.match(one?.id, /^[0-9a-z.]+-8$/)
  const again = await start(t, '', { path, lastId: two?.id })
  t.same(await again.readTexts(), ['three'])
  for (const lastId of ['', 'x', '-1', '12', `${one?.id}x`, `${'9'.repeat(99)}-1`]) {
    t.same(await (await start(t, '', { path, lastId })).readTexts(), [], `${lastId} names no place`)
  }
  unlinkSync(path)
  writeFileSync(path, 'new one\n')
  const rotated = await start(t, '', { path, lastId: two?.id })
  t.same(await rotated.readTexts(), ['new one'], 'all of a file that is newer')
})

t.test('a missing file rejects', async t => {
  await t.rejects(openLogTail({ path: join(createTemporaryFolder(t), 'no.log') }), { code: 'ENOENT' })
})
