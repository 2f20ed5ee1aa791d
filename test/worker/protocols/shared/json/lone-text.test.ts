// One text member of an object is replaced as the general editor does it, or not at all.

import t from 'tap'
import { JsonEdits } from '../../../../../worker/protocols/shared/json/edits.ts'
import { createLoneText, replaceLoneText } from '../../../../../worker/protocols/shared/json/lone-text.ts'
import { editJson } from '../../../../../worker/protocols/shared/json/spans.ts'
import * as fc from '../../../../support/properties.ts'

const lone = createLoneText('modelVersion', 'an "alias"')

function replace(text: string): string | undefined {
  return replaceLoneText(Buffer.from(text), lone)?.toString('utf8')
}

t.test('the member of the outermost object is replaced', async t => {
  t.equal(replace('{"modelVersion":"m"}'), '{"modelVersion":"an \\"alias\\""}')
  t.equal(
    replace('{"a":[{"b":1}], "modelVersion" : "m\\"" ,"c":{"d":[]}} '),
    '{"a":[{"b":1}], "modelVersion" : "an \\"alias\\"" ,"c":{"d":[]}} '
  )
})

t.test('whatever may be something else is left to the general editor', async t => {
  for (const text of [
    '{}',
    '{"a":"modelVersion"}',
    '{"a":{"modelVersion":"m"}}',
    '{"a":[{"modelVersion":"m"}],"b":1}',
    '{"a":{"modelVersion":"m"},"modelVersion":"m"}',
    '{"a\\"modelVersion":"m"}',
    '{"a":"\\"modelVersion\\":\\"m\\"}"}',
    '{"modelVersion":7}',
    '{"modelVersion":null,"a":"m"}',
    '{"\\u006dodelVersion":"m","modelVersion":"m"}',
    `{"modelVersion":"m","a":"${'x'.repeat(2000)}"}`
  ]) {
    t.equal(replace(text), undefined, text.slice(0, 80))
  }
})

t.test('the result is that of the general editor for any object', async _t => {
  const edits = new JsonEdits()
  edits.replaceText(['modelVersion'], 'an "alias"')
  const name = fc.constantFrom('modelVersion', 'a', 'a"modelVersion', 'modelVersion"', 'é', '')
  const value = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('modelVersion', '"modelVersion":"m"', '}', '\\', 7, null, true),
      fc.string(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3 })
    )
  })).value
  fc.assert(
    fc.property(fc.dictionary(name, value, { maxKeys: 4 }), fc.constantFrom(undefined, 2), (object, indent) => {
      const bytes = Buffer.from(JSON.stringify(object, null, indent))
      const replaced = replaceLoneText(bytes, lone)
      return replaced === undefined || replaced.equals(editJson(bytes, edits).edited)
    }),
    { numRuns: 2000 }
  )
})
