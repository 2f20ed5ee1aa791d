// The filters of lists, exports and latencies (operations.md 9.1).
import type { Parameter } from '../../operation.ts'
import { integer, query } from './words.ts'

export const filters: readonly Parameter[] = [
  query('from', 'Records that began at this time or later: RFC 3339, a date, or Unix seconds.'),
  query('to', 'Records that began at this time or earlier.'),
  ...[
    'protocol',
    'route',
    'method',
    'provider',
    'alias',
    'profile_id',
    'request_id',
    'trace_id',
    'api_key_hash',
    'error_type',
    'error_code'
  ].map(name => query(name, 'Records with exactly this value.')),
  query('caller', 'Records whose caller has this name, such as `openai-python`.'),
  query('key', 'Records whose client sent the key of this name; `(unknown)`: a key that the gateway does not know.'),
  query('model', 'Records whose requested or effective model has this name.'),
  query('status_code', 'Records with this status.', integer),
  query('has_error', 'Failed records, or those that did not fail.', { type: 'boolean' }),
  query('stream', 'Records of streams, or of whole responses.', { type: 'boolean' }),
  query('min_latency_ms', 'Records that took this long or longer.', { type: 'integer', minimum: 0 }),
  query(
    'q',
    'Records with this part in an id, a route, a path, an error, or the name of a model, provider or caller; A to Z in any case. ' +
      'Looks at the newest 10000 records that the filters besides `method`, `stream` and `min_latency_ms` select.',
    { type: 'string', maxLength: 256 }
  )
]
