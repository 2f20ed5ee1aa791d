// What the sink installs on the search server before its first write: the index template and the
// policy that rolls the data stream over and deletes old data (operations.md 8.5).

/** Raised with every change of the template or the policy; an older one on the server is then replaced. */
export const SEARCH_SCHEMA_VERSION = 3

/**
 * Above the templates with broad patterns that a server may have, and above 200, which versions 1 and 2 had with the pattern `<index>*`: the
 * server takes no two templates of one priority whose patterns overlap.
 */
const PRIORITY = 201

/** Lucene takes no longer term than 32 766 bytes, and a character has up to four; client texts such as the model have no bound. */
const KEYWORD = { type: 'keyword', ignore_above: 8191 }
/** A value out of range must not cost the whole document. */
const INTEGER = { type: 'integer', ignore_malformed: true }
const FLOAT = { type: 'float', ignore_malformed: true }
const NOT_INDEXED = { type: 'object', enabled: false }

const each = (names: readonly string[], mapping: object) => Object.fromEntries(names.map(name => [name, mapping]))

const PROPERTIES = {
  '@timestamp': { type: 'date' },
  created_at: { type: 'date' },
  ...each(
    [
      'id',
      'request_id',
      'trace_id',
      'span_id',
      'protocol',
      'route',
      'method',
      'model',
      'model_requested',
      'model_effective',
      'provider',
      'alias',
      'profile_id',
      'currency',
      'error_type',
      'error_code',
      'error_field',
      'api_key_hash',
      'client_ip_hash'
    ],
    KEYWORD
  ),
  ...each(['status_code', 'upstream_status_code', 'input_tokens', 'output_tokens', 'total_tokens'], INTEGER),
  ...each(['latency_ms', 'upstream_latency_ms'], FLOAT),
  cost: { type: 'double', ignore_malformed: true },
  has_error: { type: 'boolean' },
  error_message: { type: 'text' },
  // Only named members are indexed: members of any name would use the index up, and two types of one name refuse documents.
  metadata: {
    type: 'object',
    properties: {
      ...each(['lifecycle', 'path', 'model_source', 'api_key_name', 'ignored_fields'], KEYWORD),
      is_stream: { type: 'boolean' },
      first_token_ms: FLOAT
    }
  },
  request_headers_redacted: NOT_INDEXED,
  request_body_redacted: NOT_INDEXED,
  response_body_redacted: NOT_INDEXED
}

export interface SearchTarget {
  /** Name of the index or data stream. */
  readonly index: string
  readonly isDataStream: boolean
  readonly retentionDays: number
}

export const templateName = ({ index }: SearchTarget) => `${index}-template`
export const policyName = ({ index }: SearchTarget) => `${index}-policy`

/** The index template, of this one name: with a wildcard behind it `team` would claim `team-blue` too (decisions.md 115). */
export function writeTemplate({ index, isDataStream }: SearchTarget) {
  return {
    index_patterns: [index],
    ...(isDataStream && { data_stream: {} }),
    priority: PRIORITY,
    version: SEARCH_SCHEMA_VERSION,
    template: {
      settings: { number_of_shards: 1, number_of_replicas: 1 },
      mappings: { dynamic: false, properties: PROPERTIES }
    },
    _meta: { schema_version: SEARCH_SCHEMA_VERSION }
  }
}

/**
 * The policy of a data stream. The description tells its version and retention, so that it is replaced when one of them changes and the
 * changes of an operator stay otherwise.
 */
export function writePolicy({ index, retentionDays }: SearchTarget) {
  return {
    policy: {
      description: `Traffic records of the gateway: version ${SEARCH_SCHEMA_VERSION}, deleted after ${retentionDays} days`,
      default_state: 'written',
      states: [
        {
          name: 'written',
          actions: [{ rollover: { min_index_age: '1d', min_size: '25gb' } }],
          transitions: [{ state_name: 'expired', conditions: { min_index_age: `${retentionDays}d` } }]
        },
        { name: 'expired', actions: [{ delete: {} }], transitions: [] }
      ],
      // Compared with the name of the data stream, not with those of its indexes.
      ism_template: [{ index_patterns: [index], priority: PRIORITY }]
    }
  }
}
