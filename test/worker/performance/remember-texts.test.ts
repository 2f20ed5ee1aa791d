import t from 'tap'
import { rememberTexts } from '../../../worker/performance/remember-texts.ts'

/** A function that counts how often it computes. */
function counted() {
  let calls = 0
  const compute = rememberTexts(text => `${text}:${++calls}`)
  return { compute, calls: () => calls }
}

t.test('a text is computed once', async t => {
  const { compute, calls } = counted()
  t.equal(compute('a'), 'a:1')
  t.equal(compute('b'), 'b:2')
  t.equal(compute('a'), 'a:1')
  t.equal(calls(), 2)
})

t.test('a long text is computed each time', async t => {
  const { compute, calls } = counted()
  for (let time = 0; time < 3; time++) compute('x'.repeat(513))
  t.equal(calls(), 3)
})

t.test('the memory begins anew when it is full', async t => {
  const { compute, calls } = counted()
  for (let index = 0; index < 1024; index++) compute(String(index))
  compute('0')
  t.equal(calls(), 1024)
  compute('one more')
  compute('0')
  t.equal(calls(), 1026)
})
