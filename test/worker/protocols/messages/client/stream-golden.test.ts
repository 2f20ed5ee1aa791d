import t from 'tap'
import { dropLaterCalls, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { createMessagesStreamWriter } from '../../../../../worker/protocols/messages/client/stream.ts'
import { readGoldenCases, updateGolden } from '../../../../golden/files.ts'
import { responseContext } from './support.ts'

for (const golden of readGoldenCases('messages')) {
  t.test(`the stream of ${golden.name} has exactly the bytes of its golden file`, async t => {
    const context = responseContext(golden.request)
    const writer = createMessagesStreamWriter(context)
    // The provider's side drops the later calls before the writer sees them.
    const select = (read: NormalizedEvent[]) =>
      context.request.parallelToolCalls === 'refused' ? dropLaterCalls(read) : read
    const actual = golden.reads.map(read => writer.write(select(read))).join('')
    if (!updateGolden('messages', golden.name, actual)) t.equal(actual, golden.expected)
  })
}
