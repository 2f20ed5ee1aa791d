import t from 'tap'
import { createMessagesStreamWriter } from '../../../../../worker/protocols/messages/client/stream.ts'
import { readGoldenCases, updateGolden } from '../../../../golden/files.ts'
import { responseContext } from './support.ts'

for (const golden of readGoldenCases('messages')) {
  t.test(`the stream of ${golden.name} has exactly the bytes of its golden file`, async t => {
    const writer = createMessagesStreamWriter(responseContext(golden.request))
    const actual = golden.reads.map(read => writer.write(read)).join('')
    if (!updateGolden('messages', golden.name, actual)) t.equal(actual, golden.expected)
  })
}
