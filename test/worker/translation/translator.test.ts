import t from 'tap'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createTranslator } from '../../../worker/translation/translator.ts'

const dynamic = { profileId: 'p', providerKind: 'native', passModel: true, defaultEmbeddingsModel: 'e' }
const settings = { routes: { aliases: new Map(), dynamic }, providerOptions: {} }

t.test('the place where a response is read follows from what its values cost', async t => {
  const translator = createTranslator({ settings, faces: providerFaces, threads: 1, thresholdBytes: 500_000 })
  t.teardown(() => translator.close())
  const place = (value: unknown) => translator.placeReading(Buffer.from(JSON.stringify(value)))
  t.equal(place('x'.repeat(10_000)), 'here')
  t.equal(place('x'.repeat(20_000)), 'own-turn')
  t.equal(place('x'.repeat(600_000)), 'thread')
  const calls = Array.from({ length: 1_000 }, (_, index) => ({
    name: 'lookup',
    arguments: { order: `order-${index}` },
    id: index
  }))
  t.equal(place(calls), 'own-turn')
  t.equal(place(Array.from({ length: 50_000 }, () => 1)), 'thread', 'a body full of the smallest values')
})

t.test('without threads a large response is read in a turn of its own', async t => {
  const translator = createTranslator({ settings, faces: providerFaces, threads: 0, thresholdBytes: 500_000 })
  t.equal(translator.placeReading(Buffer.alloc(600_000)), 'own-turn')
  let isSecondBegun = false
  const first = translator.ownTurn()
  const second = translator.ownTurn().then(() => {
    isSecondBegun = true
  })
  await first
  for (let step = 0; step < 10; step++) await Promise.resolve()
  t.notOk(isSecondBegun)
  await second
})
