import t from 'tap'
import { shiftError, shiftFields } from '../../../worker/memory/shift-paths.ts'
import { GatewayError, invalidRequest } from '../../../worker/normalized/index.ts'

const places = { historyLength: 3, ownIndexes: [0, 2] }
const shift = (error: GatewayError) => shiftError(error, places, 'previous_response_id')

t.test('errors name the items of the client by its own indexes', async t => {
  const error = shift(invalidRequest('input[4].content[1].image_url', `'input[4].content[1].image_url' is no URL.`))
  t.match(error, { code: 'invalid_request', param: 'input[2].content[1].image_url' })
  t.equal(error.message, `'input[2].content[1].image_url' is no URL.`)
})

t.test('an error about the history names the member that continues it', async t => {
  const error = shift(invalidRequest('input[1].role', `'input[1].role' must be a string.`))
  t.equal(error.param, 'previous_response_id')
  t.notMatch(error.message, /input\[/)
})

t.test('other errors stay what they are', async t => {
  t.equal(shift(invalidRequest('model', 'x')).param, 'model')
  t.equal(shift(new GatewayError('rate_limited', { retryAfter: '3' })).retryAfter, '3')
  const error = invalidRequest('input[1]', 'x')
  t.equal(shiftError(error, { historyLength: 0, ownIndexes: [0, 1] }, 'conversation'), error)
})

t.test('notices about the history were given with its own turns', async t => {
  t.same(shiftFields(['seed', 'input[0].type', 'input[3].status', 'input[4].content[0]'], places), [
    'seed',
    'input[0].status',
    'input[2].content[0]'
  ])
})
