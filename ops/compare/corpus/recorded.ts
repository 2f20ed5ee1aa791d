// What was recorded: requests of real agents, responses of the real upstream, and the golden bytes of both native contracts.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CompareCase } from '../types.ts'
import { createCase, forms, nameForm, writeChat, writePrompt } from './families.ts'

const test = join(import.meta.dirname, '..', '..', '..', 'test')
const recorded = join(test, 'fixtures', 'recorded')

interface RecordedRequest {
  method: string
  path: string
  headers: Record<string, string>
  body?: object
}

interface RecordedExchange {
  request: { path: string; body?: { stream?: boolean } }
  response: { status: number; body: object | string }
}

function readFolder<Content>(folder: string): Array<{ file: string; content: Content }> {
  return readdirSync(folder)
    .filter(file => file.endsWith('.json'))
    .sort()
    .map(file => ({ file, content: JSON.parse(readFileSync(join(folder, file), 'utf8')) as Content }))
}

function createAgentCases(): CompareCase[] {
  return readFolder<RecordedRequest>(join(recorded, 'agents')).map(({ file, content }) => createCase(file, content))
}

/** What the upstream responds to every form of its contract. */
export interface UpstreamAnswer {
  name: string
  version: 'v1' | 'v2'
  isStream: boolean
  status: number
  /** One character for each byte. */
  bytes: string
}

/** The recorded responses of the upstream to chat calls, and those of the golden files. */
export function readUpstreamAnswers(): UpstreamAnswer[] {
  const exchanges = readFolder<RecordedExchange[]>(recorded).flatMap(({ file, content }) =>
    content
      .filter(({ request }) => request.path.endsWith('/chat/completions'))
      .map(({ request, response }, index): UpstreamAnswer => {
        const isStream = typeof response.body === 'string'
        return {
          name: `${file} ${index}`,
          version: request.path.includes('/v2/') ? 'v2' : 'v1',
          isStream,
          status: response.status,
          bytes: typeof response.body === 'string' ? response.body : JSON.stringify(response.body)
        }
      })
  )
  const goldens = (['v1', 'v2'] as const).flatMap(version => {
    const folder = join(test, 'golden', `native-${version}`)
    return readdirSync(folder)
      .filter(file => /\.(txt|json)$/.test(file))
      .sort()
      .map(
        (file): UpstreamAnswer => ({
          name: `golden ${file}`,
          version,
          isStream: file.endsWith('.txt'),
          status: 200,
          bytes: readFileSync(join(folder, file), 'base64')
        })
      )
      .map(answer => ({ ...answer, bytes: Buffer.from(answer.bytes, 'base64').toString('latin1') }))
  })
  return [...exchanges.map(one => ({ ...one, bytes: Buffer.from(one.bytes).toString('latin1') })), ...goldens]
}

function createUpstreamCases(): CompareCase[] {
  return readUpstreamAnswers().flatMap(({ name, version, isStream, status, bytes }) =>
    forms
      .filter(form => form.version === version && form.isStream === isStream)
      .map(
        (form): CompareCase => ({
          name: `${name} ${nameForm(form)}`,
          async run({ upstream, send }) {
            const type = isStream && status === 200 ? 'text/event-stream' : 'application/json'
            const base64 = Buffer.from(bytes, 'latin1').toString('base64')
            upstream.respondNext({ status, headers: { 'content-type': type }, chunks: [{ base64 }] })
            await send(writeChat(form, writePrompt(form.family, 'hi')))
          }
        })
      )
  )
}

export function createRecordedCases(): CompareCase[] {
  return [...createAgentCases(), ...createUpstreamCases()]
}
