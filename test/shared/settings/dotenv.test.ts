import t from 'tap'
import { parseDotenv } from '../../../shared/settings/dotenv.ts'
import * as fc from '../../support/properties.ts'

const parse = (text: string, environment: Record<string, string> = {}) => ({ ...parseDotenv(text, environment).values })

t.test('plain assignments, exports, blanks and comments', async t => {
  t.same(parse('A=1\n export B = two \n# C=3\nD=a#b # comment\nE=\n\n=x\nnot an assignment\n'), {
    A: '1',
    B: 'two',
    D: 'a#b',
    E: ''
  })
})

t.test('double quotes interpret escapes, single quotes keep everything', async t => {
  t.same(parse(`A="one\\ntwo # no comment"\nB='one\\ntwo \${A}'\nC="say \\"hi\\""\nD="back\\\\n"`), {
    A: 'one\ntwo # no comment',
    B: `one\\ntwo \${A}`,
    C: 'say "hi"',
    D: 'back\\n'
  })
})

t.test('a quoted value may span lines', async t => {
  t.same(parse('A="one\ntwo"\nB=3'), { A: 'one\ntwo', B: '3' })
})

t.test('references take the environment first, earlier lines second, and nothing third', async t => {
  const text = `HOST=file\nURL=http://\${HOST}:\${PORT}/\${MISSING}\nFALLBACK="\${MISSING:-other} \${HOST:-other}"\nKEPT="\\\${HOST}"`
  t.same(parse(text, { PORT: '80' }), {
    HOST: 'file',
    URL: 'http://file:80/',
    FALLBACK: 'other file',
    KEPT: `\${HOST}`
  })
  t.equal(parse(`A=\${HOST}`, { HOST: 'environment' }).A, 'environment')
})

t.test('Windows line ends are no part of a value', async t => {
  t.same(parse('A=1\r\nB="2"\r\n'), { A: '1', B: '2' })
})

t.test('a value that was quoted comes back as it was', async t => {
  fc.assert(
    fc.property(fc.string(), value => {
      const quoted = value.replace(/["\\$]/g, '\\$&')
      t.equal(parse(`A="${quoted}"`).A, value)
    })
  )
})

t.test('a line that is neither assignment nor comment is reported by its number', async t => {
  const ignoredLines = (text: string) => parseDotenv(text, {}).ignoredLines
  t.same(
    ignoredLines('A=1\n\n # comment\nnot an assignment\nexport B="two\nlines" # comment\n=x\n1A=2\nexport C\n'),
    [4, 7, 8, 9]
  )
  t.same(ignoredLines('A=1\r\nsecret\r\n\r\n  secret\r\nB=#2'), [2, 4])
  t.same(ignoredLines(''), [])
})
