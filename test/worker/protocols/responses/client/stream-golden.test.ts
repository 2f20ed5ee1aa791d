import t from 'tap'
import { accumulateEvents } from '../../../../../worker/normalized/index.ts'
import { createResponsesStreamWriter } from '../../../../../worker/protocols/responses/client/stream.ts'
import { writeResponsesResponse } from '../../../../../worker/protocols/responses/client/write-response.ts'
import { readGoldenCases, updateGolden } from '../../../../golden/files.ts'
import { readResponsesStrictly } from '../../../../properties/responses-events.ts'
import { accumulateWithSdk, responseContext, withoutHelperMembers } from './support.ts'

/** The only stream whose response id changes at its end; the official SDK's helper refuses it. */
const CHANGES_ITS_ID = 'thread-last'

for (const golden of readGoldenCases('responses')) {
  const context = responseContext(golden.request)

  t.test(`the stream of ${golden.name} has exactly the bytes of its golden file`, async t => {
    const writer = createResponsesStreamWriter(context)
    const actual = golden.reads.map(read => writer.write(read)).join('')
    if (!updateGolden('responses', golden.name, actual)) t.equal(actual, golden.expected)
  })

  t.test(
    `the stream of ${golden.name} follows the rules of the official SDK, and ends with the whole response (F3)`,
    async t => {
      const { response } = readResponsesStrictly(golden.expected)
      const events = golden.reads.flat()
      if (events.every(event => event.type !== 'error')) {
        t.same(response, writeResponsesResponse(accumulateEvents(events), context))
      } else t.equal(response.status, 'failed')
      if (golden.name !== CHANGES_ITS_ID)
        t.same(withoutHelperMembers(await accumulateWithSdk(golden.expected)), response)
    }
  )
}
