// A response as its readers see it while it runs in the background, and where its runner is gone (memory.md 4): its record has no output then,
// and its events say what was generated.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { asBuffer } from '../../shared/bytes.ts'
import { isEnded, type OwnedId, type ResponseRecord, type ResponseStore } from '../../shared/memory/store.ts'
import { isJsonObject } from '../normalized/index.ts'
import { JsonEdits } from '../protocols/shared/json/edits.ts'
import { findJsonMember, listJsonMembers, readJsonText } from '../protocols/shared/json/json-parts.ts'
import { editJson } from '../protocols/shared/json/spans.ts'
import { PartialOutput } from './partial-output.ts'

const LOST = 'The gateway process that ran the response has ended.'

/** Events that are read in one turn of the event loop. */
const TURN_EVENTS = 256

/** The record of a response; undefined where there is none. */
export async function readCurrentResponse(
  store: Pick<ResponseStore, 'readResponse' | 'readEvents'>,
  owned: OwnedId
): Promise<ResponseRecord | undefined> {
  const record = await store.readResponse(owned)
  if (record === undefined || !isUnfinished(record)) return record
  const page = await store.readEvents({ ...owned, after: -1 })
  if (page === undefined) return undefined
  // It has ended between the two questions.
  if (page.status !== record.status && isEnded(page.status)) return store.readResponse(owned)
  const output = new PartialOutput()
  for (const [index, { json }] of page.events.entries()) {
    if (index % TURN_EVENTS === TURN_EVENTS - 1) await nextTurn()
    const event: unknown = JSON.parse(asBuffer(json).toString())
    if (isJsonObject(event)) output.add(event)
  }
  const edits = new JsonEdits()
  edits.set(['status'], page.status)
  if (isEnded(page.status)) edits.set(['error'], { code: 'server_error', message: LOST })
  const items = output.read(isEnded(page.status) ? 'incomplete' : 'in_progress')
  return {
    ...record,
    status: page.status,
    body: editJson(asBuffer(record.body), edits).edited,
    output: items.map(item => ({ id: String(item.id ?? ''), json: Buffer.from(JSON.stringify(item)) }))
  }
}

/** The body of a response that has ended says so itself. */
function isUnfinished({ isBackground, body }: ResponseRecord): boolean {
  if (!isBackground) return false
  const bytes = asBuffer(body)
  const status = findJsonMember(listJsonMembers(bytes) ?? [], 'status')
  return status !== undefined && readJsonText(bytes, status) === 'queued'
}
