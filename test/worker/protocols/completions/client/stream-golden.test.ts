import t from 'tap'
import { readGoldenCases, updateGolden } from '../../../../golden/files.ts'
import { responseContext, writeStream } from './support.ts'

for (const golden of readGoldenCases('completions')) {
  t.test(`the stream of ${golden.name} has exactly the bytes of its golden file`, async t => {
    const actual = writeStream(golden.reads, responseContext(golden.request))
    if (!updateGolden('completions', golden.name, actual)) t.equal(actual, golden.expected)
  })
}
