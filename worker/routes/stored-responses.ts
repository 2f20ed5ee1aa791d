// The operations on stored responses (memory.md 4).

import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  isEnded,
  type OwnedId,
  type PagedItems,
  type ResponseRecord,
  type ResponseStore
} from '../../shared/memory/store.ts'
import { startEventStream } from '../http/event-stream.ts'
import type { OperationHandlers } from '../http/mount-operations.ts'
import { sendJson } from '../http/respond.ts'
import { followResponse } from '../memory/follow-response.ts'
import { readOwner } from '../memory/owner.ts'
import { checkQuery, readPage, readRetrieval } from '../memory/read-query.ts'
import { replayEvents } from '../memory/replay.ts'
import { readCurrentResponse } from '../memory/running-response.ts'
import { notFound, readStoredId } from '../memory/stored-id.ts'
import { type DeletedResponse, writeItemList, writeStoredResponse } from '../memory/stored-object.ts'
import { writeEventFrame } from '../memory/stream-events.ts'
import { GatewayError, invalidRequest } from '../normalized/index.ts'
import type { StoredRuntime } from './worker-runtime.ts'

type ResponseOperation = 'getResponse' | 'deleteResponse' | 'cancelResponse' | 'listInputItems'

export function createStoredResponseHandlers({
  store,
  drainGate
}: StoredRuntime): OperationHandlers<ResponseOperation> {
  const draining = new AbortController()
  drainGate.onDraining(() => draining.abort())

  /** The events of a background response are stored, and followed while it runs. */
  async function follow(reply: FastifyReply, owned: OwnedId, after: number): Promise<void> {
    const signal = AbortSignal.any([reply.request.context.signal, draining.signal])
    const isFound = await followResponse({
      ...owned,
      store,
      after,
      open: () => startEventStream(reply, { keepAliveText: KEEP_ALIVE_COMMENT }),
      readResponse: async () => {
        const record = await readCurrentResponse(store, owned)
        return record && writeStoredResponse(record)
      },
      signal,
      pause: ms => sleep(ms, undefined, { signal }).catch(() => undefined)
    })
    if (!isFound) throw notFound('response', owned.id)
  }

  return {
    async getResponse(request, reply, { response_id }) {
      const { isStream, startingAfter } = readRetrieval(request.context.query)
      const owned = readOwned(request, response_id)
      const record = await readRecord(store, owned)
      if (isStream && record.isBackground) await follow(reply, owned, startingAfter)
      else if (isStream) await replay(reply, record, startingAfter)
      else sendJson(reply, 200, {}, writeStoredResponse(record))
    },

    async deleteResponse(request, reply, { response_id }) {
      checkQuery(request.context.query)
      const owned = readOwned(request, response_id)
      if (!(await store.deleteResponse(owned))) throw notFound('response', owned.id)
      const deleted: DeletedResponse = { id: owned.id, object: 'response', deleted: true }
      sendJson(reply, 200, {}, JSON.stringify(deleted))
    },

    async cancelResponse(request, reply, { response_id }) {
      checkQuery(request.context.query)
      const owned = readOwned(request, response_id)
      const outcome = await store.cancelResponse(owned)
      if (outcome === 'not_background') {
        throw new GatewayError('invalid_request', { message: 'Cannot cancel a synchronous response.' })
      }
      const record = await readRecord(store, owned)
      // SDKs repeat a call whose answer was lost.
      if (outcome === 'ended' && record.status !== 'cancelled') {
        throw new GatewayError('invalid_request', { message: `Cannot cancel a response that is ${record.status}.` })
      }
      const ended = await waitForEnd(store, owned, { record, signal: request.context.signal })
      sendJson(reply, 200, {}, writeStoredResponse(ended))
    },

    async listInputItems(request, reply, { response_id }) {
      const page = readPage(request.context.query)
      const owned = readOwned(request, response_id)
      const listed = await store.listInputItems({ ...owned, page })
      if (listed === undefined) throw notFound('response', owned.id)
      sendItems(reply, listed)
    }
  }
}

/** Sends a page of items. Raises `invalid_request` for a cursor that is no item of the list. */
export function sendItems(reply: FastifyReply, listed: NonNullable<PagedItems>): void {
  if (listed === 'unknown_cursor') throw invalidRequest('after', `'after' is not the id of an item of the list.`)
  sendJson(reply, 200, {}, writeItemList(listed.items, listed.hasMore))
}

function readOwned({ context }: FastifyRequest, id: string | undefined): OwnedId {
  return { owner: readOwner(context), id: readStoredId('response', id) }
}

async function readRecord(store: ResponseStore, owned: OwnedId): Promise<ResponseRecord> {
  const record = await readCurrentResponse(store, owned)
  if (record === undefined) throw notFound('response', owned.id)
  return record
}

/** A comment of a server-sent event stream: clients ignore it. */
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

async function replay(reply: FastifyReply, record: ResponseRecord, after: number): Promise<void> {
  const stream = startEventStream(reply, { keepAliveText: KEEP_ALIVE_COMMENT })
  for (const event of replayEvents(record, after)) {
    if (stream.isClosed) return
    if (!stream.write(writeEventFrame(event))) await stream.whenDrained()
  }
  stream.end()
}

/** The runner of a response looks at the mark about ten times in a second. */
const LOOK_INTERVAL_MS = 100
const LOOKS_MAX = 30

/** Waits for the runner of a response to end it, so that the client sees the end; for some seconds only. */
async function waitForEnd(
  store: ResponseStore,
  owned: OwnedId,
  { record, signal }: { record: ResponseRecord; signal: AbortSignal }
): Promise<ResponseRecord> {
  let read = record
  for (let looks = 0; looks < LOOKS_MAX && !isEnded(read.status) && !signal.aborted; looks++) {
    await sleep(LOOK_INTERVAL_MS)
    read = await readRecord(store, owned)
  }
  return read
}
