// The cases of the Open Responses suite: what they check of responses, and where they run.

import { join } from 'node:path'
import type { Test } from 'tap'
import { post, readFrames } from '../../support/client.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { NATIVE_ALIAS, providers, startBridge } from '../bridge/providers/index.ts'
import { KEPT_ALIAS, writeKeptProfile } from '../bridge/providers/kept-responses.ts'
import { judgeEvent, responseSchema } from './open-responses-schemas.ts'
import type { Loose } from './support.ts'

export interface Place {
  /** Such as `http://127.0.0.1:8090/v1`. */
  baseUrl: string
  model: string
}

export type Cases = ReadonlyArray<[name: string, check: (t: Test, place: Place) => Promise<void>]>

export const say = (content: unknown, role = 'user', more: object = {}) => ({ type: 'message', role, content, ...more })

export function checkCompleted(t: Test, response: Loose): void {
  const { error } = responseSchema.safeParse(response)
  t.equal(error?.message, undefined, 'the response has the form of the specification')
  t.equal(response.status, 'completed')
  t.ok(response.output.length > 0)
}

export function checkEvents(t: Test, events: Loose[]): void {
  t.strictSame(events.map(judgeEvent).filter(Boolean), [], 'the events have the form of the specification')
  t.strictSame(
    events.map(event => event.sequence_number),
    events.map((_, index) => index)
  )
}

export async function askWhole(t: Test, { baseUrl, model }: Place, body: object): Promise<Loose> {
  const { status, json, text } = await post(`${baseUrl}/responses`, { model, ...body })
  t.equal(status, 200, status === 200 ? 'the request is served' : text)
  checkCompleted(t, json)
  return json
}

export async function askStream(t: Test, { baseUrl, model }: Place, body: object): Promise<Loose[]> {
  const { status, text } = await post(`${baseUrl}/responses`, { model, stream: true, ...body })
  t.equal(status, 200, status === 200 ? 'the request is served' : text)
  const events = readFrames(text)
  checkEvents(t, events)
  checkCompleted(t, events.at(-1)?.response)
  return events
}

const routes = [
  ...['v1', 'v2'].map(version => ({ version, model: NATIVE_ALIAS })),
  ...[...providers.map(({ aliases }) => aliases.keyed), KEPT_ALIAS].map(model => ({ version: 'v1', model }))
]

/** Registers the cases on every route: without a store, and with one together with those that need it. */
export async function testCases(t: Test, cases: Cases, statefulCases: Cases): Promise<void> {
  const dsn = `sqlite:${join(createTemporaryFolder(t), 'responses.sqlite')}`
  for (const { state, env, runs } of [
    { state: 'without a store', env: {}, runs: cases },
    { state: 'with a store', env: { GATEWAY_RESPONSES_STORE_DSN: dsn }, runs: [...cases, ...statefulCases] }
  ]) {
    const { gateway } = await startBridge(t, {
      env: { GATEWAY_RESPONSES_WEBSOCKET: 'true', ...env },
      profiles: emulator => [writeKeptProfile(emulator)]
    })
    for (const { version, model } of routes) {
      const place = { baseUrl: `${gateway.url}/${version}`, model }
      for (const [name, check] of runs) {
        t.test(`${name}: ${version} ${model}, ${state}`, t => check(t, place))
      }
    }
  }
}
