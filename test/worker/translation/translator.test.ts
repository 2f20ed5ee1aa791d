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

t.test(
  'decisions.md 103: debugging has a thread of its own, one task at a time, and no client waits for it',
  async t => {
    const translator = createTranslator({ settings, faces: providerFaces, threads: 1, thresholdBytes: 1 })
    t.teardown(() => translator.close())
    const { signal } = new AbortController()
    const ended: string[] = []
    const explain = async (name: string) => {
      const unknown = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`unknown_${index}`, { a: index }]))
      const bytes = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...unknown }))
      const context = {
        task: { type: 'explain', family: 'openai' },
        apiMode: 'v2',
        requestId: name,
        storesByDefault: false,
        nowSeconds: 0
      } as const
      await translator.translateDebug({ bytes, context }, signal)
      ended.push(name)
    }
    const capture = async (name: string) => {
      const rules = { isRedacted: true, extraKeys: [], knownSecrets: [], bytesMax: 1000 }
      const bytes = Buffer.from(JSON.stringify({ a: 'b'.repeat(100) }))
      await translator.writeCapturedBody({ bytes, isCut: false, keepsText: true, rules })
      ended.push(name)
    }
    const debugging = [explain('first explanation'), explain('second explanation')]
    await Promise.all([capture('client'), capture('client')])
    t.same(ended.slice(0, 2), ['client', 'client'], 'clients were served while the explanations ran')
    await Promise.all(debugging)
    t.same(ended.slice(2), ['first explanation', 'second explanation'])
  }
)
