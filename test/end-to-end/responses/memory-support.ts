// Shared by the tests of Responses with memory.

import type { ResponseStore } from '../../../shared/memory/store.ts'
import { readResponsesStrictly } from '../../properties/responses-events.ts'
import { post, readFrames } from '../../support/client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
export type Loose = any

/** Reads responses of a gateway, whole ones and streams alike. */
export function createReader(gateway: { url: string }) {
  return {
    /** The response of a request; of a stream that of its terminal event. Raises the text of a refusal. */
    async ask(version: string, body: object, headers: Record<string, string> = {}): Promise<Loose> {
      const prefix = version === '' ? '' : `/${version}`
      const { status, text, json } = await post(`${gateway.url}${prefix}/responses`, body, headers)
      if (status !== 200) throw new Error(text)
      if (json !== undefined) return json
      // A provider of the Responses wire has members of its own.
      const isOwn = text.includes('"access_programs":null')
      return isOwn ? readResponsesStrictly(text).response : readFrames(text).at(-1).response
    },
    /** The text of all messages of a response. */
    textOf({ output }: Loose): string {
      return output
        .flatMap((item: Loose) => (item.type === 'message' ? item.content : []))
        .map(({ text }: Loose) => text ?? '')
        .join('')
    }
  }
}

/** A record of the owner without a key, its JSON parsed; undefined where there is none. */
export async function findRecord(store: ResponseStore, id: string | undefined): Promise<Loose> {
  const record = await store.readResponse({ owner: { name: '' }, id: id ?? '' })
  if (record === undefined) return undefined
  const parse = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString())
  const { input, output, body } = record
  return {
    ...record,
    body: parse(body),
    input: input.map(({ json }) => parse(json)),
    output: output.map(({ json }) => parse(json)),
    ids: [...input, ...output].map(({ id: itemId }) => itemId)
  }
}

/** A store whose operations can be replaced, to see what happens when they fail. */
export function replaceOperations(store: ResponseStore, replaced: Partial<ResponseStore>): ResponseStore {
  return new Proxy(store, {
    get: (target, name: keyof ResponseStore) => {
      const own = replaced[name] ?? target[name]
      return typeof own === 'function' ? own.bind(target) : own
    }
  })
}
