import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findLastLines, readText } from '../../../../worker/routes/logs/last-lines.ts'
import { isMissing, openRegularFile, toLogError } from '../../../../worker/routes/logs/log-file.ts'
import * as fc from '../../../support/properties.ts'
import { createTemporaryFolder } from '../../../support/temporary.ts'

type Reading = Parameters<typeof findLastLines>[2]

async function readLast(t: Test, content: Buffer, lines: number, reading?: Reading): Promise<Buffer> {
  const path = join(createTemporaryFolder(t), 'a.log')
  writeFileSync(path, content)
  const file = await openRegularFile(path)
  try {
    const blocks: Buffer[] = []
    for await (const block of readText(file, await findLastLines(file, lines, reading), reading)) blocks.push(block)
    return Buffer.concat(blocks)
  } finally {
    await file.close()
  }
}

/** The same for a content in memory. */
function expectLast(content: string, lines: number): string {
  return (content.match(/[^\n]*\n|[^\n]+$/g) ?? []).slice(-lines).join('')
}

t.test('the last lines are those at the end, each with its newline', async t => {
  for (const content of ['', '\n', 'a', 'a\n', 'a\nb', 'a\nb\n', '\n\n', 'a\n\nb\n\n', 'ä\n€\n😀']) {
    for (const lines of [1, 2, 3, 9]) {
      const found = await readLast(t, Buffer.from(content), lines)
      t.equal(found.toString(), expectLast(content, lines), `${lines} of ${JSON.stringify(content)}`)
    }
  }
})

t.test('blocks may end anywhere, also inside of a character', async t => {
  const contents = fc.array(fc.constantFrom('a', 'ä', '€', '😀', '\uFFFD', '\n', '\r'), { maxLength: 60 })
  const property = fc.asyncProperty(
    contents,
    fc.integer({ min: 1, max: 6 }),
    fc.integer({ min: 4, max: 9 }),
    async (characters, lines, blockBytes) => {
      const content = characters.join('')
      const found = await readLast(t, Buffer.from(content), lines, { blockBytes, readBytesMax: 1000 })
      return found.toString() === expectLast(content, lines)
    }
  )
  await t.resolves(fc.assert(property, { numRuns: 60 }))
})

t.test('bytes that are no UTF-8 are dropped, and all others stay', async t => {
  const content = Buffer.concat([
    Buffer.from('a\uFFFD'),
    Buffer.from([0xff, 0xc3]),
    Buffer.from('b\n'),
    Buffer.from([0xe2, 0x82]),
    Buffer.from('ä\uFFFD\n'),
    Buffer.from([0xf0, 0x9f])
  ])
  for (const blockBytes of [4, 5, 6, 7, 64]) {
    const found = await readLast(t, content, 9, { blockBytes, readBytesMax: 1000 })
    t.equal(found.toString(), 'a\uFFFDb\nä\uFFFD\n', `blocks of ${blockBytes}`)
  }
})

t.test('no more is read than the bound, from the start of a line where there is one', async t => {
  const reading = { blockBytes: 8, readBytesMax: 20 }
  const long = Buffer.from(`${'x'.repeat(50)}\n${'a\n'.repeat(5)}`)
  t.equal((await readLast(t, long, 100, reading)).toString(), 'a\n'.repeat(5))
  t.equal((await readLast(t, Buffer.from('x'.repeat(50)), 1, reading)).toString(), 'x'.repeat(20))
  t.equal((await readLast(t, Buffer.from(`${'x'.repeat(50)}\n`), 1, reading)).toString(), `${'x'.repeat(19)}\n`)
})

t.test('without other settings the bound is 8 MiB', async t => {
  const line = `${'a'.repeat(1023)}\n`
  const found = await readLast(t, Buffer.from(line.repeat(9 * 1024)), 5000)
  t.equal(found.length, 5000 * 1024)
  const wide = `${'a'.repeat(4095)}\n`
  t.equal((await readLast(t, Buffer.from(wide.repeat(3000)), 5000)).length, 8 * 1024 * 1024 - 4096)
})

t.test('a missing file and one that is no regular file are errors of their own', async t => {
  const folder = createTemporaryFolder(t)
  for (const path of [join(folder, 'no.log'), join(folder, 'no', 'no.log')]) {
    const error = await openRegularFile(path).catch(thrown => thrown)
    t.ok(isMissing(error), path)
    t.match(toLogError(error), { code: 'log_file_not_found', status: 404 })
  }
  const error = await openRegularFile(folder).catch(thrown => thrown)
  t.notOk(isMissing(error))
  t.match(toLogError(error), { code: 'log_file_unreadable', status: 500, cause: error })
})
