// Gateways that share the limits of one key, in front of a provider that answers at once and has a price.
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type HttpResponse, post } from '../../support/client.ts'
import type { ServingGateway } from '../../support/in-process-gateway.ts'
import { type ProfileOptions, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startStub } from '../../worker/providers/support/stub-upstream.ts'
import { answerChat, wantsStream } from './support.ts'

const ALIAS = 'team/model'
const SECRET = 'shared-key-0123456789'
/** What one request costs. */
export const COST = 10

export interface SharedOptions {
  /** As in a keys file. */
  readonly limits: object
  readonly env: Readonly<Record<string, string>>
}

/** What one request does: its status, and when it was sent and answered. */
export interface Asked {
  readonly status: number
  readonly sentMs: number
  readonly answeredMs: number
  readonly response: HttpResponse
}

export interface SharedGateways {
  /** Starts a gateway; it stops with the test. */
  start(changes?: Readonly<Record<string, string>>): Promise<ServingGateway>
}

/** Writes the files of gateways whose key has these limits, and starts the provider. */
export async function prepareShared(
  t: Test,
  { limits, env }: SharedOptions,
  start: (t: Test, options: ProfileOptions) => Promise<ServingGateway> = startProfileGateway
): Promise<SharedGateways> {
  const stub = await startStub((request, response) => {
    answerChat(response, { isStream: wantsStream(request), text: 'Hello', usage: [COST, 0] })
  })
  t.teardown(() => stub.close())
  const keysFile = join(createTemporaryFolder(t), 'keys.json')
  const keys = [{ name: 'ci', secrets: [{ sha256: hash('sha256', SECRET) }], limits }]
  writeFileSync(keysFile, JSON.stringify({ schema_version: 'gateway.keys.v1', keys }))
  // One of the currency for each token of the prompt.
  const pricing = { input: 1_000_000, output: 0 }
  const profiles = [
    writeChatProfile({ id: 'edge', baseUrl: `${stub.origin}/v1`, aliases: [{ alias: ALIAS, more: { pricing } }] })
  ]
  return {
    start: changes => start(t, { profiles, env: { GATEWAY_KEYS_FILE: keysFile, ...env, ...changes } })
  }
}

/** Sends one request of the key. */
export async function ask({ url }: Pick<ServingGateway, 'url'>): Promise<Asked> {
  const sentMs = performance.now()
  const body = { model: ALIAS, messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 }
  const response = await post(`${url}/v1/chat/completions`, body, { authorization: `Bearer ${SECRET}` })
  return { status: response.status, sentMs, answeredMs: performance.now(), response }
}
