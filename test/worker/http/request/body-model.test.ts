import t from 'tap'
import { setModel } from '../../../../worker/http/request/body-model.ts'
import * as fc from '../../../support/properties.ts'

t.test('an object gets the model, also in place of another one, and keeps its bytes', async t => {
  for (const [body, expected] of [
    ['{}', '{"model":"m"}'],
    [' { } \n', ' { "model":"m"}'],
    ['{"a":1}', '{"a":1,"model":"m"}'],
    ['{"model":"x","a":[{}]}\n', '{"model":"x","a":[{}],"model":"m"}'],
    ['', ''],
    ['[]', '[]'],
    ['"}', '"}'.slice(0, 1).concat(',"model":"m"}')],
    ['}', '}'],
    ['null', 'null']
  ] as const) {
    t.equal(setModel(Buffer.from(body), 'm').toString(), expected, body)
  }
})

t.test('whatever the object and the model are, the model is read back and the rest stays', async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string({ unit: 'grapheme' }), (members, model) => {
      const text = JSON.stringify(members)
      const read = JSON.parse(setModel(Buffer.from(text), model).toString())
      return (
        JSON.stringify({ ...read, model: 0 }) === JSON.stringify({ ...JSON.parse(text), model: 0 }) &&
        read.model === model
      )
    })
  )
})
