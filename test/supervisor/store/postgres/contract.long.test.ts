import t from 'tap'
import { startPostgres } from '../../../support/postgres.ts'
import { createPostgresStores } from '../../../support/postgres-stores.ts'
import { testResponseStore } from '../contract.cases.ts'

const stores = await createPostgresStores(t, await startPostgres(t))

const makeDatabase = async () => (await stores.createDatabase()).open

testResponseStore('Postgres', makeDatabase, { sharesOutputs: true })
