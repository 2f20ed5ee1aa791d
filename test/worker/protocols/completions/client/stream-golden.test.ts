import t from 'tap'
import { createCompletionsStreamWriter } from '../../../../../worker/protocols/completions/client/stream.ts'
import { readGoldenCases, updateGolden } from '../../../../golden/files.ts'
import { responseContext } from './support.ts'

for (const golden of readGoldenCases('completions')) {
  t.test(`the stream of ${golden.name} has exactly the bytes of its golden file`, async t => {
    const writer = createCompletionsStreamWriter(responseContext(golden.request))
    const actual = golden.reads.map(read => writer.write(read)).join('')
    if (!updateGolden('completions', golden.name, actual)) t.equal(actual, golden.expected)
  })
}
