// Golden files: what goes into a stream writer and the exact bytes that must come out of it.
//
// A file has comment lines (`#`), an optional line `request: <JSON>` with the members that matter of the client's body, one event
// per line as JSON with a line `--` between the reads of the upstream, then `====` and the bytes as they are. With
// `GOLDEN_UPDATE=1` the bytes are written anew, to be looked at in the diff.

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

/** All golden cases of a family, by name. */
export function readGoldenCases(family: string): GoldenCase[] {
  const folder = join(import.meta.dirname, family)
  const files = readdirSync(folder).filter(file => file.endsWith('.txt'))
  return files.sort().map(file => readGoldenCase(folder, file))
}

/** Replaces the expected bytes when an update was asked for; true when it did. */
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

/** An error stands in the file as its code and message. */
function readEvent(line: string): NormalizedEvent {
  const event = JSON.parse(line)
  if (event.type !== 'error') return event
  return { type: 'error', error: new GatewayError(event.code, { message: event.message }) }
}
