import t from 'tap'
import { TextQueue } from '../../../worker/normalized/text-queue.ts'
import * as fc from '../../support/properties.ts'

t.test('a queue gives back what was pushed, in order, however it is taken', async t => {
  const action = fc.oneof(fc.string(), fc.nat({ max: 20 }))
  fc.assert(
    fc.property(fc.array(action), actions => {
      const queue = new TextQueue()
      let expected = ''
      for (const one of actions) {
        if (typeof one === 'string') {
          queue.push(one)
          expected += one
        } else {
          t.equal(queue.take(one), expected.slice(0, one))
          expected = expected.slice(one)
        }
        t.equal(queue.length, expected.length)
      }
      t.equal(queue.take(queue.length), expected)
    })
  )
})

t.test('pieces that were taken are let go', async t => {
  const queue = new TextQueue()
  for (let round = 0; round < 5000; round++) {
    queue.push('ab')
    queue.push('c')
    t.equal(queue.take(3), 'abc')
  }
  t.equal(queue.length, 0)
})
