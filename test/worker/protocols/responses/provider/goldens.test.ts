import t from 'tap'
import { cutsOf } from '../../../../support/properties.ts'
import { checkGrammar } from '../../../normalized/grammar.ts'
import { listGoldens, writeLines } from '../../native/support.ts'
import { readStream, readWhole } from './support.ts'

for (const { name, isStream, bytes, expect } of listGoldens('responses-compatible')) {
  t.test(`responses-compatible: ${name} gives its events, wherever it is cut (A12, A13)`, async t => {
    const read = (pieces: readonly Uint8Array[]) => (isStream ? readStream(pieces) : readWhole(Buffer.concat(pieces)))
    const events = read([bytes])
    const lines = writeLines(events)
    t.equal(lines, expect(lines))
    t.same(checkGrammar(events), [])
    for (const cut of isStream ? cutsOf(bytes.length) : []) {
      const cutLines = writeLines(read([bytes.subarray(0, cut), bytes.subarray(cut)]))
      if (cutLines !== lines) t.equal(cutLines, lines, `cut at byte ${cut}`)
    }
    const single = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    t.equal(writeLines(read(single)), lines, 'byte by byte')
  })
}
