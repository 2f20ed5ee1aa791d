import t from 'tap'
import {
  createContentArrayWriter,
  createContentStreamWriter
} from '../../../../../worker/protocols/content/client/stream.ts'
import { readGoldenCases, updateGolden } from '../../../../golden/files.ts'
import { responseContext } from './support.ts'

const forms = [
  { folder: 'content', form: 'stream', createWriter: createContentStreamWriter },
  { folder: 'content/array', form: 'array', createWriter: createContentArrayWriter }
]

for (const { folder, form, createWriter } of forms) {
  for (const golden of readGoldenCases(folder)) {
    t.test(`the ${form} of ${golden.name} has exactly the bytes of its golden file`, async t => {
      const writer = createWriter(responseContext(golden.request))
      const actual = [...golden.reads.map(read => writer.write(read)), writer.brokenEnd ?? ''].join('')
      if (!updateGolden(folder, golden.name, actual)) t.equal(actual, golden.expected)
    })
  }
}

t.test('nothing is written for events after the end', async t => {
  for (const { createWriter } of forms) {
    const writer = createWriter(responseContext())
    const end = { type: 'finish', reason: 'stop', providerReason: 'stop', metadata: {} } as const
    t.equal(writer.write([end, end]).split(`"finishReason":"STOP"`).length, 2)
    t.equal(writer.write([{ type: 'text-delta', text: 'late' }, end]), '')
  }
})
