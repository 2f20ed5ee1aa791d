// The model requests that run in all workers: from memory alone, so the store has no part in it
// (field-lessons.md L17).
import type { RunningAnswer } from '../../shared/admin-answers.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import type { HostRunningRequests } from '../control/control-channel.ts'
import { showTime } from './timestamps.ts'

/** @param nowMs milliseconds since the epoch. */
export function showRunning({ requests, total, silentWorkers }: HostRunningRequests, nowMs: number): RunningAnswer {
  return {
    data: requests.map(request => ({
      request_id: request.requestId,
      trace_id: request.traceId,
      worker_id: request.workerId,
      protocol: request.protocol,
      route: request.route,
      model_requested: request.modelRequested,
      model_effective: request.modelEffective,
      provider: request.provider,
      started_at: showTime(writeRecordTime(request.startedAtMs)),
      running_ms: Math.max(0, Math.round(nowMs - request.startedAtMs)),
      state: request.isResponding ? 'responding' : 'waiting',
      streaming: request.isStreaming,
      caller: request.caller,
      api_key_name: request.apiKeyName,
      api_key_hash: request.apiKeyHash
    })),
    total,
    silent_workers: silentWorkers
  }
}
