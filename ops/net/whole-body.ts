// Reads a response to its end, also where the connection breaks before it.
import type { IncomingMessage } from 'node:http'

export interface WholeBody {
  bytes: Buffer
  /** `broken`: the connection closed before the end of the body. */
  end: 'complete' | 'broken'
}

/** Collects the bytes of a body; never rejects. */
export async function readWholeBody(incoming: IncomingMessage): Promise<WholeBody> {
  const chunks: Buffer[] = []
  let end: WholeBody['end'] = 'complete'
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
  } catch {
    end = 'broken'
  }
  return { bytes: Buffer.concat(chunks), end }
}
