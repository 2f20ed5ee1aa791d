// Replaces what must differ between two runs: ids that a gateway draws, the times of its clock, durations, the ports, and the version.

/** Times closer than this to the present come from a gateway's clock; the emulator's clock is a day ahead. */
const CLOCK_WINDOW_MS = 3_600_000
/** A uuid with or without dashes; the second form is the trace id of a `traceparent`, whose span id is the half of a uuid. */
const UUID = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}/gi
const SPAN_ID = /(00-<id \d+>-)[0-9a-f]{16}(?=-0[01])/g
const SECONDS_OR_MILLISECONDS = /(?<![\d.])\d{10}(?:\d{3})?(?!\d)/g
const HTTP_DATE = /[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g
/** The version in the user agent, and in the addresses of assets: it says nothing about the bytes of an operation. */
const VERSION = /^(user-agent: llm-gateway\/)\d+\.\d+\.\d+$|(\?v=)\d+\.\d+\.\d+/gim
/** Headers with how long a response took. */
const DURATION = /^(openai-processing-ms: |server-timing: total;dur=)[\d.]+$/gim
const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g

/** An id that the gateway makes for a call without a state id: a packing byte of 3 in front of a number and a nonce. */
const NONCE_CALL_ID = /call_gw_(Aw[\w-]+)/g
const NONCE_START = 3
/** Base64 of such an id: the thought signature of its call in generateContent. */
const CALL_SIGNATURE = /Y2FsbF9nd19B[\w+/=-]+/g

export interface NormalizeOptions {
  nowMs: number
  /** Each port with the word that takes its place. */
  ports: Record<string, number>
}

/**
 * Creates the function for one side of one case. Ids are numbered by their first appearance in the case, so that two sides are equal
 * only when the same id stands in the same places.
 * @returns a function from bytes of that side, read as Latin-1, to comparable text.
 */
export function createNormalizer({ nowMs, ports }: NormalizeOptions): (text: string) => string {
  const ids = new Map<string, number>()
  const nameId = (id: string): string => {
    const key = id.replaceAll('-', '').toLowerCase()
    const number = ids.get(key) ?? ids.size + 1
    ids.set(key, number)
    return `<id ${number}>`
  }
  const nameCallId = (found: string, payload: string): string => {
    const bytes = Buffer.from(payload, 'base64url')
    const nonceEnd = NONCE_START + (bytes[2] ?? 0)
    const nonce = bytes.subarray(NONCE_START, nonceEnd).toString('hex')
    // The two check bytes at the end depend on the nonce.
    return nonce === ''
      ? found
      : `<call ${nameId(nonce)} ${bytes[1]} ${bytes.subarray(nonceEnd, -2).toString('latin1')}>`
  }
  const nameTime = (ms: number, text: string): string => (Math.abs(ms - nowMs) < CLOCK_WINDOW_MS ? '<now>' : text)
  return text => {
    let result = text
    for (const [word, port] of Object.entries(ports)) {
      result = result.replaceAll(`127.0.0.1:${port}`, `<${word}>`).replaceAll(`localhost:${port}`, `<${word}>`)
    }
    return result
      .replace(CALL_SIGNATURE, found => `<base64 of ${Buffer.from(found, 'base64').toString('latin1')}>`)
      .replace(NONCE_CALL_ID, nameCallId)
      .replace(UUID, nameId)
      .replace(SPAN_ID, '$1<span>')
      .replace(VERSION, '$1$2<version>')
      .replace(DURATION, '$1<duration>')
      .replace(HTTP_DATE, found => nameTime(Date.parse(found), found))
      .replace(ISO_TIME, found => nameTime(Date.parse(found), found))
      .replace(SECONDS_OR_MILLISECONDS, found => nameTime(Number(found) * (found.length === 10 ? 1000 : 1), found))
  }
}
