// Compares the emulator with the recorded exchanges: its responses have exactly the recorded keys and types.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ReceivedResponse, readFrames, startClient } from './support.ts'

const folder = join(import.meta.dirname, '../../fixtures/recorded')

interface Exchange {
  request: { method: string; path: string; headers: Record<string, string>; body: unknown }
  response: { status: number; headers: Record<string, string>; body: unknown }
}

/** Collects the types at every path of a value; all elements of an array share one path. */
function describeShape(value: unknown, path = '$', shape = new Map<string, Set<string>>()): Map<string, Set<string>> {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  shape.set(path, (shape.get(path) ?? new Set()).add(type))
  if (Array.isArray(value)) for (const item of value) describeShape(item, `${path}[]`, shape)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) describeShape(member, `${path}.${name}`, shape)
  }
  return shape
}

function listShape(value: unknown): string[] {
  return [...describeShape(value)].map(([path, types]) => `${path}: ${[...types].sort().join('|')}`).sort()
}

/** Parses a JSON body, or a stream into a list of its frames; the end marker stays text. */
function parseBody(text: string): unknown {
  if (!text.startsWith('data:') && !text.startsWith('event:')) return JSON.parse(text)
  return readFrames(text).map(({ event, data }) => ({ event, data: data === '[DONE]' ? data : JSON.parse(data) }))
}

function collect(value: unknown, name: string): unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => collect(item, name))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => (key === name ? [member] : collect(member, name)))
}

const files = readdirSync(folder).filter(name => name.endsWith('.json'))
t.ok(files.length > 0)

for (const name of files) {
  const exchanges: Exchange[] = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  t.test(`${name}: the response has the recorded keys and types`, async t => {
    const { call } = await startClient(t)
    for (const { request, response } of exchanges) {
      const { method, path, headers, body } = request
      const sent: ReceivedResponse = await call(path, { method, headers, ...(body === null ? {} : { body }) })
      const recorded = typeof response.body === 'string' ? parseBody(response.body) : response.body
      const emulated = parseBody(sent.text)
      t.equal(sent.status, response.status)
      t.same(listShape(emulated), listShape(recorded))
      t.same(collect(emulated, 'finish_reason'), collect(recorded, 'finish_reason'))
      t.equal(sent.headers['content-type'], response.headers['content-type'])
      for (const header of Object.keys(response.headers)) t.ok(sent.headers[header], header)
    }
  })
}
