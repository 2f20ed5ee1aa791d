import t from 'tap'
import { LeftOut } from '../../../worker/bridge/left-out.ts'
import { nameModel } from '../../../worker/bridge/name-model.ts'
import { GatewayError, invalidRequest, unsupportedSemantic } from '../../../worker/normalized/index.ts'

t.test('fields are gathered once each, in code-point order', async t => {
  const leftOut = new LeftOut(false)
  for (const path of ['top_k', 'seed', 'tools[8]', 'seed', '']) leftOut.add(path)
  t.strictSame(leftOut.list(), ['seed', 'tools[8]', 'top_k'])
  t.strictSame(new LeftOut(false).list(), [])
})

t.test('whoever wants exactness gets the first one as a refusal (decisions.md 71)', async t => {
  const leftOut = new LeftOut(true)
  t.throws(() => leftOut.add('seed', 'reason'), { code: 'unsupported_semantic', param: 'seed', cause: 'reason' })
})

t.test('a refusal names the field and the model (decisions.md 80)', async t => {
  const read = (thrown: unknown, model = 'x/chat') => nameModel(thrown, model) as GatewayError
  const plain = read(unsupportedSemantic('reasoning.summary', 'why'))
  t.match(plain, {
    message: `'reasoning.summary' is not supported by model 'x/chat'.`,
    param: 'reasoning.summary',
    model: 'x/chat',
    cause: 'why',
    status: 400
  })
  t.equal(read(plain, 'other'), plain, 'once')
  const own = new GatewayError('unsupported_semantic', { param: 'store', message: 'Nothing is stored.' })
  t.equal(read(own).message, `'store' is not supported by model 'x/chat'. Nothing is stored.`)
  t.equal(read(unsupportedSemantic('model')).message, `The request is not supported by model 'x/chat'.`)
  t.equal(read(unsupportedSemantic('')).message, `The request is not supported by model 'x/chat'.`)
  const other = invalidRequest('input', 'Wrong.')
  t.equal(read(other), other)
  t.equal(nameModel(plain, undefined), plain)
})
