// Members that the specification accepts and ignores at the top level of every body (specification.md 4.6).

import t from 'tap'
import { upstreamChats } from '../../support/client.ts'

import { NATIVE_ALIAS, providers, startBridge } from '../bridge/providers/index.ts'
import { askIn, families } from './support.ts'

const { emulator, gateway } = await startBridge(t)

const container = { id: 'container-canary', skills: [{ type: 'anthropic', skill_id: 'pptx' }] }
const mcp_servers = [{ type: 'url', name: 'm', url: 'https://canary.example/mcp', authorization_token: 'canary' }]

for (const family of families) {
  t.test(`${family}: container and mcp_servers have no effect on a native route`, async t => {
    for (const prefix of family === 'content' ? ['/v1/v1beta', '/v2/v1beta'] : ['/v1', '/v2']) {
      for (const more of [{ container }, { mcp_servers }, { container: 'canary', mcp_servers: [] }]) {
        for (const stream of [false, true]) {
          const response = await askIn(gateway, family, 'hi', { model: NATIVE_ALIAS, prefix, more, stream })
          t.equal(response.status, 200, `${prefix} ${JSON.stringify(more)} ${response.text}`)
          const [sent] = upstreamChats(emulator).slice(-1)
          t.notMatch(JSON.stringify(sent?.body), /canary|container|mcp_servers/)
        }
      }
    }
  })

  t.test(`${family}: they do not reach a provider of another wire either, and a notice says so`, async t => {
    for (const { aliases, passes } of providers) {
      if (passes === family) continue
      const more = { container, mcp_servers }
      const response = await askIn(gateway, family, 'hi', { model: aliases.keyless, more })
      t.equal(response.status, 200, `${aliases.keyless} ${response.text}`)
      t.notMatch(JSON.stringify(upstreamChats(emulator).at(-1)?.body), /canary|container|mcp_servers/)
      t.equal(response.headers.get('x-gateway-ignored'), 'container, mcp_servers', aliases.keyless)
    }
  })
}
