// The log line of a request that was refused before any call of a provider, so that an operator sees what clients miss (decisions.md 80).
import type { Logger } from '../../../shared/logging.ts'
import type { GatewayError } from '../../normalized/index.ts'
import type { LogIds } from '../../observation/observer.ts'

/** Longest name of a field in a log line. */
const LOGGED_CHARACTERS_MAX = 256

/** Of routes and admission; the cause of such an error is a stable id of the reason. */
const ROUTE_REFUSALS: ReadonlySet<string> = new Set(['unknown_model_alias', 'unsupported_semantic'])

/** Because of a browser's page (decisions.md 101). */
const PAGE_REFUSALS: ReadonlySet<string> = new Set(['host_not_allowed', 'origin_not_allowed'])

/** Because of the client's key or its limits (keys.md 2). */
const KEY_REFUSALS: ReadonlySet<string> = new Set([
  'key_expired',
  'key_disabled',
  'rate_limit_exceeded',
  'budget_exceeded',
  'limits_unavailable'
])

/** Writes the line; nothing for an error that is no refusal. */
export function logRefusal(
  log: Logger,
  { code, param, model, cause }: GatewayError,
  { logIds, apiKeyName }: { readonly logIds: LogIds; readonly apiKeyName: string | undefined }
): void {
  const rule = findRule(code)
  if (rule === undefined) return
  const fields = {
    event: 'request_refused',
    ...logIds,
    code,
    field: param?.slice(0, LOGGED_CHARACTERS_MAX),
    alias: model,
    api_key_name: apiKeyName,
    reason_id: typeof cause === 'string' ? cause : undefined
  }
  log.info(fields, `The ${rule} of a request does not admit it`)
}

function findRule(code: string): string | undefined {
  if (KEY_REFUSALS.has(code)) return 'key'
  if (ROUTE_REFUSALS.has(code)) return 'route'
  return PAGE_REFUSALS.has(code) ? 'host or origin' : undefined
}
