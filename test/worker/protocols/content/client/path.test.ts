import t from 'tap'
import { readModelId, readOperationPath } from '../../../../../worker/protocols/content/client/path.ts'
import * as fc from '../../../../support/properties.ts'
import { failure } from './support.ts'

t.test('the last colon separates the model from the operation', async t => {
  t.strictSame(readOperationPath('gemini-x:generateContent'), { model: 'gemini-x', operation: 'generateContent' })
  t.strictSame(readOperationPath('X:2.0:streamGenerateContent'), { model: 'X:2.0', operation: 'streamGenerateContent' })
  t.strictSame(readOperationPath('google/gemini-x:countTokens'), { model: 'google/gemini-x', operation: 'countTokens' })
  t.strictSame(readOperationPath('a/b:embedContent'), { model: 'a/b', operation: 'embedContent' })
})

t.test('exactly one leading models/ is removed', async t => {
  t.equal(readOperationPath('models/gemini-x:batchEmbedContents').model, 'gemini-x')
  t.equal(readOperationPath('models/models/gemini-x:generateContent').model, 'models/gemini-x')
  t.equal(readModelId('models/GigaChat'), 'GigaChat')
  t.equal(readModelId('my/models/x'), 'my/models/x')
})

t.test('a path without a model and a known operation is an unknown URL', async t => {
  for (const rest of [
    'm:predict',
    'm:GenerateContent',
    'm:',
    'm',
    ':generateContent',
    'models/:generateContent',
    'tunedModels/x:generateContent',
    ''
  ]) {
    t.equal(failure(() => readOperationPath(rest)).code, 'unknown_url', rest)
  }
  t.equal(readModelId('tunedModels/x'), undefined)
  t.equal(readModelId('models/'), undefined)
})

t.test('any model id is read unchanged', async () => {
  const id = fc.string({ minLength: 1 }).filter(text => !/^(?:models|tunedModels)\//.test(text))
  fc.assert(fc.property(id, text => readOperationPath(`${text}:generateContent`).model === text))
})
