import t from 'tap'
import { isGatewayCallId, readToolCallId, writeToolCallId } from '../../../worker/normalized/index.ts'

const uuid = '019e8373-dc9a-7883-af60-ebb20b79e1e1'

t.test('an id carries the state id, the name and the number of the call', async t => {
  const id = writeToolCallId({ stateId: uuid, name: 'order_status', callNumber: 2, nonce: 'unused' })
  t.match(id, /^call_gw_[a-zA-Z0-9_-]+$/)
  t.same(readToolCallId(id), { stateId: uuid, name: 'order_status', callNumber: 2, isOwn: true })
})

t.test('the longest name that tools may have fits beside a uuid', async t => {
  const name = 'n'.repeat(64)
  const id = writeToolCallId({ stateId: uuid, name, callNumber: 0, nonce: '' })
  t.ok(id.length <= 128)
  t.equal(readToolCallId(id).name, name)
})

t.test('decisions.md 39: without a name an id has at most 40 characters and carries the same state', async t => {
  const write = (stateId: string | undefined, callNumber = 2) =>
    writeToolCallId({ stateId, name: undefined, callNumber, nonce: uuid })
  t.equal(write(uuid).length, 36)
  t.same(readToolCallId(write(uuid)), { stateId: uuid, callNumber: 2, isOwn: true })
  t.same(readToolCallId(write('ts-1')), { stateId: 'ts-1', callNumber: 2, isOwn: true })
  const bare = 's'.repeat(32)
  t.same(readToolCallId(write(bare)), { stateId: bare, callNumber: 2, isOwn: true })
  t.same(readToolCallId(write('s'.repeat(36))), { callNumber: 2, isOwn: true }, 'a state that does not fit is left out')
  t.same(readToolCallId(write(undefined)), { callNumber: 2, isOwn: true })
})

t.test('decisions.md 39: a uuid keeps its case, and a state id that is left out is reported', async t => {
  const upper = '77D3FB14-457A-46BA-937E-8D856156D003'
  const reported: string[] = []
  const read = (stateId: string, name?: string) => {
    const onStateLeftOut = () => reported.push(stateId)
    const id = writeToolCallId({ stateId, name, callNumber: 3, nonce: uuid, onStateLeftOut })
    t.ok(id.length <= (name === undefined ? 62 : 128))
    return readToolCallId(id)
  }
  t.same(read(upper), { stateId: upper, callNumber: 3, isOwn: true })
  t.same(read(upper, 'f'), { stateId: upper, name: 'f', callNumber: 3, isOwn: true })
  t.same(read(uuid), { stateId: uuid, callNumber: 3, isOwn: true })
  const digits = '12345678-1234-1234-1234-123456789012'
  t.same(read(digits), { stateId: digits, callNumber: 3, isOwn: true })
  t.same(read('ts-1').stateId, 'ts-1')
  t.same(reported, [])
  const mixed = `${upper.replace('FB', 'fb')}`
  t.same(read(mixed), { callNumber: 3, isOwn: true })
  t.same(read('s'.repeat(36)), { callNumber: 3, isOwn: true })
  t.same(reported, [mixed, 's'.repeat(36)])
})

t.test('decisions.md 39: ids that earlier builds issued are read', async t => {
  const issued = {
    call_gw_AQIQAZ6Dc9yaeIOvYOuyC3nh4W9yZGVyX3N0YXR1cz9K: { stateId: uuid, name: 'order_status', callNumber: 2 },
    call_gw_AgAEdHMtMWe60A: { stateId: 'ts-1', name: 'g', callNumber: 0 },
    call_gw_AwEQAZ6Dc9yaeIOvYOuyC3nh4WdldF93ZWF0aGVyr5A: { name: 'get_weather', callNumber: 1 }
  }
  for (const [id, identity] of Object.entries(issued)) t.same(readToolCallId(id), { ...identity, isOwn: true }, id)
})

t.test('a nonce makes an id unique and is never taken for a state id', async t => {
  const write = (nonce: string) => writeToolCallId({ stateId: undefined, name: 'f', callNumber: 0, nonce })
  t.not(write(uuid), write('0b6f0a52-7a51-4a0e-9c11-0d6f1b1f2a77'))
  t.same(readToolCallId(write(uuid)), { name: 'f', callNumber: 0, isOwn: true })
  t.same(readToolCallId(write('x'.repeat(500))), { name: 'f', callNumber: 0, isOwn: true })
})

t.test('a prefix that a family puts in front does not hide a gateway id', async t => {
  const id = writeToolCallId({ stateId: 'ts-1', name: 'f', callNumber: 0, nonce: '' })
  t.equal(readToolCallId(`fc_${id}`).stateId, 'ts-1')
  t.equal(readToolCallId(`toolu_${id}`).stateId, 'ts-1')
})

t.test('an altered or cut gateway id yields no state id', async t => {
  const id = writeToolCallId({ stateId: uuid, name: 'f', callNumber: 0, nonce: '' })
  const altered = `${id.slice(0, 12)}${id[12] === 'A' ? 'B' : 'A'}${id.slice(13)}`
  t.same(readToolCallId(altered), { callNumber: 0, isOwn: false })
  t.same(readToolCallId(id.slice(0, -3)), { callNumber: 0, isOwn: false })
  t.same(readToolCallId('call_gw_'), { callNumber: 0, isOwn: false })
  for (const prefix of ['fc_', 'call_', 'toolu_']) {
    t.same(readToolCallId(prefix + id.slice(0, -3)), { callNumber: 0, isOwn: false }, prefix)
    t.equal(isGatewayCallId(prefix + id.slice(0, -3)), true)
  }
  for (const foreign of ['call_abc', 'fc_call_abc', 'my_call_gw_1', 'gw_1']) t.equal(isGatewayCallId(foreign), false)
})

t.test('a foreign id carries nothing (decisions.md 85)', async t => {
  for (const id of ['call_abc', 'fc_call_abc', 'ts-1#2', 'ts-1__3', 'toolu_01ab', 'call_', uuid]) {
    t.same(readToolCallId(id), { callNumber: 0, isOwn: false }, id)
  }
})

t.test('a long state id makes a longer id, which is distinct per call, and is read back', async t => {
  for (const [stateId, name] of [
    ['s'.repeat(35), undefined],
    [`${'s'.repeat(70)}__7.`, 'f']
  ] as const) {
    const ids = [0, 1].map(callNumber => writeToolCallId({ stateId, name, callNumber, nonce: 'n' }))
    t.not(ids[0], ids[1])
    for (const [callNumber, id] of ids.entries()) t.match(readToolCallId(id), { stateId, callNumber, isOwn: true })
  }
})

t.test('a state id that cannot come back exactly is not carried at all', async t => {
  for (const stateId of ['s'.repeat(500), `${'s'.repeat(100)}.`, `gw_${'s'.repeat(100)}`, '']) {
    const id = writeToolCallId({ stateId, name: 'f', callNumber: 0, nonce: uuid })
    t.same(readToolCallId(id), { name: 'f', callNumber: 0, isOwn: true })
  }
})
