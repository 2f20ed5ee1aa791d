// Writes the hosted tool runs and the files of a stream as members of deltas. A delta has the complete lists, because the SDK's helper
// replaces members that it does not know with the latest value. So that a long response stays cheap, its lists are repeated only while
// all repetitions together are not much longer than the lists themselves; what was left out follows at the end.

import {
  assertNever,
  type FileEvent,
  type HostedToolEndEvent,
  type HostedToolProgressEvent,
  type HostedToolStartEvent
} from '../../../normalized/index.ts'
import type { StreamFrames } from '../../client-face.ts'
import { concatFrames } from '../../shared/stream/stream-frames.ts'
import { type ShownRun, writeExecution, writeFile } from './write-response.ts'

export type ExtensionEvent = HostedToolStartEvent | HostedToolProgressEvent | HostedToolEndEvent | FileEvent

/** Both methods return an empty text when there is nothing to write. */
export interface ExtensionDeltas {
  /** Takes an event and writes the members that it changes. */
  write(event: ExtensionEvent): StreamFrames
  /** Writes the members whose latest state was not written. */
  writeRest(): StreamFrames
}

/** The repetitions of a member may be this many times as long as its latest value. */
const REPETITIONS_MAX = 2
/** Short lists are always repeated: progress is shown at once. */
const REPEATED_CHARACTERS_MIN = 262_144
/** An entry of this length, such as an image, is encoded once for all repetitions of its list. */
const LARGE_ENTRY_CHARACTERS = 4096

export function createExtensionDeltas(): ExtensionDeltas {
  const runs: ShownRun[] = []
  const executions = createMember('tool_executions', '[]')
  const files = createMember('files', '[]')
  const inlineData = createMember('inline_data', '{}')
  /** Of each name in the inline data: its position, and the last run that has it. */
  const names = new Map<string, { position: number; run: number }>()
  let fileCount = 0

  function setRun(index: number, change: Partial<ShownRun>): void {
    const run = runs[index]
    if (run === undefined) return
    Object.assign(run, change)
    executions.set(index, JSON.stringify(writeExecution(run)))
  }

  function setInlineData(event: HostedToolEndEvent): void {
    for (const [name, value] of Object.entries(event.inlineData ?? {})) {
      const { position, run } = names.get(name) ?? { position: names.size, run: event.index }
      // Runs may end in another order than they began, and the last one counts, as in a whole response.
      if (value === undefined || event.index < run) continue
      names.set(name, { position, run: event.index })
      inlineData.set(position, `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    }
  }

  return {
    write(event) {
      switch (event.type) {
        case 'file':
          files.set(fileCount++, JSON.stringify(writeFile(event.file)))
          return withContent(files.write())
        case 'hosted-tool-start':
          runs[event.index] = { name: event.name, status: 'in-progress' }
          setRun(event.index, {})
          return withContent(executions.write())
        case 'hosted-tool-progress': {
          const { status, secondsLeft, isCensored } = event
          setRun(event.index, {
            status,
            ...(secondsLeft === undefined ? {} : { secondsLeft }),
            ...(isCensored === undefined ? {} : { isCensored })
          })
          return withContent(executions.write())
        }
        case 'hosted-tool-end':
          setRun(event.index, { status: event.status })
          setInlineData(event)
          return withContent(executions.write(), event.inlineData === undefined ? '' : inlineData.write())
        default:
          return assertNever(event)
      }
    },
    writeRest: () => withContent(executions.writeRest(), files.writeRest(), inlineData.writeRest())
  }
}

/** The chunks have an empty content, because clients expect one. */
function withContent(...members: readonly StreamFrames[]): StreamFrames {
  const written = concatFrames(members)
  return written === '' ? '' : concatFrames(['"content":""', written])
}

interface Member {
  /** Sets the JSON text of an entry. */
  set(position: number, text: string): void
  /** Writes the member with a comma before it; '' for a repetition that would be too long. */
  write(): StreamFrames
  /** Writes the member if its latest state was not written. */
  writeRest(): StreamFrames
}

/**
 * A member whose value consists of entries; only a changed entry is serialized again.
 *
 * @param brackets what stands around the entries.
 */
function createMember(name: string, brackets: '[]' | '{}'): Member {
  const entries: Array<string | Uint8Array> = []
  let length = 0
  let writtenLength = 0
  let isChanged = false

  function writeAll(): StreamFrames {
    isChanged = false
    writtenLength += length
    if (entries.length === 0) return ''
    const pieces: Array<string | Uint8Array> = []
    let text = `,"${name}":${brackets[0]}`
    for (const [position, entry] of entries.entries()) {
      if (position > 0) text += ','
      if (typeof entry === 'string') {
        text += entry
        continue
      }
      pieces.push(text, entry)
      text = ''
    }
    text += brackets[1]
    return pieces.length === 0 ? text : [...pieces, text]
  }

  return {
    set(position, text) {
      const entry = text.length < LARGE_ENTRY_CHARACTERS ? text : Buffer.from(text)
      length += entry.length + 1 - (entries[position] === undefined ? 0 : entries[position].length + 1)
      entries[position] = entry
      isChanged = true
    },
    write() {
      const isCheap = writtenLength + length <= REPEATED_CHARACTERS_MIN + REPETITIONS_MAX * length
      return isCheap ? writeAll() : ''
    },
    writeRest: () => (isChanged ? writeAll() : '')
  }
}
