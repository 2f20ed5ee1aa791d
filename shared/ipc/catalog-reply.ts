// What a worker is sent for a catalog refresh that it asked for.
import type { CatalogReply } from '../catalog/catalog-record.ts'
import type { ContentOf, SupervisorMessageFields } from './messages.ts'

type CatalogReplyKind = 'catalog-lease' | 'catalog-result' | 'catalog-unavailable'

/** The message that carries a reply of the catalog record to the request with the given id. */
export function writeCatalogReply(
  requestId: number,
  reply: CatalogReply
): ContentOf<SupervisorMessageFields, CatalogReplyKind> {
  switch (reply.kind) {
    case 'lease':
      return { kind: 'catalog-lease', requestId }
    case 'result':
      return { kind: 'catalog-result', requestId, snapshot: reply.snapshot }
    case 'failure':
      return { kind: 'catalog-unavailable', requestId, failure: reply.failure }
  }
}
