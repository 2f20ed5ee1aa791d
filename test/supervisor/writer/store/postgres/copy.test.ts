import t from 'tap'
import { writeCopyText } from '../../../../../supervisor/writer/store/postgres/copy.ts'

t.test('rows become lines whose values hold no tab, line feed or lone backslash', async t => {
  t.equal(
    writeCopyText([
      ['plain', 1, null, ''],
      ['a\tb\nc\rd', '\\N', '\\.', '{"a":"\\\\"}']
    ]),
    ['plain\t1\t\\N\t', 'a\\tb\\nc\\rd\t\\\\N\t\\\\.\t{"a":"\\\\\\\\"}', ''].join('\n')
  )
  t.equal(writeCopyText([]), '')
})
