import t from 'tap'
import * as undici from 'undici'
import { buildConnector, Client, loadProxyAgent, Pool } from '../../../../worker/providers/http/undici.ts'

t.test('the parts are those of the package’s index', async t => {
  t.equal(Client, undici.Client)
  t.equal(Pool, undici.Pool)
  t.equal(buildConnector, undici.buildConnector)
  t.equal(loadProxyAgent(), undici.EnvHttpProxyAgent)
})
