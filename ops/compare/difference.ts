// Holds the transcripts of two gateways against each other.

import { createNormalizer, type NormalizeOptions } from './normalize.ts'
import type { Transcript, WireRequest, WireResponse } from './types.ts'

export interface Difference {
  /** Such as `upstream request 2` or `client response 1`. */
  where: string
  old: string
  new: string
}

export interface Side extends NormalizeOptions {
  transcript: Transcript
}

const CONTEXT_CHARACTERS = 160
const ABSENT = '(none)'

/** The first difference of every upstream request and client response; empty when the gateways did the same. */
export function findDifferences(sides: { old: Side; new: Side }): Difference[] {
  const left = writeSide(sides.old)
  const right = writeSide(sides.new)
  const differences: Difference[] = []
  for (const kind of ['upstream request', 'client response'] as const) {
    const lists = [left[kind], right[kind]] as const
    for (let index = 0; index < Math.max(lists[0].length, lists[1].length); index++) {
      const [one = ABSENT, other = ABSENT] = [lists[0][index], lists[1][index]]
      if (one !== other) differences.push({ where: `${kind} ${index + 1}`, ...excerpt(one, other) })
    }
  }
  return differences
}

function writeSide({ transcript, ...options }: Side): Record<'upstream request' | 'client response', string[]> {
  const normalize = createNormalizer(options)
  return {
    'upstream request': transcript.upstream.map(request => normalize(writeRequest(request))),
    'client response': transcript.client.map(response => normalize(writeResponse(response)))
  }
}

function writeRequest({ method, path, headers, body }: WireRequest): string {
  return `${method} ${path}\n${writeHeaders(headers)}\n${body.toString('latin1')}`
}

function writeResponse({ status, headers, body, end }: WireResponse): string {
  return `${status} ${end}\n${writeHeaders(headers)}\n${body.toString('latin1')}`
}

/** One line for each header, in the order of the wire. */
function writeHeaders(headers: readonly string[]): string {
  const lines: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2)
    lines.push(`${name}: ${value}\n`)
  }
  return lines.join('')
}

/** Both texts around the first character that differs. */
function excerpt(one: string, other: string): { old: string; new: string } {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const start = Math.max(0, at - CONTEXT_CHARACTERS)
  const cut = (text: string) => Buffer.from(text.slice(start, at + CONTEXT_CHARACTERS), 'latin1').toString('utf8')
  return { old: cut(one), new: cut(other) }
}
