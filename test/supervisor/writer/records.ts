// Traffic records for the tests of the writer.
import { v7 as createRecordId } from 'uuid'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'

/** A record with only the members that every record has, and what the test adds. */
export function createRecord(members: Partial<TrafficRecord> = {}): TrafficRecord {
  return {
    id: createRecordId(),
    created_at: '2026-01-05T10:00:00.123456Z',
    request_id: 'request',
    protocol: 'openai',
    route: '/v1/chat/completions',
    method: 'POST',
    status_code: 200,
    metadata: { lifecycle: 'request_completed', path: '/v1/chat/completions' },
    ...members
  }
}

export function createRecords(count: number): TrafficRecord[] {
  return Array.from({ length: count }, (_, index) => createRecord({ request_id: String(index) }))
}
