// Profile files that are made to keep the parser busy: its bounds refuse them soon.

import t, { type Test } from 'tap'
import { createFileInspector, expectRefusal, type Inspected, MALFORMED_MESSAGE, SCHEMA_MESSAGE } from './support.ts'

const inspectFile = createFileInspector(t)

const FILE_BYTES_MAX = 1_048_576
/** A document that a machine reads is short for every file. */
const DOCUMENT_LENGTH_MAX = 300
/** Of the tests with hostile files. Without its bounds the parser takes several minutes for them, even on a machine of its own. */
const HOSTILE_TIMEOUT_MS = 120_000

function expectMalformed(t: Test, result: Inspected): void {
  expectRefusal(t, result, 'invalid_profile_schema', MALFORMED_MESSAGE)
  t.ok(result.output.length < DOCUMENT_LENGTH_MAX)
}

const fillUp = (piece: string) => piece.repeat(Math.floor(FILE_BYTES_MAX / piece.length))
const laughs = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
for (const [index, name] of [...'bcdefghij'].entries()) {
  laughs.push(`${name}: &${name} [${Array(10).fill(`*${'abcdefghi'[index]}`).join(', ')}]`)
}

const hostileTexts: Record<string, string> = {
  'a billion laughs': laughs.join('\n'),
  'a list of laughs in a merge': `${laughs.join('\n')}\nk: {<<: {m: *j}}`,
  'a recursive alias': 'a: &a [*a]',
  'a recursive merge': 'a: &a {<<: *a}',
  'an alias below its own anchor': '&a {profiles: [{b: *a}]}',
  'nested lists': fillUp('['),
  'nested maps': fillUp('{a: '),
  'nested block lists': fillUp('- '),
  'nested explicit keys': fillUp('? '),
  'nested anchors': `${Array.from({ length: 70 }, (_, index) => `a${index}: &a${index} [${index === 0 ? '1' : `*a${index - 1}`}]`).join('\n')}`,
  'closing brackets': fillUp(']'),
  commas: `[${fillUp(',').slice(1)}`,
  quotes: fillUp('"'),
  'many keys': Array.from({ length: 100_000 }, (_, index) => `k${index}:`).join('\n'),
  'many errors': fillUp('"a" "b"\n'),
  'many tags': fillUp('!a '),
  'many aliases': `a: &a 1\nb: [${fillUp('*a,').slice(20)}`,
  'many directives': fillUp('%YAML 1.1\n'),
  'a long number': `${fillUp('9').slice(1)}:`,
  'control characters': fillUp('\0').slice(8),
  'a long escape': `"${fillUp('\\')}`
}

t.test('a hostile YAML file gives a short error document soon', { timeout: HOSTILE_TIMEOUT_MS }, async t => {
  for (const [name, text] of Object.entries(hostileTexts)) {
    const result = inspectFile(text.slice(0, FILE_BYTES_MAX))
    expectRefusal(t, result, 'invalid_profile_schema')
    t.ok(result.output.length < DOCUMENT_LENGTH_MAX, name)
    t.ok(result.warnings.join().length < DOCUMENT_LENGTH_MAX, name)
  }
})

t.test('a hostile JSON file gives a short error document soon', { timeout: HOSTILE_TIMEOUT_MS }, async t => {
  const keys = Array.from({ length: 90_000 }, (_, index) => `"k${index}":1`)
  const hostile = {
    'nested lists': '['.repeat(FILE_BYTES_MAX / 2) + ']'.repeat(FILE_BYTES_MAX / 2),
    'open lists': fillUp('['),
    'many keys': `{${keys.join(',')}}`,
    'many lists': `[${fillUp('[],').slice(6, -1)}]`,
    'many escapes': `"${fillUp('\\n').slice(4)}"`
  }
  for (const [name, text] of Object.entries(hostile)) {
    const result = inspectFile(text, { name: 'hostile.json' })
    expectRefusal(t, result, 'invalid_profile_schema')
    t.ok(result.output.length < DOCUMENT_LENGTH_MAX, name)
  }
})

t.test('the bounds count what aliases stand for, and hold exactly', async t => {
  const list = (count: number) => `[${Array(count).fill('1').join(', ')}]`
  // One node for the map, one for each of its two keys, and two lists of 49 998 items or fewer.
  expectRefusal(t, inspectFile(`a: &a ${list(49_997)}\nb: *a`), 'invalid_profile_schema', SCHEMA_MESSAGE)
  expectMalformed(t, inspectFile(`a: &a ${list(49_998)}\nb: *a`))
  // One node for the list. Neither bound counts a comma at its end.
  expectRefusal(t, inspectFile(`[${'1,'.repeat(99_999)}]`), 'invalid_profile_schema', SCHEMA_MESSAGE)
  expectMalformed(t, inspectFile(`[${'1,'.repeat(100_000)}]`))
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  expectRefusal(t, inspectFile(nested(64)), 'invalid_profile_schema', SCHEMA_MESSAGE)
  expectMalformed(t, inspectFile(nested(65)))
  expectRefusal(t, inspectFile(`a: &a ${nested(60)}\nb: [[[*a]]]`), 'invalid_profile_schema', SCHEMA_MESSAGE)
  expectMalformed(t, inspectFile(`a: &a ${nested(60)}\nb: [[[[*a]]]]`))
})
