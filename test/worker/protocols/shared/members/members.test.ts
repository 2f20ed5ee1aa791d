import t from 'tap'
import type { JsonObject, ProviderAcceptance } from '../../../../../worker/normalized/index.ts'
import { chatCompatibleAcceptance } from '../../../../../worker/protocols/completions/provider/acceptance.ts'
import { nativeV2Acceptance } from '../../../../../worker/protocols/native/acceptance.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { findWord, Members } from '../../../../../worker/protocols/shared/members/members.ts'

const members = new Members(
  {
    kept: { class: 'supported' },
    wish: { class: 'supported', feature: 'seed' },
    others: { class: 'supported', feature: 'additionalFields' },
    lost: { class: 'accepted_ignored', harmless: [1, ['a']] },
    spoken: { class: 'accepted_ignored', harmless: [['text']], refusal: 'output_modality' },
    hint: { class: 'accepted_ignored', harmless: 'any' },
    option: { class: 'not_applicable' },
    native: { class: 'supported', isAdditionalField: true },
    closed: { class: 'supported' },
    'closed.known': { class: 'supported' },
    'closed.lost': { class: 'accepted_ignored' },
    list: { class: 'supported' },
    'list[]': { class: 'supported', isOpen: true },
    'list[].inner[].known': { class: 'supported' }
  },
  { hasAdditionalFields: true }
)

/** The members that are left out, and those that an external provider refuses. */
function visit(body: JsonObject, acceptance: ProviderAcceptance = chatCompatibleAcceptance) {
  const left: string[] = []
  const refused: string[] = []
  const sink = { leaveOut: (path: string) => left.push(path), refuse: (path: string) => refused.push(path) }
  members.visit(body, sink, acceptance)
  return { left, refused }
}

t.test('a member that asks for something beyond the normalized form is left out, in code-point order', async t => {
  const left = (body: JsonObject) => visit(body).left
  for (const lost of [null, false, [], {}, 1, ['a']]) {
    t.strictSame(left({ kept: 5, lost, hint: 'x', option: 'k', wish: 1 }), [], JSON.stringify(lost))
  }
  for (const lost of [true, 0, '', ['a', 'a'], { a: 1 }]) t.strictSame(left({ lost }), ['lost'])
  t.strictSame(left({ others: { a: 1 }, native: 1 }), ['native', 'others'])
  t.strictSame(left({ others: {}, unknown: null, empty: {} }), [])
  t.strictSame(left({ unknown: 1, lost: 2, '\u{1F600}': 1, '\uE000': 1 }), ['lost', 'unknown', '\uE000', '\u{1F600}'])
  t.strictSame(left({ constructor: 1, toString: 2 }), ['constructor', 'toString'])
})

t.test('a member whose loss would change the results is refused', async t => {
  t.strictSame(visit({ spoken: ['audio'] }), { left: [], refused: ['spoken'] })
  t.strictSame(visit({ spoken: ['text'] }), { left: [], refused: [] })
})

t.test('members inside of others have rows of their own', async t => {
  const { left } = visit({
    closed: { known: 1, lost: 2, foreign: 3 },
    list: [{ foreign: 1, inner: [{ known: 1, other: 2 }] }, 5, { inner: [{ other: 1 }] }]
  })
  t.strictSame(left, ['closed.foreign', 'closed.lost', 'list[0].inner[0].other', 'list[2].inner[0].other'])
  t.strictSame(visit({ closed: 'x', list: 'y' }).left, [])
})

t.test('a provider with a place for unknown members gets them, but not those of an object of the protocol', async t => {
  const body = { unknown: 1, native: 1, others: { a: 1 }, lost: 2, closed: { foreign: 3 } }
  t.strictSame(visit(body, nativeV2Acceptance).left, ['lost', 'closed.foreign'])
})

t.test('a path is told apart from a name that only the client knows', async t => {
  for (const path of ['kept', 'closed.known', 'list[3].inner[0].known', 'list[3].anything', 'kept[1].source']) {
    t.ok(members.has(path), path)
  }
  for (const path of ['foreign', 'closed.foreign', 'list[0].inner[0].foreign', 'constructor']) {
    t.notOk(members.has(path), path)
  }
  t.equal(members.find('closed.lost')?.class, 'accepted_ignored')
  t.equal(members.find('closed.foreign'), undefined)
  t.equal(members.find('kept.inner'), undefined)
})

t.test('the word of a member follows from its row and what the provider declares (decisions.md 69)', async t => {
  const word = (path: string, acceptance: ProviderAcceptance, isOwnWire = false) =>
    findWord(members.find(path) ?? { class: 'rejected' }, { acceptance, isOwnWire })
  const words = (acceptance: ProviderAcceptance, isOwnWire = false) =>
    ['kept', 'wish', 'others', 'lost', 'spoken', 'option', 'native', 'nothing'].map(path =>
      word(path, acceptance, isOwnWire)
    )
  const external = ['translated', 'translated', 'ignored', 'ignored', 'refused', 'ignored', 'ignored', 'refused']
  t.strictSame(words(chatCompatibleAcceptance), external)
  const native = ['translated', 'ignored', 'translated', 'ignored', 'ignored', 'ignored', 'sent', 'refused']
  t.strictSame(words(nativeV2Acceptance), native)
  const own = ['sent', 'sent', 'sent', 'sent', 'sent', 'ignored', 'sent', 'sent']
  t.strictSame(words(chatCompatibleAcceptance, true), own)
})

t.test('every table has the members that it describes, at any depth', async t => {
  for (const [protocol, { members: table }] of Object.entries(clientFaces)) {
    for (const path of Object.keys(table.rows)) t.ok(table.has(path), `${protocol} ${path}`)
    t.notOk(table.has('not_a_member'), protocol)
  }
})
