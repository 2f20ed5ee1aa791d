// Reads every golden of a contract, at once, cut at bytes of it and at every byte, and compares the events with the expected ones.

import t from 'tap'
import { cutsOf } from '../../../support/properties.ts'
import { checkGrammar } from '../../normalized/grammar.ts'
import { listGoldens, type NativeFace, readStream, readWhole, type Setup, writeLines } from './support.ts'

export function testGoldens(
  family: 'native-v1' | 'native-v2',
  face: NativeFace,
  setups: Record<string, Setup> = {}
): void {
  for (const golden of listGoldens(family)) {
    const setup = setups[golden.name] ?? {}
    if (!golden.isStream) {
      t.test(`${family}: the whole response ${golden.name} gives its events`, async t => {
        const events = readWhole(face, golden.bytes, setup)
        const lines = writeLines(events)
        t.equal(lines, golden.expect(lines))
        t.same(checkGrammar(events), [])
      })
      continue
    }
    t.test(`${family}: the stream ${golden.name} gives its events`, async t => {
      const events = readStream(face, [golden.bytes], setup)
      const lines = writeLines(events)
      t.equal(lines, golden.expect(lines))
      t.same(checkGrammar(events), [])
    })
    t.test(`${family}: the stream ${golden.name} gives the same events wherever it is cut (A12, A13)`, async t => {
      const lines = golden.expect(writeLines(readStream(face, [golden.bytes], setup)))
      const { bytes } = golden
      for (const cut of cutsOf(bytes.length)) {
        const cutLines = writeLines(readStream(face, [bytes.subarray(0, cut), bytes.subarray(cut)], setup))
        if (cutLines !== lines) t.equal(cutLines, lines, `cut at byte ${cut}`)
      }
      const single = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
      t.equal(writeLines(readStream(face, single, setup)), lines, 'byte by byte')
    })
  }
}
