// Golden files: the input of a stream writer and the exact bytes that it must write.
//
// A file has comment lines (`#`), an optional line `request: <JSON>` with the relevant members of the client's body, one event per
// line as JSON with a line `--` between two reads from the upstream, then `====` and the expected bytes. `GOLDEN_UPDATE=1` replaces
// the expected bytes with the written ones; review the diff.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError, type JsonObject, type NormalizedEvent } from '../../worker/normalized/index.ts'

const MARK = '\n====\n'

export interface GoldenCase {
  name: string
  request: JsonObject
  reads: NormalizedEvent[][]
  expected: string
}

/** All golden cases of a family, sorted by name. */
export function readGoldenCases(family: string): GoldenCase[] {
  const folder = join(import.meta.dirname, family)
  const files = readdirSync(folder).filter(file => file.endsWith('.txt'))
  return files.sort().map(file => readGoldenCase(folder, file))
}

/** Replaces the expected bytes when `GOLDEN_UPDATE` is 1. Returns whether it did. */
export function updateGolden(family: string, name: string, actual: string): boolean {
  if (process.env.GOLDEN_UPDATE !== '1') return false
  const path = join(import.meta.dirname, family, `${name}.txt`)
  writeFileSync(path, splitFile(readFileSync(path, 'utf8')).given + MARK + actual)
  return true
}

function readGoldenCase(folder: string, file: string): GoldenCase {
  const { given, expected } = splitFile(readFileSync(join(folder, file), 'utf8'))
  const golden: GoldenCase = { name: file.replace(/\.txt$/, ''), request: {}, reads: [[]], expected }
  for (const line of given.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    if (line.startsWith('request: ')) golden.request = JSON.parse(line.slice('request: '.length))
    else if (line === '--') golden.reads.push([])
    else golden.reads.at(-1)?.push(readEvent(line))
  }
  return golden
}

function splitFile(text: string): { given: string; expected: string } {
  const at = text.indexOf(MARK)
  return at < 0
    ? { given: text.trimEnd(), expected: '' }
    : { given: text.slice(0, at), expected: text.slice(at + MARK.length) }
}

/** Parses one event line. An error is written in the file as its code and message. */
function readEvent(line: string): NormalizedEvent {
  const event = JSON.parse(line)
  if (event.type !== 'error') return event
  return { type: 'error', error: new GatewayError(event.code, { message: event.message }) }
}
