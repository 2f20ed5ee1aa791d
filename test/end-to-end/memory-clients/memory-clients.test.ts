// The clients that most applications use, with a store in a file. All of them are in the long set, with both databases.

import t from 'tap'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { createDatabaseFile, startRoutes, testClients } from './scenario.ts'

const strangers = refuseOtherHosts(t)
const { gateway } = await startRoutes(t, createDatabaseFile(t))
const FREQUENT = ['ai 6', 'ai 7', 'langchain, previous_response_id']

testClients(t, { url: gateway.url, store: 'SQLite', isIncluded: name => FREQUENT.includes(name) })

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
