// Shared by the tests of Responses with memory.

import { readResponsesStrictly } from '../../properties/responses-events.ts'
import { post } from '../../support/client.ts'

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
      return json ?? readResponsesStrictly(text).response
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
