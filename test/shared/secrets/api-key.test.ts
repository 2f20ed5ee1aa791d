import t from 'tap'
import { findApiKey, readBearer } from '../../../shared/secrets/api-key.ts'

function find(headers: Record<string, string>, query: Record<string, string | string[]> = {}, isBearerTaken = false) {
  return findApiKey(headers, query, { isBearerTaken })?.toString()
}

t.test('operations 32: a key is found in every carrier', async t => {
  t.equal(find({ authorization: 'Bearer k1' }), 'k1')
  t.equal(find({ authorization: 'bearer k1' }), 'k1')
  t.equal(find({ authorization: 'BEARER   k1  ' }), 'k1')
  t.equal(find({ 'x-api-key': 'k1' }), 'k1')
  t.equal(find({ 'x-goog-api-key': 'k1' }), 'k1')
  t.equal(find({ 'api-key': 'k1' }), 'k1')
  t.equal(find({}, { key: 'k1' }), 'k1')
  t.equal(find({}, { 'x-api-key': 'k1' }), 'k1')
  t.equal(find({}), undefined)
})

t.test('operations 33: the first carrier that is present is the only one that counts', async t => {
  const all = { authorization: 'Bearer 1', 'x-api-key': '4', 'x-goog-api-key': '5' }
  t.equal(find(all, { 'x-api-key': '2', key: '3' }), '1')
  t.equal(find({ ...all, authorization: '' }, { 'x-api-key': '2', key: '3' }), '2')
  t.equal(find({ ...all, authorization: 'Bearer ' }, { 'x-api-key': '', key: '3' }), '3')
  t.equal(find({ 'x-api-key': '4', 'x-goog-api-key': '5' }), '4')
  t.equal(find({ 'x-api-key': ' ', 'x-goog-api-key': '5' }), '5')
  t.equal(find({ 'x-goog-api-key': '5', 'api-key': '6' }), '5')
  t.equal(find({ 'x-api-key': '', 'api-key': '6' }), '6')
  t.equal(find({ 'x-api-key': 'k1' }, { key: ['', 'bad', 'k1'] }), 'bad')
})

t.test('operations 34: another authorization scheme is ignored and the next carrier is used', async t => {
  t.equal(find({ authorization: 'Basic Zm9v', 'x-api-key': 'k1' }), 'k1')
  t.equal(find({ authorization: 'Bearerk1', 'x-api-key': 'k1' }), 'k1')
})

t.test('a bearer token that is upstream authorization is not taken for a key', async t => {
  t.equal(find({ authorization: 'Bearer upstream-auth-a', 'x-api-key': 'k1' }, {}, true), 'k1')
  t.equal(find({ authorization: 'Bearer upstream-auth-a' }, {}, true), undefined)
})

t.test('the bearer scheme is read in any case, and the token is trimmed', async t => {
  t.equal(readBearer('Bearer  a b '), 'a b')
  t.equal(readBearer('Bearer'), undefined)
  t.equal(readBearer('Token a'), undefined)
  t.equal(readBearer(undefined), undefined)
})
