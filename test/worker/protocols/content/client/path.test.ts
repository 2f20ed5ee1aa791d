import t from 'tap'
import { readModelId, readPathModel } from '../../../../../worker/protocols/content/client/path.ts'
import * as fc from '../../../../support/properties.ts'
import { failure } from './support.ts'

t.test('exactly one leading models/ is removed', async t => {
  t.equal(readPathModel('models/gemini-x'), 'gemini-x')
  t.equal(readPathModel('models/models/gemini-x'), 'models/gemini-x')
  t.equal(readModelId('models/GigaChat'), 'GigaChat')
  t.equal(readModelId('my/models/x'), 'my/models/x')
})

t.test('a path without a model or with a tuned model is an unknown URL', async t => {
  for (const name of ['models/', 'tunedModels/x', '']) {
    t.equal(failure(() => readPathModel(name)).code, 'unknown_url', name)
    t.equal(readModelId(name), undefined)
  }
})

t.test('any model id is read unchanged', async () => {
  const id = fc.string({ minLength: 1 }).filter(text => !/^(?:models|tunedModels)\//.test(text))
  fc.assert(fc.property(id, text => readPathModel(text) === text))
})
