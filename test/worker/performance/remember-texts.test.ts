import t from 'tap'
import { rememberCombinations, rememberTexts } from '../../../worker/performance/remember-texts.ts'

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

/** The same for two values, of which the second may be anything. */
function countedPairs() {
  let calls = 0
  const compute = rememberCombinations((text: string, value: unknown) => `${text}:${typeof value}:${++calls}`)
  return { compute, calls: () => calls }
}

t.test('a combination is computed once, in the order of its values', async t => {
  const { compute, calls } = countedPairs()
  const value = {}
  t.equal(compute('a', value), 'a:object:1')
  t.equal(compute('a', undefined), 'a:undefined:2')
  t.equal(compute('b', value), 'b:object:3')
  t.equal(compute('a', value), 'a:object:1')
  t.equal(compute('a', undefined), 'a:undefined:2')
  t.equal(compute('a', {}), 'a:object:4', 'another object is another value')
  t.equal(calls(), 4)
})

t.test('a combination with a long text is computed each time, and the memory begins anew when it is full', async t => {
  const { compute, calls } = countedPairs()
  for (let time = 0; time < 3; time++) compute('a', 'x'.repeat(513))
  t.equal(calls(), 3)
  for (let index = 0; index < 1024; index++) compute(String(index % 10), index)
  compute('0', 0)
  t.equal(calls(), 3 + 1024)
  compute('one', 'more')
  compute('0', 0)
  t.equal(calls(), 3 + 1026)
})

t.test('of one value alone the memory is that of its text', async t => {
  let calls = 0
  const compute = rememberCombinations((text: string) => `${text}:${++calls}`)
  t.same([compute('a'), compute('b'), compute('a')], ['a:1', 'b:2', 'a:1'])
})
